"""Beliefs: which class a node is likely of, and which classes edges join."""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.evidence.neighbourhood import neighbour_sum, slices
from sgat.graph import Graph

RIDGE = 1e-2
STEPS = 60
FLOOR = 0.05
"""Added to a ratio of densities before its logarithm: one pair settles nothing."""
CERTAIN = 100.0
"""Logit of a class that is known: nothing that is heard outweighs it."""
SURE = 3.0
"""Standard deviations by which edges must choose classes more than by chance."""
DEALS = 20
"""How often beliefs are dealt out at random to see what chance does."""
MOST_DEALT = 100_000
"""Edges that are looked at for that."""

Pairs = tuple[Tensor, Tensor]
"""Both ends of each pair of nodes, [P] and [P]."""


def fit_classes(vector: Tensor, y: Tensor, known: Tensor, num_classes: int) -> Tensor:
    """A multinomial logistic regression from the nodes' vectors to their classes.

    Args:
        vector: Vector of each node, [N, R].
        y: Class of each node, [N].
        known: Nodes whose class may be looked at, at least one, [N] bool.
        num_classes: Number of classes C.

    Returns:
        Weights, the constants in the last row, [R + 1, C].
    """
    # Coordinates of one size, so that the price of their weights is fair.
    scale = vector.double().cpu().std(dim=0, correction=0).clamp(min=1e-6)
    rows, labels = vector[known].double().cpu() / scale, y[known].cpu()
    weight = rows.new_zeros(rows.shape[1], num_classes).requires_grad_()
    constant = rows.new_zeros(num_classes).requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weight, constant], max_iter=STEPS, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.cross_entropy(rows @ weight + constant, labels)
        loss = loss + RIDGE * (weight**2).sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    found = torch.cat([weight.detach() / scale[:, None], constant.detach()[None]])
    return found.float().to(vector.device)


def beliefs(vector: Tensor, weight: Tensor, label: Tensor | None = None) -> Tensor:
    """Probability of each class from a node's own features alone, [N, C].

    Args:
        vector: Vector of each node, [N, R].
        weight: As of `fit_classes`, [R + 1, C].
        label: Class of each node where it is known, for sure then, and -1 elsewhere,
            [N]; None if none is.
    """
    belief = (vector @ weight[:-1] + weight[-1]).softmax(dim=1)
    if label is None:
        return belief
    sure = F.one_hot(label.clamp(min=0), belief.shape[1]).to(belief)
    return torch.where(label[:, None] >= 0, sure, belief)


def compatibility(
    belief: Tensor, graph: Graph, a: Tensor, b: Tensor, *, seed: int = 0
) -> Tensor:
    """How much likelier real edges join two classes than random pairs do, [C, C].

    Noise joins classes as random pairs do. So the ratio of edges to random pairs,
    pooled over the pairs of classes that edges join less often than chance, is at most
    the share of noise, and what is above it is real. Ones if edges do not surely choose
    classes more than they do where beliefs are dealt out to the nodes at random.

    Args:
        belief: Probability of each class, [N, C].
        graph: The edges, both directions.
        a: One end of each random pair, [P].
        b: The other, [P].
        seed: Of the deals.
    """
    belief = belief.double()
    if not graph.num_edges or not len(a):
        return torch.ones_like(belief.T @ belief).float()
    edges, pairs = (graph.dst, graph.src), (a, b)
    seen, drawn = _shares(belief, edges, pairs)
    ratio = (seen + 1e-4 * drawn) / (drawn + 1e-12)
    is_rare = ratio < 1
    base = seen[is_rare].sum() / drawn[is_rare].sum().clamp(min=1e-12)
    if not choose_classes(belief, edges, pairs, seed=seed):
        return torch.ones_like(ratio).float()
    return ((ratio - base) / (1 - base)).clamp(min=0).float()


def choose_classes(
    belief: Tensor, edges: Pairs, pairs: Pairs, *, seed: int = 0
) -> bool:
    """Whether edges choose classes more than where beliefs are dealt out at random.

    Args:
        belief: Probability of each class, [N, C] float64.
        edges: Nodes that edges join.
        pairs: Nodes that none joins, drawn at random.
        seed: Of the deals.
    """
    generator = torch.Generator().manual_seed(seed)
    kept = torch.randperm(len(edges[0]), generator=generator)[:MOST_DEALT]
    kept = kept.to(belief.device)
    edges = edges[0][kept], edges[1][kept]
    found = _distance(belief, edges, pairs)
    deals = []
    for _ in range(DEALS):
        dealt = torch.randperm(len(belief), generator=generator).to(belief.device)
        deals.append(_distance(belief[dealt], edges, pairs))
    by_chance = torch.tensor(deals)
    # Beliefs that are all alike differ by rounding.
    return found > max(float(by_chance.mean() + SURE * by_chance.std()), 1e-9)


def _distance(belief: Tensor, edges: Pairs, pairs: Pairs) -> float:
    """Σ (p - q)² / (q + 1 / P) over pairs of classes, p of edges, q of random pairs.

    By P, the number of random pairs, no pair of rare classes that none of them joins
    outweighs all others.
    """
    seen, drawn = _shares(belief, edges, pairs)
    return float(((seen - drawn) ** 2 / (drawn + 1 / len(pairs[0]))).sum())


def _shares(belief: Tensor, edges: Pairs, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """How often edges, and random pairs, join two classes; both sum to 1, [C, C]."""
    seen, drawn = joint(belief, *edges), joint(belief, *pairs)
    return seen / seen.sum(), drawn / drawn.sum()


def joint(belief: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """How often pairs join two classes: Σ of the beliefs of both ends, [C, C]."""
    total = belief.new_zeros(belief.shape[1], belief.shape[1])
    for part in slices(len(a)):
        total += belief[a[part]].T @ belief[b[part]]
    return (total + total.T) / 2


class Agreement:
    """How well the classes of two nodes go together, told by them and their neighbours.

        m_k = log (B_k M + floor), less its mean,   L_a = log B_a + Σ_k w_ak m_k
        φ_ab = log (b_a M b_b + floor),   b_a = softmax (L_a - w_ab m_b)

    so that neither node's belief has heard the other. Where the class of a is known,
    b_a is B_a, whatever the neighbours say.

    Args:
        belief: B, as of `beliefs`, [N, C].
        compatible: M, as of `compatibility`, [C, C].
        graph: The edges, both directions.
        weight: How far each edge is to be believed, [E].
        is_known: Nodes whose class is known, [N] bool; None for none.
    """

    def __init__(
        self,
        belief: Tensor,
        compatible: Tensor,
        graph: Graph,
        weight: Tensor,
        is_known: Tensor | None = None,
    ) -> None:
        message = (belief @ compatible + FLOOR).log()
        self.message = message - message.mean(dim=1, keepdim=True)
        weighted = dataclasses.replace(graph, weight=weight)
        self.heard = (belief + 1e-4).log() + neighbour_sum(self.message, weighted)
        if is_known is not None:
            self.heard = torch.where(is_known[:, None], CERTAIN * belief, self.heard)
        self.compatible = compatible

    def feature(self, a: Tensor, b: Tensor, weight: Tensor | None = None) -> Tensor:
        """φ of each pair, [P]; `weight` is that of the edges, None for no edges."""
        parts = []
        for part in slices(len(a)):
            i, j = a[part], b[part]
            own = 0.0 if weight is None else weight[part][:, None]
            of_a = (self.heard[i] - own * self.message[j]).softmax(dim=1)
            of_b = (self.heard[j] - own * self.message[i]).softmax(dim=1)
            parts.append((((of_a @ self.compatible) * of_b).sum(dim=1) + FLOOR).log())
        return torch.cat(parts) if parts else self.heard.new_empty(0)
