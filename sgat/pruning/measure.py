"""Predictions and times on the full graph and on the written one.

Tested by tests/cli/test_prune.py.
"""

import copy
import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sgat import ops
from sgat.features import Features
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import reference
from sgat.pruning.engine import Engine
from sgat.pruning.prune_table import Pruned
from sgat.pruning.stored_table import Destination, open_table
from sgat.pruning.task import PruneTask, match_ids

REPEATS = 9
"""Rounds in which every pass is timed once."""
GATED = "the gated full graph"
WRITTEN = "the full graph with the gates that were written, 0 for removed edges"
BUDGET = 60.0
"""Seconds after which no further round is begun, three being made at least."""


@torch.no_grad()
def measure(
    task: PruneTask,
    engine: Engine,
    written: Destination,
    pruned: Pruned,
    weight: str,
    model: SGAT,
    x: Features,
) -> dict[str, Any]:
    """Compare the model on the full graph with the model on the written one.

    The written table is read as a graph with the weights A_ij z_ij, and the model runs
    over it without gates. Both graphs must fit into memory. Predictions are compared
    with those of the full graph: with the gates of the model, its threshold moved,
    where these are the gates that were written, and else with those that were written
    and 0 for removed edges.

    Three passes are timed in turn: over all edges of the full graph, as by a network
    without gates; over the full graph with gates, which scores all edges and uses the
    open ones; and over the written graph. The result has the largest `difference` of
    all class scores, the `largest` class score, counts, medians in ms and ratios.
    """
    full = _graph(task, engine, "matched", task.edges.columns, weight)
    full = model.judged(x, full)
    table = open_table(written.path, delimiter=written.delimiter)
    engine.read("written", table)
    engine.define("written_matched", match_ids(task, "written", table))
    small = _graph(task, engine, "written_matched", table.columns, weight, gate=True)
    small = dataclasses.replace(small, square_sum=full.square_sums)

    moved = _with_bias(model, task.gates.threshold - pruned.threshold)
    all_edges, kept_edges = ops.all_open(full), ops.all_open(small)
    passes: dict[str, Callable[[], Tensor]] = {
        "all_edges": lambda: moved(x, all_edges),
        "gated": lambda: moved(x, full),
        "pruned": lambda: moved(x, kept_edges),
    }
    expected = moved(x, full if pruned.is_model else _same_gates(full, small))
    found = passes["pruned"]()
    times = _time(passes)
    return {
        "difference": float((found - expected).abs().max()) if found.numel() else 0.0,
        "largest": float(expected.abs().max()) if found.numel() else 0.0,
        "compared_with": GATED if pruned.is_model else WRITTEN,
        "predictions_changed": _changed(found, expected),
        "changed_from_training": _changed(found, model(x, full)),
        "nodes": len(found),
        "edges": full.num_edges,
        "edges_kept": small.num_edges,
        **{f"{name}_ms": value for name, value in times.items()},
        "speedup_over_all": times["all_edges"] / times["pruned"],
        "speedup_over_gated": times["gated"] / times["pruned"],
    }


def _changed(one: Tensor, other: Tensor) -> int:
    """Number of nodes whose likeliest class differs."""
    return int((one.argmax(dim=1) != other.argmax(dim=1)).sum())


def _graph(
    task: PruneTask,
    engine: Engine,
    relation: str,
    columns: tuple[str, ...],
    weight: str,
    *,
    gate: bool = False,
) -> Graph:
    """The rows of a relation as a graph, weighted by A_ij or A_ij z_ij."""
    factors = [name for name in (weight, "gate" if gate else "") if name in columns]
    product = " * ".join(f"CAST(c{columns.index(name)} AS DOUBLE)" for name in factors)
    rows = f"FROM {relation} WHERE src IS NOT NULL AND dst IS NOT NULL"
    parts = list(engine.batches(f"SELECT src, dst, {product or 1} AS weight {rows}"))
    src, dst, value = (
        torch.from_numpy(np.concatenate([np.empty(0, np.int32), *column]))
        for column in (zip(*parts, strict=True) if parts else ([], [], []))
    )
    return Graph.from_edges(
        torch.stack([src, dst]).long(),
        len(task.nodes.ids),
        value.float() if factors else None,
        make_undirected=task.undirected,
        say_merged=False,
    )


def _with_bias(model: SGAT, shift: float) -> SGAT:
    """The model with its gate bias moved."""
    moved = copy.deepcopy(model)
    bias = moved.gating.gate_bias
    start = torch.zeros(()) if bias is None else bias.detach()
    moved.gating.gate_bias = nn.Parameter(start + shift)
    return moved.eval()


def _same_gates(full: Graph, small: Graph) -> Any:
    """The edges of the full graph with the weights they have in the smaller one."""
    gate = torch.zeros(full.num_edges)
    place = full.find(small.src, small.dst)
    gate[place] = small.edge_weight / full.edge_weight[place].clamp(min=1e-30)
    return reference.with_gates(full, gate, gate.sum(), with_closed=True)


def _time(passes: dict[str, Callable[[], Tensor]]) -> dict[str, float]:
    """Median time of each pass in ms, the passes taking turns."""
    times: dict[str, list[float]] = {name: [] for name in passes}
    for run in passes.values():
        run()
    begun = time.perf_counter()
    for round in range(REPEATS):
        if round >= 3 and time.perf_counter() - begun > BUDGET:
            break
        for name, run in passes.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) * 1e3 for name, found in times.items()}
