"""Assortativity: do edges join nodes of one class more often than chance does?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.judging.beliefs import (
    choose_classes,
    class_beliefs,
    fit_classes,
    joint,
    random_pairs,
)
from sgat.judging.embedding import fit_embedding
from sgat.judging.known_nodes import Example

RANK = 64
NUM_PAIRS = 100_000
LEAST = 0.03
"""From here on a graph counts as assortative."""
FEW_EDGES = 50
"""Edges between labelled nodes, both directions, too few to say a graph is not."""
SURE = 3.0
"""Standard errors from 0 at which labels alone settle it."""
MANY_EDGES = 2000
"""Edges between labelled nodes, both directions, that show if edges choose classes."""


@torch.no_grad()
def measure_assortativity(
    example: Example, num_classes: int, *, seed: int = 0
) -> float:
    """How much more often edges join nodes of one class than random pairs do.

        (h - h₀) / (1 - h₀)       h of edges, h₀ of pairs that no edge joins

    Measured on the edges between labelled nodes, if that is surely not 0; else on all
    edges, where a logistic regression on the features predicts the class of a node
    without a label. So few labels are enough, and the measure is nearer to 0 than the
    truth where features say little. 1 if edges join one class only, 0 as by chance.
    """
    graph, known = example.graph.undirected(), example.known
    label = F.one_hot(example.label.clamp(min=0), num_classes).double()
    ends = graph.dst.long(), graph.src.long()
    pairs = random_pairs(graph, NUM_PAIRS, seed=seed)
    edges_between, pairs_between = (
        (a[known[a] & known[b]], b[known[a] & known[b]]) for a, b in (ends, pairs)
    )
    of_edges, of_pairs = _same(label, edges_between), _same(label, pairs_between)
    if len(edges_between[0]) and len(pairs_between[0]):
        # Every edge is there twice, once for each direction.
        error = math.sqrt(2 * of_edges * (1 - of_edges) / len(edges_between[0]))
        if abs(of_edges - of_pairs) > SURE * error:
            return _adjusted(of_edges, of_pairs)
    vector = fit_embedding(example.x, RANK, seed=seed).vectors(example.x)
    weight = fit_classes(vector, example.label, known, num_classes)
    belief = torch.where(known[:, None], label, class_beliefs(vector, weight).double())
    return _adjusted(_same(belief, ends), _same(belief, pairs))


def _adjusted(of_edges: float, of_pairs: float) -> float:
    return (of_edges - of_pairs) / max(1 - of_pairs, 1e-9)


def _same(belief: Tensor, ends: tuple[Tensor, Tensor]) -> float:
    """Share of pairs whose ends are of one class; 0 without any."""
    total = joint(belief, *ends)
    return float(total.diagonal().sum() / total.sum().clamp(min=1e-12))


def _first_labelled(examples: Sequence[Example]) -> Example | None:
    return next((part for part in examples if bool(part.known.any())), None)


def is_assortative(
    examples: Sequence[Example], num_classes: int, *, seed: int = 0
) -> bool:
    """Whether neighbours tend to be of one class; yes if it is not known.

    The first graph with labels decides. It is unknown without classes, and with few
    labels where features say nothing about the class.
    """
    example = _first_labelled(examples)
    if example is None:
        return True
    if measure_assortativity(example, num_classes, seed=seed) >= LEAST:
        return True
    graph, known = example.graph.undirected(), example.known
    return int((known[graph.dst] & known[graph.src]).sum()) < FEW_EDGES


def edges_ignore_classes(
    examples: Sequence[Example], num_classes: int, *, seed: int = 0
) -> bool:
    """Whether edges show no sign of the classes of the nodes they join, though many do.

    So it is if many edges join labelled nodes and do not choose their classes more than
    with the labels permuted at random. The first graph with labels decides.
    """
    example = _first_labelled(examples)
    if example is None:
        return False
    graph, known = example.graph.undirected(), example.known
    place = known.long().cumsum(0) - 1
    ends = graph.dst.long(), graph.src.long()
    pairs = random_pairs(graph, NUM_PAIRS, seed=seed)
    of_edges, of_pairs = (
        (place[a[both]], place[b[both]])
        for a, b in (ends, pairs)
        for both in [known[a] & known[b]]
    )
    if len(of_edges[0]) < MANY_EDGES or not len(of_pairs[0]):
        return False
    label = F.one_hot(example.label[known], num_classes).double()
    return not choose_classes(label, of_edges, of_pairs, seed=seed)
