"""AdditiveScorer: the paper's inductive gate."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sgat.features import product
from sgat.graph import Graph
from sgat.scorers.scores import Scores


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
