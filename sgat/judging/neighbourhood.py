"""Neighbourhood: features of an edge from the surroundings of its two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from sgat import ops
from sgat.graph import Graph
from sgat.ops.common_neighbours import sum_common

PAIRS_AT_ONCE = 1 << 18
NUM_FEATURES = 6


def neighbour_sum(x: Tensor, graph: Graph) -> Tensor:
    """Σ_j A_ij x_j over the edges alone, [N, D]."""
    opened = ops.all_open(graph)
    total = opened.row_sum[:, None]
    return ops.aggregate(opened, x) * total - graph.loop_weights.to(x)[:, None] * x


class Neighbourhood(NamedTuple):
    """The nodes of an undirected graph and what surrounds them."""

    vector: Tensor  # u of each node, [N, R]
    sum: Tensor  # of the vectors of the neighbours, [N, R]
    degree: Tensor  # number of neighbours, [N]
    graph: Graph

    @classmethod
    def of(cls, vector: Tensor, graph: Graph) -> Neighbourhood:
        """The surroundings of every node."""
        degree = graph.row_ptr.diff().to(vector)
        return cls(vector, neighbour_sum(vector, graph), degree, graph)

    def features(self, a: Tensor, b: Tensor, *, are_edges: bool) -> Tensor:
        """Features of an edge between a and b, as if that edge were not there, [P, 6].

            u_a · u_b,   u_a · m_b + u_b · m_a,   m_a · m_b,
            l_a + l_b,   |l_a - l_b|,   log (1 + 10 Σ_k 1 / d_k)

        with m_a the mean vector (with one 0 added) of the neighbours of a other than b,
        l_a the logarithm of their number plus 1, and the sum over common neighbours k,
        d_k their degree. All are the same for (b, a). Either all pairs are edges, or
        none is.
        """
        if not len(a):
            return self.sum.new_empty(0, NUM_FEATURES)
        own = 1.0 if are_edges else 0.0
        parts = [self._part(a[part], b[part], own) for part in slices(len(a))]
        shared = sum_common(self.graph, a, b, 1 / self.degree.clamp(min=1)[:, None])
        return torch.cat([torch.cat(parts), (10 * shared).log1p()], dim=1)

    def _part(self, a: Tensor, b: Tensor, own: float) -> Tensor:
        u_a, u_b = self.vector[a], self.vector[b]
        others_a, others_b = self.degree[a] - own, self.degree[b] - own
        m_a = (self.sum[a] - own * u_b) / (others_a + 1)[:, None]
        m_b = (self.sum[b] - own * u_a) / (others_b + 1)[:, None]
        log_a, log_b = others_a.log1p(), others_b.log1p()
        columns = (
            (u_a * u_b).sum(dim=1),
            (u_a * m_b).sum(dim=1) + (u_b * m_a).sum(dim=1),
            (m_a * m_b).sum(dim=1),
            log_a + log_b,
            (log_a - log_b).abs(),
        )
        return torch.stack(columns, dim=1)


def slices(length: int) -> Iterator[slice]:
    """Parts of so many pairs that are worked on together."""
    for begin in range(0, length, PAIRS_AT_ONCE):
        yield slice(begin, begin + PAIRS_AT_ONCE)


def random_pairs(graph: Graph, number: int, *, seed: int = 0) -> tuple[Tensor, Tensor]:
    """At most `number` pairs of different nodes that no edge joins, drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    size = max(graph.num_nodes, 1)
    a, b = torch.randint(size, (2, number), generator=generator).to(graph.device)
    free = (graph.find(b, a) < 0) & (a != b)
    return a[free], b[free]
