"""Limits: how many nodes an embedding has the time and the memory to place."""

from __future__ import annotations

from sgat.graph import Graph


def check_size(graph: Graph, most: int, name: str) -> None:
    """Refuse a graph that is too large for an embedding before any work.

    Raises:
        ValueError: If there are more than `most` nodes.
    """
    if graph.num_nodes > most:
        raise ValueError(
            f"The embedding {name!r} can place at most {most} nodes, got"
            f" {graph.num_nodes}; take a smaller graph."
        )
