"""EdgeBudget: hold the share of open edges at a target, without tuning a penalty.

The constraint is: mean over edges of P(z_ij ≠ 0) = target. One scalar, the gate bias b,
moves every gate alike, so it carries the constraint, and the optimiser never sees it:

    share(b) = mean σ(log α_ij - τ),    b ← b - (share - target) / (∂share/∂b)

which is a Newton step per training step. All other parameters descend the Lagrangian
data loss + μ · share. At a constrained minimum its slope in b vanishes, which gives the
multiplier in closed form instead of as another thing to tune:

    μ = - (∂ data loss / ∂b) / (∂ share / ∂b)          (a running mean of it)

So a gate is opened only if that helps more than the gates it closes elsewhere.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from sgat.gates import HardConcrete

SMOOTHING = 0.9
"""Weight of the past in the running mean of the multiplier."""
LARGEST_STEP = 1.0
"""Largest Newton step of the bias; far from the target the slope says little."""


@dataclasses.dataclass
class EdgeBudget:
    """State of the constraint on the share of open edges.

    Attributes:
        keep: Share of the edges to keep in the end, in (0, 1].
        warmup: Number of epochs over which the target falls from 1 to `keep`.
        multiplier: μ, what one more unit of open share is worth to the data loss.
    """

    keep: float
    warmup: int = 0
    multiplier: float = 0.0

    def target(self, epoch: int) -> float:
        """Share of edges to be open in an epoch, counted from 0."""
        if epoch >= self.warmup:
            return self.keep
        return 1 - (1 - self.keep) * (epoch + 1) / (self.warmup + 1)

    def backward(self, data_loss: Tensor, share: Tensor, bias: Tensor) -> float:
        """Run the backward pass of the Lagrangian and take the bias out of it.

        Args:
            data_loss: Loss on the labels.
            share: Expected share of open edges, differentiable.
            bias: The gate bias; its gradient is used up and removed.

        Returns:
            ∂ share / ∂b, for `step`.
        """
        (slope,) = torch.autograd.grad(share, bias, retain_graph=True)
        (data_loss + self.multiplier * share).backward()
        assert bias.grad is not None
        share_slope = max(float(slope), 1e-6)
        data_slope = float(bias.grad) - self.multiplier * float(slope)
        bias.grad = None
        estimate = -data_slope / share_slope
        self.multiplier += (1 - SMOOTHING) * (estimate - self.multiplier)
        return share_slope

    def step(self, bias: Tensor, share: float, target: float, slope: float) -> None:
        """Move the bias towards the target share by one bounded Newton step."""
        move = (share - target) / slope
        with torch.no_grad():
            bias -= max(-LARGEST_STEP, min(LARGEST_STEP, move))


def bias_shift(log_alpha: Tensor, share: float, gates: HardConcrete) -> float:
    """What to add to every log α so that evaluation keeps exactly this share.

    The number of kept edges is rounded to the nearest; edges with equal log α (up to
    rounding) stay or go together, which is the only way to miss it.

    Args:
        log_alpha: Gate locations of all edges, [E].
        share: Share of the edges to keep, in [0, 1].
        gates: Where the threshold comes from.
    """
    num_edges = len(log_alpha)
    num_kept = round(share * num_edges)
    if num_edges == 0:
        return 0.0
    if num_kept == 0:
        return gates.threshold - float(log_alpha.max()) - 1.0
    if num_kept == num_edges:
        return max(0.0, gates.threshold - float(log_alpha.min()) + 1e-3)
    lowest_kept = log_alpha.kthvalue(num_edges - num_kept + 1).values
    highest_removed = log_alpha.kthvalue(num_edges - num_kept).values
    return gates.threshold - float(lowest_kept + highest_removed) / 2
