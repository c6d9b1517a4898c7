"""GraphExplanation: what was removed from a graph, and which kept edges matter most."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from sgat.explaining.important_edges import important_edges
from sgat.explaining.node_explanation import TOP, chosen_graph, rows_of
from sgat.explaining.removal import Removal, removal_of
from sgat.models import SGAT
from sgat.scored import ScoredGraph


@dataclasses.dataclass(frozen=True, eq=False)
class GraphExplanation:
    """What was removed from a graph, and which kept edges matter most.

    Attributes:
        graph: Name of the graph.
        removal: Before and after, kept against removed.
        important: The kept edges that matter most, see `important_edges`.
        reach: Number of steps that messages travel; at 0 no edge matters.
    """

    graph: str
    removal: Removal
    important: Any
    reach: int

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
            **self.removal.to_dict(),
            "important": rows_of(self.important),
            "reach": self.reach,
        }


def explain_graph(
    model: SGAT,
    scored: Sequence[ScoredGraph],
    *,
    graph: str | None = None,
    top: int = TOP,
    progress: Callable[[int, int], None] | None = None,
) -> GraphExplanation:
    """Describe what was removed from a graph, and which kept edges matter most.

    See `describe_removal` and `important_edges`.

    Args:
        model: The trained network, in evaluation mode.
        scored: The graphs with their scores, such as `SGATClassifier.scored_`.
        graph: Name of the graph, where there are several.
        top: Most kept edges to list.
        progress: Called with the number of edges dropped so far, and of all.

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
