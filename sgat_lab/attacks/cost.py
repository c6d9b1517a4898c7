"""Cost of an attack on ourselves: accuracy, and what the judge finds, beside others."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from sgat.data.synthetic import inject
from sgat.estimator import SGATClassifier
from sgat_lab.attacks.accuracy import DATA, baseline_score
from sgat_lab.attacks.graphs import CLEAN, METATTACK, NoisyGraph, read_attacked
from sgat_lab.attacks.ourselves import attack
from sgat_lab.attacks.verdicts import auc
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.text_table import aligned

CROSS_CLASS, OURSELVES = "cross-class", "ourselves"
RATES = (0.05, 0.1, 0.25)
ACCURACIES = {"ours": "SGATClassifier()", "gcn": "GCN"}
SHOWN = {
    "removed": "wrong removed",
    "right_removed": "right removed",
    "auc": "AUC",
    "found_share": "found",
    "true_share": "true share",
}
"""Columns of numbers and their headings: shares of the wrong and of the right edges
that the judge removes, and the share of wrong edges that it finds."""


def cases(
    name: str, rates: tuple[float, ...], root: str | None = None
) -> list[tuple[str, float]]:
    """Kinds of wrong edges and their rates; metattack where the file has the rate."""
    found = [(CLEAN, 0.0)]
    for rate in rates:
        if has_metattack(name, rate, root):
            found.append((METATTACK, rate))
        found += [(CROSS_CLASS, rate), (OURSELVES, rate)]
    return found


def has_metattack(name: str, rate: float, root: str | None = None) -> bool:
    """Whether a graph under metattack of this rate was published.

    Raises:
        ValueError: If there is no file of this name.
    """
    read_attacked(name, root=root)
    try:
        read_attacked(name, rate, root)
    except ValueError:
        return False
    return True


def attacked_graph(
    name: str, kind: str, rate: float, *, seed: int = 0, root: str | None = None
) -> NoisyGraph:
    """A graph of Pro-GNN's files with the wrong edges of a kind.

    Args:
        name: "cora" or "citeseer".
        kind: A kind of `cases`.
        rate: Number of edges to add, as a share of those there are.
        seed: Of the edges.
        root: Folder of the data sets.
    """
    if kind in (CLEAN, METATTACK):
        return read_attacked(name, rate, root)
    data = read_attacked(name, root=root).data
    if kind == OURSELVES:
        return attack(data, rate, seed=seed)
    made = inject(data, "cross-class", rate, seed)
    return NoisyGraph(made.data, made.added)


def measure(given: NoisyGraph, name: str, *, seed: int = 0) -> dict[str, Any]:
    """Train ours and a GCN on the CPU; accuracies, and the verdict beside the truth.

    Args:
        given: The graph and its wrong edges.
        name: "cora" or "citeseer", for the settings of the GCN.
        seed: Of weights, noise and judge.

    Returns:
        Numbers by the names of `ACCURACIES` and `SHOWN`, the number of wrong edges,
        each counted once, and seconds. What needs wrong edges is not a number without.
    """
    data, wrong = given
    start = time.perf_counter()
    ours = SGATClassifier(seed=seed, device="cpu").fit(data)
    probability = torch.from_numpy(ours.edges_["probability"].to_numpy(copy=True))
    gone = probability <= 0.5
    is_noisy = bool(wrong.any())
    return {
        "ours": ours.score(role="test"),
        "gcn": baseline_score(
            "gcn", data, name, seed=seed, noisy=is_noisy, device="cpu"
        ),
        "wrong_edges": int(wrong.sum()) // 2,
        "removed": float(gone[wrong].double().mean()),
        "right_removed": float(gone[~wrong].double().mean()),
        "auc": auc(~wrong, probability),
        "found_share": float(1 - probability.double().mean()),
        "true_share": float(wrong.double().mean()),
        "seconds": time.perf_counter() - start,
    }


def text(rows: list[dict[str, Any]], *, markdown: bool = False) -> str:
    """A table for each graph: accuracies in per cent, and the mean verdict."""
    lines = []
    for name in dict.fromkeys(row["graph"] for row in rows):
        groups: dict[tuple[float, str], list[dict[str, Any]]] = {}
        for row in rows:
            if row["graph"] == name:
                groups.setdefault((row["rate"], row["kind"]), []).append(row)
        table = [["wrong edges", "runs", *ACCURACIES.values(), *SHOWN.values()]]
        for (rate, kind), group in groups.items():
            accuracies = [percent([row[who] for row in group]) for who in ACCURACIES]
            shares = [_cell([row[what] for row in group]) for what in SHOWN]
            shown = f"{kind} {rate:g}" if rate else kind
            table.append([shown, f"{len(group)}", *accuracies, *shares])
        what = f"An attack that knows the judge: {DATA[name]}"
        lines += heading(what, markdown=markdown)
        lines += [
            "Test accuracy in per cent, mean ± standard deviation of the runs.",
            "",
        ]
        lines += [*aligned(table, markdown=markdown), ""]
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    """The mean of the runs; empty if it is not a number."""
    mean = sum(values) / len(values)
    return "" if math.isnan(mean) else f"{mean:.3f}"
