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
SURE = 3.0
"""Standard errors by which rare pairs of classes must be rarer than by chance."""


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


def beliefs(vector: Tensor, weight: Tensor) -> Tensor:
    """Probability of each class from a node's own features alone, [N, C]."""
    return (vector @ weight[:-1] + weight[-1]).softmax(dim=1)


def compatibility(belief: Tensor, graph: Graph, a: Tensor, b: Tensor) -> Tensor:
    """How much likelier real edges join two classes than random pairs do, [C, C].

    Noise joins classes as random pairs do. So the ratio of edges to random pairs,
    pooled over the pairs of classes that edges join less often than chance, is at most
    the share of noise, and what is above it is real. Ones if no pair of classes is
    surely rarer than by chance.

    Args:
        belief: Probability of each class, [N, C].
        graph: The edges, both directions.
        a: One end of each random pair, [P].
        b: The other, [P].
    """
    belief = belief.double()
    seen, drawn = joint(belief, graph.dst, graph.src), joint(belief, a, b)
    if not float(seen.sum()) or not float(drawn.sum()):
        return torch.ones_like(drawn).float()
    number = seen.sum()
    seen, drawn = seen / number, drawn / drawn.sum()
    ratio = (seen + 1e-4 * drawn) / (drawn + 1e-12)
    is_rare = ratio < 1
    share = drawn[is_rare].sum().clamp(min=1e-12)
    base = seen[is_rare].sum() / share
    error = (1 / (share * number)).sqrt()
    if not bool(is_rare.any()) or bool(base + SURE * error >= 1):
        return torch.ones_like(ratio).float()
    return ((ratio - base) / (1 - base)).clamp(min=0).float()


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

    so that neither node's belief has heard the other.

    Args:
        belief: B, probability of each class from a node's own features, [N, C].
        compatible: M, as of `compatibility`, [C, C].
        graph: The edges, both directions.
        weight: How far each edge is to be believed, [E].
    """

    def __init__(
        self, belief: Tensor, compatible: Tensor, graph: Graph, weight: Tensor
    ) -> None:
        message = (belief @ compatible + FLOOR).log()
        self.message = message - message.mean(dim=1, keepdim=True)
        weighted = dataclasses.replace(graph, weight=weight)
        self.heard = (belief + 1e-4).log() + neighbour_sum(self.message, weighted)
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
