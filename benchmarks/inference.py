"""Predicting over the gated full graph and over the pruned one.

python -m benchmarks.inference [--device cpu] [--graph computers-shaped] [--scale 1]
    [--open 100 63 20 5] [--features 128] [--classes 10]

An SGAT in evaluation mode, K → 2 x 64 → 2 x 64 → C with the paper's read-out, random
weights, and the gate bias at which exactly the given share of the edges is kept.
`gated` scores and gates every edge in each pass; `pruned` runs over what `SGAT.prune`
returned, with the same predictions, which is checked in every row. The pass `model` is
the whole model; `edges` leaves the dense products out: gates and two aggregations of
128 columns against two aggregations. `prune` is what pruning itself takes, once.
`speedup` is over `gated` at the same share, `over_all` over `gated` with every edge
open. Passes on a GPU are replayed as CUDA graphs, pruning is not. Rows are appended to
`results/inference.csv`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.measure import append, measure, table
from benchmarks.ops import build_graph
from sgat import ops
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.training.budget import bias_shift

HIDDEN, HEADS = 64, 2
COLUMNS = [
    *("open", "name", "pass", "ms", "p20", "p80", "peak_gib"),
    *("speedup", "over_all", "difference"),
]


def set_share(model: SGAT, x: Tensor, graph: Graph, percent: float) -> None:
    """Move the gate bias so that this share of the edges is kept."""
    gating = model.gating
    assert gating.gate_bias is not None
    num_kept = round(percent / 100 * graph.num_edges)
    log_alpha = model.log_alpha(x, graph)
    gating.gate_bias += bias_shift(log_alpha, num_kept, gating.gates)


def edge_passes(
    model: SGAT, x: Tensor, graph: Graph, pruned: ops.OpenEdges
) -> dict[str, Callable[[], Tensor]]:
    """The parts of a pass that run over edges, gated and pruned."""
    gating = model.gating
    scores = gating.score(x, graph)
    h = torch.randn(graph.num_nodes, HEADS * HIDDEN, device=graph.device)

    def twice(opened: ops.OpenEdges) -> Tensor:
        return ops.aggregate(opened, ops.aggregate(opened, h))

    return {
        "gated": lambda: twice(ops.open_edges(graph, *scores, gates=gating.gates)),
        "pruned": lambda: twice(pruned),
    }


def difference(found: Tensor, expected: Tensor) -> float:
    """Largest difference relative to the largest value; refuses more than rounding."""
    relative = float((found - expected).abs().max() / expected.abs().max())
    if not relative < 1e-5:
        raise RuntimeError(f"The pruned graph predicts otherwise, by {relative:.1e}.")
    return relative


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--graph", default="computers-shaped")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--open", nargs="*", type=float, default=[100, 63, 20, 5])
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--classes", type=int, default=10)
    arguments = parser.parse_args()
    device = arguments.device
    torch.manual_seed(0)
    graph = build_graph(arguments.graph, arguments.scale, device)
    x = torch.randn(graph.num_nodes, arguments.features, device=device)
    model = SGAT(
        arguments.features,
        HIDDEN,
        arguments.classes,
        heads=HEADS,
        activation="relu",
        gate_bias=0.0,
    )
    model = model.to(device).eval()
    setting = {
        "graph": arguments.graph,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": arguments.features,
        "classes": arguments.classes,
    }
    rows: list[dict[str, Any]] = []

    def add(percent: float, name: str, what: str, function: Callable[[], Any]) -> None:
        timed = measure(function, device, capture=what != "once", repeats=15)
        row = {**setting, "open": percent, "name": name, "pass": what, **timed}
        rows.append(row)

    for percent in arguments.open:
        set_share(model, x, graph, percent)
        pruned = model.prune(x, graph)
        passes = {
            "model": {
                "gated": lambda: model(x, graph),
                "pruned": lambda edges=pruned: model(x, edges),
            },
            "edges": edge_passes(model, x, graph, pruned),
        }
        for what, functions in passes.items():
            error = difference(functions["pruned"](), functions["gated"]())
            for name, function in functions.items():
                add(percent, name, what, function)
            rows[-1]["difference"] = error
        add(percent, "prune", "once", lambda: model.prune(x, graph))
    by_key = {(row["open"], row["name"], row["pass"]): row["ms"] for row in rows}
    for row in rows:
        if row["name"] != "pruned":
            continue
        for column, share in (("speedup", row["open"]), ("over_all", 100)):
            gated = by_key.get((share, "gated", row["pass"]))
            row[column] = "" if gated is None else round(gated / row["ms"], 2)
    print(f"{graph}, {arguments.features} features; predictions agree in every row")
    print(table(rows, COLUMNS))
    print("appended to", append("inference", rows, device).name)


if __name__ == "__main__":
    main()
