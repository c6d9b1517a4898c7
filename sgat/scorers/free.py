"""FreeScorer: the paper's transductive gate."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sgat.graph import Graph
from sgat.scorers.scores import Scores


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
