"""DiffusionReadout: class scores of a node by itself, spread along the open edges."""

import math

import torch
from torch import Tensor, nn

from sgat import ops
from sgat.config import ModelConfig
from sgat.ops import OpenEdges, Seed


class DiffusionReadout(nn.Module):
    """Class scores as the mean over short walks that may always start again.

        y⁰ = f,   y^k = (1 - r) Σ_j a_ij y^(k-1)_j + r f        k = 1 … steps

    with f the class scores of each node by itself, a_ij the attention of open edges and
    self-loops, and r the share `restart`. Scores from many steps away arrive, and the
    node's own scores keep their share. In training each step drops other coefficients,
    a share `attention_dropout`. (Gasteiger, Bojchevski, Günnemann: Predict then
    propagate, ICLR 2019.)
    """

    def __init__(
        self,
        channels: int,
        out_channels: int,
        steps: int = 10,
        *,
        restart: float = ModelConfig.restart,
        attention_dropout: float = 0.0,
        init_gain: float = 1.0,
    ) -> None:
        super().__init__()
        if steps < 0:
            raise ValueError(f"`steps` must be at least 0, got {steps}.")
        if not 0 <= restart <= 1:
            raise ValueError(f"`restart` must be in [0, 1], got {restart}.")
        self.steps = steps
        self.restart = restart
        self.attention_dropout = attention_dropout
        self.init_gain = init_gain
        self.weight = nn.Parameter(torch.empty(channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, as small as those of `nn.Linear`."""
        bound = self.init_gain / math.sqrt(self.weight.shape[0])
        nn.init.uniform_(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)

    @property
    def reach(self) -> int:
        """Number of steps that scores travel; 0 where every step starts again."""
        return self.steps if self.restart < 1 else 0

    def own_share(self, loop_attention: float) -> float:
        """Share of its own scores in what a node gets in a step: r + (1 - r) a_ii."""
        return self.restart + (1 - self.restart) * loop_attention

    def forward(
        self, own: Tensor, opened: OpenEdges, *, seed: Seed | None = None
    ) -> Tensor:
        """Class scores from those of each node by itself, f, [N, C]."""
        logits = own
        for step in range(self.steps):
            received = ops.aggregate(
                opened, logits, dropout=self.attention_dropout, seed=seed, layer=step
            )
            logits = torch.lerp(received, own, self.restart)
        return logits

    def extra_repr(self) -> str:
        """The sizes."""
        channels, classes = self.weight.shape
        return f"{channels}, {classes}, steps={self.steps}, restart={self.restart}"
