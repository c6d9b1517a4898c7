"""GATv2Scorer: gates from a small network over both ends."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.scorers.pairs import PairScorer
from sgat.scorers.scores import Scores

SLOPE = 0.2
EDGES_AT_ONCE = 1 << 18
"""Edges whose hidden numbers are held in memory together."""


@torch.library.custom_op("sgat::hidden_scores", mutates_args=())
def hidden_scores(
    left: Tensor, right: Tensor, weight: Tensor, dst: Tensor, src: Tensor
) -> Tensor:
    """Scores a · LeakyReLU(left_i + right_j) of all edges, a part of them at a time.

    The gradient computes the hidden numbers again instead of keeping them, [E, W].
    """
    score = left.new_empty(len(dst))
    for first in range(0, len(dst), EDGES_AT_ONCE):
        part = slice(first, first + EDGES_AT_ONCE)
        hidden = left[dst[part]] + right[src[part]]  # [part, W]
        score[part] = F.leaky_relu(hidden, SLOPE) @ weight
    return score


@hidden_scores.register_fake
def _(left: Tensor, right: Tensor, weight: Tensor, dst: Tensor, src: Tensor) -> Tensor:
    return left.new_empty(dst.shape[0])


@torch.library.custom_op("sgat::hidden_scores_bwd", mutates_args=())
def hidden_scores_bwd(
    grad: Tensor, left: Tensor, right: Tensor, weight: Tensor, dst: Tensor, src: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `hidden_scores` by its first three arguments."""
    grad_left, grad_right = torch.zeros_like(left), torch.zeros_like(right)
    grad_weight = torch.zeros_like(weight)
    for first in range(0, len(dst), EDGES_AT_ONCE):
        part = slice(first, first + EDGES_AT_ONCE)
        i, j, upstream = dst[part], src[part], grad[part]
        hidden = left[i] + right[j]
        grad_weight += upstream @ F.leaky_relu(hidden, SLOPE)
        change = upstream[:, None] * weight
        change = torch.where(hidden > 0, change, SLOPE * change)
        grad_left.index_add_(0, i, change)
        grad_right.index_add_(0, j, change)
    return grad_left, grad_right, grad_weight


@hidden_scores_bwd.register_fake
def _(
    grad: Tensor, left: Tensor, right: Tensor, weight: Tensor, dst: Tensor, src: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(left), torch.empty_like(right), torch.empty_like(weight)


def _save(ctx: Any, inputs: Any, output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: Tensor) -> Any:
    return *hidden_scores_bwd(grad.contiguous(), *ctx.saved_tensors), None, None


hidden_scores.register_autograd(_backward, setup_context=_save)


class GATv2Scorer(PairScorer):
    """A hidden layer of each edge: log α_ij = a · LeakyReLU(L h_i + R h_j) + s_i + t_j.

    No product of two vectors can say this, so it costs a number for each edge. On a GPU
    its gradient adds in any order and does not repeat bit for bit. `width` is that of
    the hidden layer; further arguments are as of `PairScorer`.
    """

    def __init__(
        self,
        channels: int,
        width: int = ModelConfig.rank,
        *,
        additive: bool = True,
        init_gain: float = 1.0,
    ) -> None:
        super().__init__(channels, width, additive=additive, init_gain=init_gain)
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
        left, right = h @ self.left_weight, h @ self.right_weight
        edge: Any = hidden_scores(left, right, self.weight, graph.dst, graph.src)
        return self.node_scores(h, graph)._replace(edge=edge)
