"""AdditiveScorer and FreeScorer: the gates of the paper, inductive and transductive.

Tested by tests/scorers/test_additive.py and tests/scorers/test_free.py.
"""

import math

import torch
from torch import Tensor, nn

from sgat.graph import Graph
from sgat.ops.dense_product import product
from sgat.scorers.scores import Scores


class AdditiveScorer(nn.Module):
    """The paper's inductive gate (eq. 14): log α_ij = b₁ · h_i + b₂ · h_j.

    h, of width `channels`, is the projection by the first head of the first layer,
    W_0^(0) in the paper. `init_gain` scales the initial weights.
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
    """The paper's transductive gate (eq. 12): one free parameter log α per edge.

    It knows the edges of one graph only and cannot score others.
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
