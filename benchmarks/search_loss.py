"""Where the default fit loses on graphs nobody designed it for.

python -m benchmarks.search_loss FOLDER/*.npz [--seeds 3] [--only taken,full,peers]

For each graph (`benchmarks.other_graphs` makes some) and seed the test accuracy of what
the search took; of every candidate trained in full, to see what validation would pick
and what test nodes would; and of peers of `sgat-lab unseen`, searched on the split that
they are scored on. Rows are appended to `search_loss.csv`. The table is that of all
its rows, of what was taken the last. The kind `more` are other settings in full.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.measure import append, table
from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.training.candidates import candidates
from sgat.training.choosing import Search
from sgat.training.loop import DivergedError, Training
from sgat_lab.attacks.graphs import read_more
from sgat_lab.unseen import search
from sgat_lab.unseen.methods import PEERS
from sgat_lab.unseen.scaling import ScaledFeatures
from sgat_lab.unseen.training import PeerData, PeerTraining
from sgat_lab.unseen.work import parse_shard

KINDS = "taken", "full", "peers"
METHODS = "mlp-strong", "gcn-plain", "gcn-strong", "sage-strong"
COLUMNS = [
    "graph",
    "seed",
    "taken",
    "by validation",
    "by test",
    "best peer",
    "its name",
]
Row = dict[str, Any]


def score(logits: torch.Tensor, data: NodeData) -> float:
    """Accuracy of the test nodes."""
    is_right = logits.argmax(dim=1).cpu() == data.y.cpu()
    return float(is_right[data.test.cpu()].double().mean())


def taken(data: NodeData, train: TrainConfig) -> Iterator[Row]:
    """The default fit."""
    result = Search([data], ModelConfig(), train).run()
    assert result.chosen is not None
    seen = result.graphs[0]
    with torch.no_grad():
        test = score(result.model(seen.x, seen.graph), data)
    yield {"name": " + ".join(result.chosen.names), "val": None, "test": test}


def full(data: NodeData, train: TrainConfig) -> Iterator[Row]:
    """Every candidate trained in full."""
    observed = None
    for each in candidates(ModelConfig(), train, [data]):
        graphs = observed.graphs if observed else [data]
        training = Training(graphs, each.model, each.train, observed=observed)
        observed = observed or training.observed
        try:
            result = training.run()
        except DivergedError:
            continue
        seen = result.graphs[0]
        with torch.no_grad():
            test = score(result.model(seen.x, seen.graph), data)
        best = result.best
        yield {"name": each.name, "val": best.val, "loss": best.val_loss, "test": test}


def peers(data: NodeData, train: TrainConfig) -> Iterator[Row]:
    """Peers, each searched for and trained on this split."""
    device = train.device
    features = ScaledFeatures(data.x, device)
    seen = PeerData.of(data, features, "accuracy", device)
    for name in METHODS:
        peer = PEERS[name]
        settings = search.candidates(
            peer.kind,
            is_strong=peer.is_strong,
            num_edges=data.graph.num_edges,
            number=search.RUNGS[0][0],
        )
        running = [PeerTraining(each, seen, seed=train.seed) for each in settings]
        for number, until in search.RUNGS:
            running = [training.run(until) for training in running[:number]]
            running.sort(key=lambda training: training.quality, reverse=True)
        val, loss = running[0].quality
        test = score(running[0].logits, data)
        yield {"name": name, "val": val, "loss": -loss, "test": test}


def decomposed(rows: pd.DataFrame) -> list[Row]:
    """A line for each graph and seed, in per cent."""
    found = []
    for (graph, seed), part in rows.groupby(["graph", "seed"]):
        mine = {kind: part[part.kind == kind] for kind in KINDS}
        each = mine["full"].sort_values(["val", "loss"], ascending=[False, True])
        best = mine["peers"].sort_values("test").tail(1)
        last = mine["taken"].test.tail(1), each.test.head(1), each.test, best.test
        values = [f"{100 * v.max():.1f}" if len(v) else "" for v in last]
        values = [str(graph), str(seed), *values, *best["name"]]
        found.append(dict(zip(COLUMNS, values, strict=False)))
    return found


def main() -> None:
    """Measure graph by graph; append the rows and print the table of the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--shard", default="", help="as 3/12, the third of twelve")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    ways = {"taken": taken, "full": full, "peers": peers}
    kinds = [kind for kind in KINDS if kind in given.only.split(",")]
    # The seeds of a graph go to different shards.
    work = [
        (path, seed, kind)
        for kind in kinds
        for seed in range(given.seeds)
        for path in given.graphs
    ]
    number, total = parse_shard(given.shard)
    for path, seed, kind in work[number - 1 :: total]:
        data = read_more(str(path), seed=seed)
        train = TrainConfig(seed=seed, device=given.device)
        begin = time.perf_counter()
        about = {"graph": f"{path.parent.name}/{path.stem}", "seed": seed, "kind": kind}
        rows = [{**about, **row} for row in ways[kind](data, train)]
        seconds = {"seconds": (time.perf_counter() - begin) / max(len(rows), 1)}
        empty = {"val": None, "loss": None}
        rows = [{**empty, **row, **seconds} for row in rows]
        append("search_loss", rows, given.device, given.results)
    print(table(decomposed(pd.read_csv(given.results / "search_loss.csv")), COLUMNS))


if __name__ == "__main__":
    main()
