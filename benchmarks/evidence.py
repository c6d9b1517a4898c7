"""Evidence: do its probabilities mean what they say, and what does it decide?

python -m benchmarks.evidence [--data-root FOLDER] [--seeds 100 101 102]
    [--only calibration decisions] [--data cora photo …] [--results FOLDER]

Calibration: edges are added to real graphs, or planted in block models; evidence is
fitted to graph, features and training labels, and P(real) = σ(log-odds) is compared
with the truth. `error` is the expected calibration error over ten equal bins: the mean
over edges of |mean P - share that is original| of the edge's bin. `share` is the share
of noise that was estimated, `true_share` the one that was added, `auc` that of original
above added edges.

Decisions: what `readout = "auto"` chooses with gates by evidence ("diffusion",
"beliefs", or "nobody" where edges say nothing of the classes), and the assortativity it
goes by: on Actor under both protocols (seeds 0 to 9), on the other real graphs (seeds 0
and 1), and on block models with 0 to 90 % noise (seeds of `--seeds`, two at most), with
their labels and with the labels dealt out at random. Features play no part on the
latter. `edges_known` counts edges between training nodes, both directions.

Test labels are looked at by neither. Rows are appended to `results/evidence.csv`.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from benchmarks.measure import RESULTS, append, table
from sgat.config import ModelConfig
from sgat.data import load
from sgat.data.node_data import NodeData
from sgat.data.synthetic import inject
from sgat.judging import Example, judge, measure_assortativity
from sgat.training.fresh_model import chosen_readout
from sgat_lab.synthetic.block_models import BLOCK_MODELS, block_model

PLANTED = "planted"
CALIBRATED = (
    ("cora", "cross-class", 1.0),
    ("cora", "cross-class", 0.5),
    ("cora", "cross-class", 2.0),
    ("cora", "random", 1.0),
    ("citeseer", "cross-class", 1.0),
    ("pubmed", "cross-class", 1.0),
    ("photo", "cross-class", 1.0),
    ("block-20", PLANTED, 0.3),
    ("block-20", PLANTED, 0.7),
    ("block-20", PLANTED, 0.9),
    ("block-20-few", PLANTED, 0.9),
)
"""Graphs, and the edges that are added, as a share of those there are; of block models
the share that is planted, with a signal of 2."""
DECIDED = (
    ("cora", None, 0.0),
    ("citeseer", None, 0.0),
    ("citeseer", None, 2.0),
    *((name, "random-60-20-20", 0.0) for name in ("texas", "wisconsin", "cornell")),
)
"""Graphs, protocols, and shares of edges added between classes."""
PROTOCOLS = ("random-60-20-20", "geom-gcn")
"""Splits of Actor."""
NOISE = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of noise in block models."""
BINS = 10
SHUFFLED = "shuffled labels"
COLUMNS = [
    *("what", "data", "split", "noise", "rate", "seed", "edges", "error", "auc"),
    *("share", "true_share", "edges_known", "assortativity", "decision"),
]


def calibration_error(probability: Tensor, is_real: Tensor) -> float:
    """Expected calibration error over ten bins, both [E]."""
    place = (probability.double() * BINS).long().clamp(max=BINS - 1)
    apart = probability.double() - is_real.double()
    total = apart.new_zeros(BINS).index_add_(0, place, apart)
    return float(total.abs().sum() / max(len(apart), 1))


def calibration(
    name: str, kind: str, rate: float, seed: int, root: str | None
) -> dict[str, Any]:
    if kind == PLANTED:
        block = block_model(name, seed, noise_rate=rate, feature_signal=2.0)
        data, is_real = block.data, block.is_signal
    else:
        (given,) = load(name, seed=seed, root=root)
        made = inject(given, kind, rate, seed)  # type: ignore[arg-type]
        data, is_real = made.data, ~made.added
    judged = judge(
        data.graph,
        data.x,
        data.y,
        train=data.train,
        seed=seed,
    )
    odds = judged.graph.log_odds
    assert odds is not None
    return {
        **{"what": "calibration", "data": name, "noise": kind, "rate": rate},
        **{"seed": seed, "edges": data.graph.num_edges},
        "error": round(calibration_error(odds.sigmoid(), is_real), 4),
        "auc": round(float(roc_auc_score(is_real, odds)), 4),
        "share": round(judged.noise_share, 4),
        "true_share": round(1 - float(is_real.double().mean()), 4),
    }


def decision(data: NodeData) -> dict[str, Any]:
    model = ModelConfig(scorer="evidence", readout="auto")
    chosen = chosen_readout(model, [data])
    graph, train = data.graph, data.train
    example = Example.of(graph, data.x, data.y, train)
    return {
        "edges": graph.num_edges,
        "edges_known": int((train[graph.dst] & train[graph.src]).sum()),
        "assortativity": round(measure_assortativity(example, data.num_classes), 4),
        "decision": "nobody" if chosen.get("layers") == 0 else chosen["readout"],
    }


def decisions(
    wanted: list[str], seeds: list[int], root: str | None
) -> Iterator[dict[str, Any]]:
    for split in PROTOCOLS:
        for seed in range(10) if "actor" in wanted else ():
            (data,) = load("actor", split=split, seed=seed, root=root)
            where = {"what": "decision", "data": "actor", "split": split, "seed": seed}
            yield where | decision(data)
    for name, split, rate in DECIDED:
        for seed in (0, 1) if name in wanted else ():
            (data,) = load(name, split=split, seed=seed, root=root)
            where = {"what": "decision", "data": name, "split": split, "seed": seed}
            if rate:
                data = inject(data, "cross-class", rate, seed).data
                where |= {"noise": "cross-class", "rate": rate}
            yield where | decision(data)
    for name in BLOCK_MODELS:
        for shuffled in (False, True) if name in wanted else ():
            for rate in NOISE:
                for seed in seeds[:2]:
                    made = block_model(
                        name,
                        seed,
                        noise_rate=rate,
                        feature_signal=0.0 if shuffled else 1.0,
                        shuffled=shuffled,
                    )
                    where = {"what": "decision", "data": name, "seed": seed}
                    where |= {"split": SHUFFLED if shuffled else "", "rate": rate}
                    yield where | decision(made.data)


def main() -> None:
    names = [name for name, *_ in (*CALIBRATED, *DECIDED)]
    known = list(dict.fromkeys([*names, "actor", *BLOCK_MODELS]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", default=os.environ.get("SGAT_DATA"))
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102])
    parts = ["calibration", "decisions"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--data", nargs="+", choices=known, default=known)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    root, rows = arguments.data_root, []
    if "calibration" in arguments.only:
        cases = [case for case in CALIBRATED if case[0] in arguments.data]
        for name, kind, rate in cases:
            for seed in arguments.seeds:
                rows.append(calibration(name, kind, rate, seed, root))
                print(table(rows[-1:], COLUMNS).splitlines()[1], flush=True)
    if "decisions" in arguments.only:
        for row in decisions(arguments.data, arguments.seeds, root):
            rows.append(row)
            print(table([row], COLUMNS).splitlines()[1], flush=True)
    print(*summary(rows), sep="\n")
    complete = [dict.fromkeys(COLUMNS, "") | row for row in rows]
    path = append("evidence", complete, "cpu", arguments.results)
    print("appended to", path.name)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """A line per graph and kind of noise: the mean error, or the decisions."""
    errors: dict[str, list[float]] = {}
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        parts = (row["data"], row.get("split"), row.get("noise"))
        name = ", ".join(part for part in parts if part)
        if row["what"] == "calibration":
            errors.setdefault(f"{name} {row['rate']:.0%}", []).append(row["error"])
        else:
            counts.setdefault(name, Counter())[row["decision"]] += 1
    lines = [
        f"calibration error, {name}: {sum(found) / len(found):.3f}"
        f" ({min(found):.3f} to {max(found):.3f}, {len(found)} seeds)"
        for name, found in errors.items()
    ]
    for name, found in counts.items():
        told = ", ".join(f"{what} {number}" for what, number in found.items())
        lines.append(f"decisions, {name}: {told}")
    return lines


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
