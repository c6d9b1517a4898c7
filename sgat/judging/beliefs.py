"""Beliefs: which class a node is likely of, and which classes edges join."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import log_softmax
from torch import Tensor

from sgat.graph import Graph
from sgat.judging.fitting import minimise
from sgat.judging.matrices import slices

Array = np.ndarray[Any, Any]

PAIRS_AT_ONCE, MOST_KNOWN = 1 << 18, 10_000
"""Pairs that are worked on together, and nodes that classes are learned from."""
RIDGE, GAIN = 1e-2, 1e-12
SURE = 3.0
"""Standard deviations by which edges must choose classes more than by chance."""
DEALS = 20
"""Number of random permutations of the beliefs that show what chance does."""
MOST_DEALT = 100_000
"""Edges that are looked at for that."""

Pairs = tuple[Tensor, Tensor]
"""Both ends of each pair of nodes, [P] and [P]."""


def fit_classes(vector: Tensor, y: Tensor, known: Tensor, num_classes: int) -> Tensor:
    """A multinomial logistic regression from vectors [N, R] to the known classes.

    Of more than `MOST_KNOWN` known nodes, so many at random are enough. Returns its
    weights, the constants in the last row, [R + 1, C].
    """
    # Coordinates of one size, so that the price of their weights is fair.
    columns = vector.cpu().T
    scale = torch.stack([c.double().std(correction=0) for c in columns]).clamp(min=1e-6)
    known = known.nonzero().squeeze(1)
    if len(known) > MOST_KNOWN:
        generator = torch.Generator().manual_seed(0)
        some = torch.randperm(len(known), generator=generator)[:MOST_KNOWN]
        known = known[some.to(known.device)]
    chosen = vector[known].double().cpu() / scale
    rows = np.column_stack([chosen.numpy(), np.ones(len(chosen))])
    one_hot = np.eye(num_classes)[y[known].cpu().numpy()]

    def loss(flat: Array) -> tuple[float, Array]:
        weight = flat.reshape(-1, num_classes)
        log_odds = log_softmax(rows @ weight, axis=1)
        priced = np.vstack([RIDGE * weight[:-1], np.zeros(num_classes)])
        value = (priced * weight).sum() - (one_hot * log_odds).sum() / len(rows)
        slope = rows.T @ (np.exp(log_odds) - one_hot) / len(rows) + 2 * priced
        return float(value), slope.ravel()

    found = minimise(loss, np.zeros(rows.shape[1] * num_classes), gain=GAIN)
    weight = torch.from_numpy(found.reshape(-1, num_classes))
    weight[:-1] /= scale[:, None]
    return weight.float().to(vector.device)


def class_beliefs(
    vector: Tensor, weight: Tensor, label: Tensor | None = None
) -> Tensor:
    """Probability of each class from a node's own features alone, [N, C].

    A `label` is sure, where it is not -1.
    """
    belief = (vector @ weight[:-1] + weight[-1]).softmax(dim=1)
    if label is None:
        return belief
    sure = F.one_hot(label.clamp(min=0), belief.shape[1]).to(belief)
    return torch.where(label[:, None] >= 0, sure, belief)


def choose_classes(
    belief: Tensor, edges: Pairs, pairs: Pairs, *, seed: int = 0
) -> bool:
    """Whether edges choose classes more than with the beliefs permuted at random.

    Either pairs of classes, or one class: the second is one number, and sure where the
    scatter of each of many pairs hides what all of one class have in common.
    """
    for measure in (_distance, _excess):
        generator = torch.Generator().manual_seed(seed)
        kept = torch.randperm(len(edges[0]), generator=generator)[:MOST_DEALT]
        kept = kept.to(belief.device)
        looked_at = edges[0][kept], edges[1][kept]
        deals = []
        for _ in range(DEALS):
            dealt = torch.randperm(len(belief), generator=generator).to(belief.device)
            deals.append(measure(belief[dealt], looked_at, pairs))
        by_chance = torch.tensor(deals)
        # Beliefs that are all alike differ by rounding.
        most = max(float(by_chance.mean() + SURE * by_chance.std()), 1e-9)
        if measure(belief, looked_at, pairs) > most:
            return True
    return False


def _distance(belief: Tensor, edges: Pairs, pairs: Pairs) -> float:
    """Σ (p - q)² / (q + 1 / P) over pairs of classes, p of edges, q of random pairs.

    By P, the number of random pairs, no pair of rare classes that none of them joins
    outweighs all others.
    """
    seen, drawn = _shares(belief, edges, pairs)
    return float(((seen - drawn) ** 2 / (drawn + 1 / len(pairs[0]))).sum())


def _excess(belief: Tensor, edges: Pairs, pairs: Pairs) -> float:
    """How much more often edges join one class than random pairs do."""
    seen, drawn = _shares(belief, edges, pairs)
    return float((seen - drawn).diagonal().sum())


def _shares(belief: Tensor, edges: Pairs, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """How often edges, and random pairs, join two classes; both sum to 1, [C, C]."""
    seen, drawn = joint(belief, *edges), joint(belief, *pairs)
    return seen / seen.sum(), drawn / drawn.sum()


def joint(belief: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """How often pairs join two classes: Σ of the beliefs of both ends, [C, C]."""
    total = belief.new_zeros(belief.shape[1], belief.shape[1])
    for part in slices(len(a), PAIRS_AT_ONCE):
        total += belief[a[part]].T @ belief[b[part]]
    return (total + total.T) / 2


def random_pairs(graph: Graph, number: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """At most `number` pairs of different nodes that no edge joins, drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    size = max(graph.num_nodes, 1)
    a, b = torch.randint(size, (2, number), generator=generator).to(graph.device)
    free = (graph.find(b, a) < 0) & (a != b)
    return a[free], b[free]
