"""EdgeFeatureScorer: gates from what is known of each edge."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sgat.graph import Graph
from sgat.scorers.additive import PairScorer
from sgat.scorers.scores import Scores


class EdgeFeatureScorer(PairScorer):
    """A linear map of the features of an edge: log α_ij = w · f_ij + s_i + t_j.

    Args:
        channels: Width D of the projected features.
        edge_channels: Number of features of each edge, the columns of `Graph.feature`.
        additive: Add the scores of the paper's gate.
        init_gain: Scale of the initial weights.
    """

    def __init__(
        self,
        channels: int,
        edge_channels: int,
        *,
        additive: bool = True,
        init_gain: float = 1.0,
    ) -> None:
        super().__init__(channels, additive=additive, init_gain=init_gain)
        if edge_channels < 1:
            raise ValueError(
                f"`edge_channels` must be at least 1, got {edge_channels}."
            )
        self.edge_channels = edge_channels
        self.weight = nn.Parameter(torch.empty(edge_channels))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generator)
        std = self.init_gain * (2 / (self.edge_channels + 1)) ** 0.5
        nn.init.normal_(self.weight, std=std, generator=generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every edge from its features and every node from its own."""
        feature = graph.feature
        if feature is None or feature.shape[1] != self.edge_channels:
            found = "none" if feature is None else str(feature.shape[1])
            raise ValueError(
                f"The graph must have {self.edge_channels} features of each edge, got"
                f" {found}; give them to `Graph.from_edges` as `edge_feature`."
            )
        edge = feature.to(self.weight) @ self.weight
        return self.node_scores(h, graph)._replace(edge=edge)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.channels}, {self.edge_channels}"
