"""The edges that matter most to the predictions of a whole graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from sgat.explaining.edge_effects import (
    Effect,
    both_ways,
    effect_without,
    estimated_effects,
)
from sgat.models import SGAT
from sgat.scored import ScoredGraph

CANDIDATES = 2
"""Edges that are dropped for each one listed: the estimate may rank them wrongly."""
COLUMNS = ("src", "dst", "gate", "attention", "change", "flips", "reached")


def important_edges(
    model: SGAT,
    scored: ScoredGraph,
    *,
    top: int,
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """Drop in turn the kept edges that seem to matter most, and list what changes.

    `estimated_effects` ranks all edges at once. Twice as many as wanted are dropped,
    and those of the largest effect are listed, with exact numbers (`effect_without`).
    Where edges have no direction, both directions are dropped as one.

    Args:
        model: The trained network, in evaluation mode.
        scored: The graph with its scores, on the CPU.
        top: Number of edges to list, at most.
        progress: Called with the number of edges dropped so far, and of all.

    Returns:
        One row per edge, those of the largest change first: the user's ids
        `src` and `dst`, `gate`, `attention` of the target, and `change`, `flips` and
        `reached` of `Effect`. None where no messages travel.
    """
    data, scores, chosen = scored.data, scored.edges, torch.arange(0)
    if top and model.reach:
        chosen = _candidates(model, scored, CANDIDATES * top)
    found: list[Effect] = []
    for edge in chosen[:, None]:
        found.append(effect_without(model, scored, both_ways(data, edge)))
        if progress is not None:
            progress(len(found), len(chosen))
    ids, graph = data.node_ids, data.graph
    ends = {"src": graph.src[chosen].numpy(), "dst": graph.dst[chosen].numpy()}
    assert scores.attention is not None
    columns: dict[str, Any] = {
        name: end if ids is None else ids[end] for name, end in ends.items()
    }
    columns["gate"] = scores.gate[chosen].numpy()
    columns["attention"] = scores.attention[chosen].numpy()
    for name in ("change", "flips", "reached"):
        columns[name] = [getattr(effect, name) for effect in found]
    table = pd.DataFrame(columns, columns=list(COLUMNS))
    order = table["change"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order[:top]].reset_index(drop=True)


def _candidates(model: SGAT, scored: ScoredGraph, top: int) -> Tensor:
    """Kept edges of the largest estimated effect, the largest first."""
    effect, data = estimated_effects(model, scored), scored.data
    graph, edge = data.graph, scored.edges.kept.nonzero().squeeze(1)
    if not data.has_directions:
        effect = effect + effect[graph.reverse_edge]
        edge = edge[graph.src[edge] < graph.dst[edge]]
    order = effect[edge].abs().argsort(descending=True, stable=True)
    return edge[order[:top]]
