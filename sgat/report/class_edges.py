"""The whole graph by classes: how many edges join two classes, and how many stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sgat.report.confusion import Array, merge_rare
from sgat.scored import ScoredGraph

EDGES_AT_ONCE = 1 << 20
"""Edges whose classes are in memory together."""


class ClassEdges(NamedTuple):
    """Edges by the classes of their ends.

    Attributes:
        names: Names of the classes; None stands for all rarer ones.
        counts: Edges from class (row) to class (column), and the kept ones, [C, C, 2].
    """

    names: tuple[Any, ...]
    counts: Array


def count_class_edges(scored: Sequence[ScoredGraph]) -> tuple[Array, Array]:
    """Count edges by the predicted classes of their ends.

    Returns:
        All edges and kept edges from class (row) to class (column), [C, C] each.
    """
    size = scored[0].data.num_classes
    counts = np.zeros((2, size * size), dtype=np.int64)
    for part in scored:
        kind, graph, kept = part.prediction, part.data.graph, part.edges.kept
        columns = graph.src, graph.dst, kept
        parts = (column.split(EDGES_AT_ONCE) for column in columns)
        for src, dst, stays in zip(*parts, strict=True):
            pair = kind[src] * size + kind[dst]
            counts[0] += np.bincount(pair, minlength=size * size)
            counts[1] += np.bincount(pair[stays], minlength=size * size)
    return counts[0].reshape(size, size), counts[1].reshape(size, size)


def class_edges(scored: Sequence[ScoredGraph]) -> ClassEdges | None:
    """The edges between any two classes, rare ones as one; None without edges."""
    classes, (every, kept) = merge_rare(
        scored[0].data.classes, count_class_edges(scored)
    )
    if not every.sum():
        return None
    return ClassEdges(classes, np.stack([every, kept], axis=-1))
