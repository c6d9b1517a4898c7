"""Agreement: how well the classes of two nodes go together, given their neighbours."""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.graph import Graph
from sgat.judging.neighbourhood import slices

STEPS = 5
"""Steps that beliefs travel along edges."""
DAMPING = 0.3
"""Share of the last message in the next one."""
FLOOR = 0.05
"""Added to a ratio of densities before its logarithm: one pair settles nothing."""
LEAST = 1e-4
"""Added to probabilities before their logarithm."""
CERTAIN = 100.0
"""Logit of a class that is known: no message outweighs it."""


class Agreement:
    """Beliefs in classes after they travelled along edges that may be noise.

        h_k→a = log (1 - w_ak + w_ak m_k→a M)
        m_a→b = softmax (log B_a + Σ_k≠b h_k→a - d_a w̄ (B̄ M)),   at first B_a
        φ_ab  = log (m_a→b M m_b→a + floor)

    Loopy belief propagation: a noise edge, of probability 1 - w, says nothing about the
    classes of its ends, and a node does not send back what a neighbour sent to it.
    With d the degree, w̄ the mean of w and B̄ the mean belief weighed by degree, the
    last term stands for the nodes that are no neighbours: without it, beliefs of many
    steps would all end in one class. Where the class of a is known, m_a→b is B_a.
    Messages are held for every edge and class: two tensors of [E, C].

    B is `belief` as of `class_beliefs`, [N, C], and M is `compatible` as of
    `compatibility`, [C, C]. The graph has both directions of each edge, with one weight
    w, [E]: how likely the edge is real by all but classes.
    """

    def __init__(
        self,
        belief: Tensor,
        compatible: Tensor,
        graph: Graph,
        weight: Tensor,
        is_known: Tensor | None = None,
    ) -> None:
        self.compatible = compatible
        self.graph = graph
        if is_known is None:
            is_known = torch.zeros(len(belief), dtype=torch.bool, device=belief.device)
        own = (belief + LEAST).log()
        degree = graph.row_ptr.diff().to(belief)[:, None]  # [N, 1]
        heed = degree * weight.sum() / max(graph.num_edges, 1)
        self.belief, self.message = belief, belief[graph.src]  # [N, C], [E, C]
        received = torch.empty_like(self.message)
        for _ in range(STEPS):
            self._receive(weight, received)
            everybody = (degree * self.belief).sum(dim=0) / degree.sum().clamp(min=1)
            total = own - heed * (everybody @ compatible)
            total += torch.segment_reduce(
                received, "sum", offsets=graph.row_ptr, axis=0
            )
            total = torch.where(is_known[:, None], CERTAIN * belief, total)
            # The largest is 0, so that no exponential overflows, whatever a neighbour
            # sent; a softmax of rows this short would take three times as long.
            total = total - total.amax(dim=1, keepdim=True)
            for part in slices(graph.num_edges):
                back = graph.reverse_edge[part]
                sent = (total[graph.src[part]] - received[back]).exp_()
                sent /= sent.sum(dim=1, keepdim=True)
                self.message[part] = torch.lerp(sent, self.message[part], DAMPING)
            self.belief = torch.lerp(total.softmax(dim=1), self.belief, DAMPING)

    def _receive(self, weight: Tensor, received: Tensor) -> None:
        """Write h, the message of each edge as its target reads it, to [E, C]."""
        for part in slices(len(received)):
            w = weight[part, None]
            real = w * (self.message[part] @ self.compatible)
            received[part] = (1 - w + real + LEAST).log()

    def of_edges(self) -> Tensor:
        """φ of each edge, [E]."""
        parts = [
            self._agree(self.message[part], self.message[self.graph.reverse_edge[part]])
            for part in slices(self.graph.num_edges)
        ]
        return torch.cat(parts) if parts else self.message.new_empty(0)

    def of_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """φ of pairs that no edge joins, [P]."""
        parts = [
            self._agree(self.belief[a[part]], self.belief[b[part]])
            for part in slices(len(a))
        ]
        return torch.cat(parts) if parts else self.message.new_empty(0)

    def _agree(self, one: Tensor, other: Tensor) -> Tensor:
        return (((one @ self.compatible) * other).sum(dim=1) + FLOOR).log()
