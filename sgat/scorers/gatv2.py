"""GATv2Scorer: gates from a small network over both ends."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.ops.dense_product import product
from sgat.scorers.pairs import PairScorer
from sgat.scorers.scores import Scores

SLOPE = 0.2
EDGES_AT_ONCE = 1 << 18
"""Edges whose hidden numbers are held in memory together."""


def hidden_scores(
    left: Tensor, right: Tensor, weight: Tensor, dst: Tensor, src: Tensor
) -> Tensor:
    """Scores a · LeakyReLU(left_i + right_j) of edges, [E]."""
    hidden = left.index_select(0, dst) + right.index_select(0, src)  # [E, W]
    return product(F.leaky_relu(hidden, SLOPE), weight[:, None])[:, 0]


class GATv2Scorer(PairScorer):
    """A hidden layer of each edge: log α_ij = a · LeakyReLU(L h_i + R h_j) + s_i + t_j.

    No product of two vectors can say this, so it costs a number for each edge. On a GPU
    its gradient adds in any order and does not repeat bit for bit. `width` is that of
    the hidden layer; further arguments are as of `PairScorer`.
    """

    def __init__(
        self, channels: int, width: int = ModelConfig.rank, *, init_gain: float = 1.0
    ) -> None:
        super().__init__(channels, width, init_gain=init_gain)
        if width < 1:
            raise ValueError(f"`width` must be at least 1, got {width}.")
        self.width = width
        self.left_weight = nn.Parameter(torch.empty(channels, width))
        self.right_weight = nn.Parameter(torch.empty(channels, width))
        self.weight = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights."""
        super().reset_parameters(generator)
        nn.init.xavier_normal_(self.left_weight, self.init_gain, generator)
        nn.init.xavier_normal_(self.right_weight, self.init_gain, generator)
        std = self.init_gain * (2 / (self.width + 1)) ** 0.5
        nn.init.normal_(self.weight, std=std, generator=generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every edge."""
        left, right = product(h, self.left_weight), product(h, self.right_weight)
        given = left, right, self.weight
        ends = graph.dst.split(EDGES_AT_ONCE), graph.src.split(EDGES_AT_ONCE)
        # The gradient computes the hidden numbers again instead of keeping them.
        options: Any = {"use_reentrant": False, "preserve_rng_state": False}
        parts = [
            checkpoint(hidden_scores, *given, *pair, **options)
            for pair in zip(*ends, strict=True)
        ]
        return self.additive.forward(h, graph)._replace(edge=torch.cat(parts))
