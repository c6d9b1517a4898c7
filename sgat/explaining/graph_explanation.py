"""GraphExplanation: what was removed from a graph, and which kept edges matter most."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from sgat.explaining.edge_effects import (
    Count,
    Effect,
    both_ways,
    effect_without,
    estimated_effects,
)
from sgat.explaining.node_explanation import TOP, chosen_graph, rows_of
from sgat.explaining.removal import Removal, removal_of
from sgat.models import SGAT
from sgat.scored import ScoredGraph

CANDIDATES = 2
"""Edges that are dropped for each one listed: the estimate may rank them wrongly."""


@dataclasses.dataclass(frozen=True, eq=False)
class GraphExplanation:
    """The edges removed from a graph, and the kept ones that matter most.

    `important` has a row per edge: the user's ids `src` and `dst`, `gate`, `attention`
    of the target, and the fields of `Effect`.
    """

    graph: str  # its name
    removal: Removal  # before and after, kept against removed
    important: Any  # a `DataFrame`
    reach: int  # number of steps that messages travel; at 0 no edge matters

    @property
    def table(self) -> Any:
        """One row per number, of the graph before and after or of the edges."""
        sides = self.removal.before.numbers, self.removal.after.numbers
        rows = [
            {"name": name, "title": title, "before": before, "after": sides[1][name][1]}
            for name, (title, before) in sides[0].items()
        ]
        rows += [
            {"name": c.name, "title": c.title, "kept": c.kept, "removed": c.removed}
            for c in self.removal.contrasts
        ]
        columns = ["name", "title", "before", "after", "kept", "removed"]
        return pd.DataFrame(rows, columns=columns).astype(
            dict.fromkeys(columns[2:], "Float64")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            "graph": self.graph,
            **dataclasses.asdict(self.removal),
            "important": rows_of(self.important),
            "reach": self.reach,
        }


def explain_graph(
    model: SGAT,
    scored: Sequence[ScoredGraph],
    *,
    graph: str | None = None,
    top: int = TOP,
    progress: Count | None = None,
) -> GraphExplanation:
    """Describe what was removed from a graph, and which kept edges matter most.

    See `describe_removal` and `important_edges`, of which `top` are listed at most;
    the other arguments are as of `explain_node`.

    Raises:
        ValueError: If there is no such graph.
    """
    if top < 0:
        raise ValueError(f"`top` must be at least 0, got {top}.")
    part = chosen_graph(scored, graph)
    return GraphExplanation(
        part.data.name,
        removal_of([part]),
        important_edges(model, part, top=top, progress=progress),
        model.reach,
    )


def important_edges(
    model: SGAT, scored: ScoredGraph, *, top: int, progress: Count | None = None
) -> Any:
    """Drop in turn the kept edges that seem to matter most, and list what changes.

    `estimated_effects` ranks all edges at once. Twice as many as wanted are dropped,
    and those of the largest effect are listed, with exact numbers (`effect_without`).
    Where edges have no direction, both directions are dropped as one. The table has a
    row per edge, the largest change first, and none where no messages travel.
    """
    data, scores, chosen = scored.data, scored.edges, torch.arange(0)
    if top and model.reach:
        chosen = _candidates(model, scored, CANDIDATES * top)
    found: list[Effect] = []
    for edge in chosen[:, None]:
        found.append(effect_without(model, scored, both_ways(data, edge)))
        if progress is not None:
            progress(len(found), len(chosen))
    columns = {
        "src": data.ids[data.graph.src[chosen].numpy()],
        "dst": data.ids[data.graph.dst[chosen].numpy()],
        "gate": scores.gate[chosen].numpy(),
    }
    if scores.attention is not None:
        columns["attention"] = scores.attention[chosen].numpy()
    table = pd.DataFrame(columns).join(pd.DataFrame(found, columns=Effect._fields))
    ranked = table.sort_values("change", key=abs, ascending=False, kind="stable")
    return ranked.head(top).reset_index(drop=True)


def _candidates(model: SGAT, scored: ScoredGraph, top: int) -> Tensor:
    """Kept edges of the largest estimated effect, the largest first."""
    effect, data = estimated_effects(model, scored), scored.data
    graph, edge = data.graph, scored.edges.kept.nonzero().squeeze(1)
    if not data.has_directions:
        effect = effect + effect[graph.reverse_edge]
        edge = edge[graph.src[edge] < graph.dst[edge]]
    order = effect[edge].abs().argsort(descending=True, stable=True)
    return edge[order[:top]]
