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

    h is the projection by the first head of the first layer, W_0^(0) in the paper.

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


class PairScorer(nn.Module):
    """The part that scorers of pairs share: additive scores beside their own.

    Args:
        channels: Width D of the projected features.
        additive: Add the scores of the paper's gate, so that all edges of a node can
            open or close together.
        init_gain: Scale of the initial weights.
    """

    def __init__(self, channels: int, *, additive: bool, init_gain: float) -> None:
        super().__init__()
        self.channels = channels
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
