"""Assortativity: do edges join nodes of one class more often than chance does?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.evidence.beliefs import beliefs, fit_classes, joint
from sgat.evidence.embedding import fit_embedding
from sgat.evidence.neighbourhood import random_pairs, undirected

if TYPE_CHECKING:
    from sgat.data.node_data import NodeData

RANK = 64
NUM_PAIRS = 100_000
LEAST = 0.03
"""From here on a graph counts as assortative."""
FEW_EDGES = 50
"""Edges between labelled nodes that are too few to say that a graph is not."""


@torch.no_grad()
def assortativity(data: NodeData, *, seed: int = 0) -> float:
    """How much more often edges join nodes of one class than random pairs do.

        (h - h₀) / (1 - h₀)       h of edges, h₀ of pairs that no edge joins

    The class of a training node is its label, that of any other what a logistic
    regression makes of its features; so it can be known from few labels, and is nearer
    to 0 than the truth where features say little. 1 if edges join one class only, 0 as
    by chance.
    """
    graph = undirected(data.graph)
    known = data.train & (data.y >= 0)
    vector = fit_embedding(data.x, RANK, seed=seed).vectors(data.x)
    weight = fit_classes(vector, data.y, known, data.num_classes)
    label = F.one_hot(data.y.clamp(min=0), data.num_classes).to(vector)
    belief = torch.where(known[:, None], label, beliefs(vector, weight)).double()
    pairs = random_pairs(graph, NUM_PAIRS, seed=seed)
    by_edge, by_chance = (
        _same(joint(belief, *ends)) for ends in ((graph.dst, graph.src), pairs)
    )
    return (by_edge - by_chance) / max(1 - by_chance, 1e-9)


def _same(total: Tensor) -> float:
    return float(total.diagonal().sum() / total.sum().clamp(min=1e-12))


def is_assortative(graphs: Sequence[NodeData], *, seed: int = 0) -> bool:
    """Whether neighbours are worth listening to as they are; yes if it is not known.

    Judged by the first graph with training nodes. Several labels per node, and few
    labels where features say nothing of the class, leave it unknown.
    """
    for data in graphs:
        if data.is_multilabel or not bool((data.train & (data.y >= 0)).any()):
            continue
        if assortativity(data, seed=seed) >= LEAST:
            return True
        is_known = data.train & (data.y >= 0)
        graph = data.graph
        both = is_known[graph.dst.long()] & is_known[graph.src.long()]
        return int(both.sum()) < FEW_EDGES
    return True
