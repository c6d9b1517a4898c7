"""BeliefReadout: keep what a node is apart from what its neighbours believe."""

import math

import torch
from torch import Tensor, nn

from sgat import ops
from sgat.ops import OpenEdges, Seed
from sgat.ops.dense_product import product


class BeliefReadout(nn.Module):
    """Class scores of a node by itself, corrected by the beliefs around it.

        p = softmax(f) - 1 / C                   belief of each node by itself
        n⁰ = p,   n^h_i = Σ_j A_ij z_ij n^(h-1)_j / √Σ_j A_ij²        h = 1 … steps
        logits = f + Σ_h n^h H_h                 H_h [C, C], 0 at the start

    The root runs over all edges into i, closed ones too, so that the scale of weights
    does not matter; it is that of their number where all weigh 1. H_h learns which
    classes are found h steps from which, alike or not. As all H_h start at 0, training
    starts at a classifier that uses no edges, and it is one where all gates close: a
    node without neighbours loses nothing.
    """

    def __init__(
        self, channels: int, out_channels: int, steps: int, *, init_gain: float = 1.0
    ) -> None:
        super().__init__()
        self.init_gain = init_gain
        self.weight = nn.Parameter(torch.empty(channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.compatible = nn.Parameter(torch.empty(steps, out_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, at first as small as those of `nn.Linear`; H_h become 0."""
        bound = self.init_gain / math.sqrt(self.weight.shape[0])
        nn.init.uniform_(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)
        nn.init.zeros_(self.compatible)

    @property
    def reach(self) -> int:
        """Number of steps that beliefs travel."""
        return len(self.compatible)

    def forward(
        self, own: Tensor, opened: OpenEdges, *, seed: Seed | None = None
    ) -> Tensor:
        """Class scores from those of each node by itself, f, [N, C]."""
        graph = opened.graph
        loop = graph.loop_weights.to(own)[:, None]
        squares = graph.square_sums
        root = torch.where(squares > 0, squares, 1).sqrt().to(own)[:, None]
        received = own.softmax(dim=1) - 1 / own.shape[1]
        logits = own
        for compatible in self.compatible:
            # A mean over the open edges and the loop, made a sum without the loop.
            mean = ops.aggregate(opened, received)
            received = (mean * opened.row_sum.to(own)[:, None] - loop * received) / root
            logits = logits + product(received, compatible)
        return logits

    def extra_repr(self) -> str:
        """The sizes."""
        channels, classes = self.weight.shape
        return f"{channels}, {classes}, steps={self.reach}"
