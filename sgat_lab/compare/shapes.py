"""shapes(): what the graph looks like after each method's choice."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from sgat.data.node_data import NodeData
from sgat.data.statistics import describe
from sgat_lab.compare.plan import FULL, Comparison
from sgat_lab.compare.pruners import select
from sgat_lab.trials.store import Store


class Shape(NamedTuple):
    """Properties that explain scores, mean over the seeds.

    Attributes:
        isolated: Share of the nodes that have no edge.
        homophily: Share of the edges that join nodes of one class; None where no edge
            has labels at both ends.
    """

    isolated: float
    homophily: float | None


Shapes = dict[tuple[str, float], Shape]
"""By method and budget; the full graph has a budget of 1."""


def shapes(comparison: Comparison, store: Store) -> Shapes:
    """The shape of the graph after the choice of every method that has learned.

    Labels of all nodes are counted, here and nowhere else.
    """
    found = {(FULL, 1.0): _mean([_shape(comparison.graphs)])}
    for method in comparison.pruners:
        for budget in comparison.budgets:
            choices = [
                comparison.kept(method, budget, seed, store)
                for seed in comparison.seeds
            ]
            looks = [_shape(select(comparison.graphs, c)) for c in choices if c]
            if looks:
                found[method, budget] = _mean(looks)
    return found


def _shape(graphs: Sequence[NodeData]) -> Shape:
    counted = describe(graphs)
    return Shape(counted.isolated / counted.nodes, counted.edge_homophily)


def _mean(found: Sequence[Shape]) -> Shape:
    known = [shape.homophily for shape in found if shape.homophily is not None]
    return Shape(
        statistics.fmean(shape.isolated for shape in found),
        statistics.fmean(known) if known else None,
    )
