"""PairScorer: gates that look at both ends of an edge, or at the edge itself.

Tested by tests/scorers/test_cosine.py, test_bilinear.py and test_edge_feature.py.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.scorers.paper import AdditiveScorer
from sgat.scorers.scores import Scores, check_rank


class PairScorer(nn.Module):
    """The part that scorers of pairs share: additive scores beside their own.

    These are the scores of the paper's gate, so that all edges of a node can open or
    close together. `channels` is the width D of the projected features, `sizes` are
    further sizes for the `repr`, and `init_gain` scales the initial weights.
    """

    def __init__(
        self, channels: int, *sizes: int, additive: bool, init_gain: float
    ) -> None:
        super().__init__()
        self.channels = channels
        self.sizes = (channels, *sizes)
        self.init_gain = init_gain
        self.additive = (
            AdditiveScorer(channels, init_gain=init_gain) if additive else None
        )

    def node_scores(self, h: Tensor, graph: Graph) -> Scores:
        """The additive scores, or zeros."""
        if self.additive is None:
            zero = h.new_zeros(len(h))
            return Scores(zero, zero)
        scores: Scores = self.additive(h, graph)
        return scores

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        if self.additive is not None:
            self.additive.reset_parameters(generator)

    def extra_repr(self) -> str:
        """The sizes."""
        return ", ".join(map(str, self.sizes))


class CosineScorer(PairScorer):
    """Similarity of projected nodes: log α_ij = scale · cos(P h_i, P h_j) + s_i + t_j.

    The scale is positive and learned, from `init_scale` on. The similarity is the
    product of one vector for each node, of length `rank`, 1 to 64, so the kernels
    compute it. Further arguments are as of `PairScorer`.
    """

    def __init__(
        self,
        channels: int,
        rank: int = ModelConfig.rank,
        *,
        additive: bool = True,
        init_scale: float = 4.0,
        init_gain: float = 1.0,
    ) -> None:
        super().__init__(channels, rank, additive=additive, init_gain=init_gain)
        if not init_scale > 0:
            raise ValueError(f"`init_scale` must be positive, got {init_scale}.")
        self.rank = check_rank(rank)
        self.init_scale = init_scale
        self.weight = nn.Parameter(torch.empty(channels, rank))
        self.log_scale = nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generator)
        nn.init.xavier_normal_(self.weight, self.init_gain, generator)
        nn.init.constant_(self.log_scale, math.log(self.init_scale))

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Give every node its vector, of length √scale; a node of zeros gets zeros."""
        vector = F.normalize(h @ self.weight, dim=1) * (self.log_scale / 2).exp()
        return self.node_scores(h, graph)._replace(query=vector, key=vector)


class BilinearScorer(PairScorer):
    """A product of projections: log α_ij = (Q h_i) · (K h_j) + s_i + t_j.

    The vectors have the length `rank`, 1 to 64; see `PairScorer` for the rest.
    """

    def __init__(
        self,
        channels: int,
        rank: int = ModelConfig.rank,
        *,
        additive: bool = True,
        init_gain: float = 1.0,
    ) -> None:
        super().__init__(channels, rank, additive=additive, init_gain=init_gain)
        self.rank = check_rank(rank)
        self.query_weight = nn.Parameter(torch.empty(channels, rank))
        self.key_weight = nn.Parameter(torch.empty(channels, rank))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, smaller for longer vectors: a product adds R terms."""
        super().reset_parameters(generator)
        gain = self.init_gain / self.rank**0.25
        nn.init.xavier_normal_(self.query_weight, gain, generator)
        nn.init.xavier_normal_(self.key_weight, gain, generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Give every node a vector as a target and one as a source."""
        query, key = h @ self.query_weight, h @ self.key_weight
        return self.node_scores(h, graph)._replace(query=query, key=key)


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
        sizes = channels, edge_channels
        super().__init__(*sizes, additive=additive, init_gain=init_gain)
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
