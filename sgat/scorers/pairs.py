"""PairScorer: gates that look at both ends of an edge.

Tested by tests/scorers/test_cosine.py and test_bilinear.py.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.ops.dense_product import product
from sgat.scorers.paper import AdditiveScorer
from sgat.scorers.scores import Scores, check_rank

FIRST_SCALE = 4.0


class PairScorer(nn.Module):
    """The part that scorers of pairs share: additive scores beside their own.

    These are the scores of the paper's gate, so that all edges of a node can open or
    close together. `channels` is the width D of the projected features, `sizes` are
    further sizes for the `repr`, and `init_gain` scales the initial weights.
    """

    def __init__(self, channels: int, *sizes: int, init_gain: float) -> None:
        super().__init__()
        self.channels = channels
        self.sizes = (channels, *sizes)
        self.init_gain = init_gain
        self.additive = AdditiveScorer(channels, init_gain=init_gain)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        self.additive.reset_parameters(generator)

    def extra_repr(self) -> str:
        """The sizes."""
        return ", ".join(map(str, self.sizes))


class CosineScorer(PairScorer):
    """Similarity of projected nodes: log α_ij = scale · cos(P h_i, P h_j) + s_i + t_j.

    The scale is positive and learned, from `FIRST_SCALE` on. The similarity is the
    product of one vector for each node, of length `rank`, 1 to 64, so the kernels
    compute it. Further arguments are as of `PairScorer`.
    """

    def __init__(
        self, channels: int, rank: int = ModelConfig.rank, *, init_gain: float = 1.0
    ) -> None:
        super().__init__(channels, rank, init_gain=init_gain)
        self.rank = check_rank(rank)
        self.weight = nn.Parameter(torch.empty(channels, rank))
        self.log_scale = nn.Parameter(torch.empty(()))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generator)
        nn.init.xavier_normal_(self.weight, self.init_gain, generator)
        nn.init.constant_(self.log_scale, math.log(FIRST_SCALE))

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Give every node its vector, of length √scale; a node of zeros gets zeros."""
        vector = (
            F.normalize(product(h, self.weight), dim=1) * (self.log_scale / 2).exp()
        )
        return self.additive.forward(h, graph)._replace(query=vector, key=vector)


class BilinearScorer(PairScorer):
    """A product of projections: log α_ij = (Q h_i) · (K h_j) + s_i + t_j.

    The vectors have the length `rank`, 1 to 64; see `PairScorer` for the rest.
    """

    def __init__(
        self, channels: int, rank: int = ModelConfig.rank, *, init_gain: float = 1.0
    ) -> None:
        super().__init__(channels, rank, init_gain=init_gain)
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
        query, key = product(h, self.query_weight), product(h, self.key_weight)
        return self.additive.forward(h, graph)._replace(query=query, key=key)
