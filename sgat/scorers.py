"""Scorers: where the location log α of each edge's gate comes from.

A scorer is any module that maps the projected features of the first head and the graph
to `Scores`. Scalars per node are cheap; the score per edge is for what no pair of
scalars can say.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sgat.features import product
from sgat.graph import Graph


class Scores(NamedTuple):
    """The parts of log α_ij = dst_i + src_j + edge_ij.

    Attributes:
        dst: Score s of each node as a target, [N].
        src: Score t of each node as a source, [N].
        edge: Further score c of each edge in the order of the graph, [E]; None for 0.
    """

    dst: Tensor
    src: Tensor
    edge: Tensor | None = None


def symmetrised(scores: Scores, graph: Graph) -> Scores:
    """Scores with which both directions of an edge have the mean of their log α.

        s'_i = t'_i = (s_i + t_i) / 2,   c'_ij = (c_ij + c_ji) / 2

    The graph must be undirected: its order by source then lists the reverse of each
    edge.
    """
    node = (scores.dst + scores.src) / 2
    if scores.edge is None:
        return Scores(node, node)
    reverse = scores.edge[graph.by_source.edge]
    return Scores(node, node, (scores.edge + reverse) / 2)


class AdditiveScorer(nn.Module):
    """The paper's inductive gate (eq. 14): log α_ij = b₁ · h_i + b₂ · h_j.

    Args:
        channels: Width D of the projected features.
        init_gain: Scale of the initial weights.
    """

    def __init__(self, channels: int, *, init_gain: float = 1.0) -> None:
        super().__init__()
        self.channels = channels
        self.init_gain = init_gain
        self.weight = nn.Parameter(torch.empty(channels, 2))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        std = self.init_gain * math.sqrt(2 / (self.channels + 1))
        nn.init.normal_(self.weight, std=std, generator=generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every node from its projected features, [N, D]."""
        score = product(h, self.weight)
        return Scores(score[:, 0], score[:, 1])

    def extra_repr(self) -> str:
        """The width."""
        return f"{self.channels}"


class FreeScorer(nn.Module):
    """The paper's transductive gate: one free parameter log α per edge.

    It knows the edges of one graph only and cannot score others.

    Args:
        num_edges: Number of edges E of the graph.
    """

    def __init__(self, num_edges: int) -> None:
        super().__init__()
        self.num_edges = num_edges
        self.log_alpha = nn.Parameter(torch.empty(num_edges))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw log α around 0, so that no two edges start alike."""
        nn.init.normal_(self.log_alpha, std=0.01, generator=generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Return the parameters as scores per edge."""
        if graph.num_edges != self.num_edges:
            raise ValueError(
                f"A transductive gate knows the {self.num_edges} edges it was trained"
                f" on, got a graph with {graph.num_edges}; use gate_mode='inductive'."
            )
        zero = self.log_alpha.new_zeros(graph.num_nodes)
        return Scores(zero, zero, self.log_alpha)

    def extra_repr(self) -> str:
        """The number of edges."""
        return f"{self.num_edges}"
