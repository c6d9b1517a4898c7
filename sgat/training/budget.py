"""EdgeBudget: hold the share of open edges at a target, without tuning a penalty.

In place of the price λ of eq. 6 there is a constraint, which is ours: the mean over
edges of P(z_ij ≠ 0) is the target. The gate bias b carries it by half a Newton step per
training step, and all other parameters descend data loss + μ · share:

    b ← b - ½ (share - target) / (∂share / ∂b)
    μ = - (∂ data loss / ∂b) / (∂share / ∂b)          (a running mean of it)

Section 6 of docs/method.md derives both.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sgat.gates import Gates
from sgat.ops.border import border

SMOOTHING = 0.9
"""Weight of the past in the running mean of the multiplier."""
DAMPING = 0.5
"""Share of a Newton step that is taken: dropout makes each step's share a noisy one."""
LARGEST_STEP = 1.0
"""Largest Newton step of the bias; far from the target the slope says little."""
MARGIN = 1e-3
"""How far the scores stay from the threshold when all edges, or none, are kept."""


class EdgeBudget:
    """State of the constraint on the share of open edges; nothing waits for the device.

    The target falls from 1 to `keep` over `warmup` epochs.
    """

    def __init__(
        self, keep: float, *, warmup: int = 0, device: torch.device | str = "cpu"
    ) -> None:
        self.keep = keep
        self.warmup = warmup
        self.multiplier = torch.zeros((), dtype=torch.float64, device=device)

    def target(self, epoch: int) -> float:
        """Share of edges to be open in an epoch, counted from 0."""
        if epoch >= self.warmup:
            return self.keep
        return 1 - (1 - self.keep) * (epoch + 1) / (self.warmup + 1)

    def backward(
        self,
        data_loss: Tensor,
        share: Tensor,
        bias: Tensor,
        summed: Callable[[Tensor], Sequence[Tensor]] = lambda slope: [slope],
    ) -> Tensor:
        """Run the backward pass, leave the bias out of it and return ∂share / ∂b.

        `summed` adds up that slope and the gradients of several processes.
        """
        (slope,) = torch.autograd.grad(share, bias, retain_graph=True)
        (data_loss + self.multiplier.to(share) * share).backward()
        (slope,) = summed(slope)
        assert bias.grad is not None
        share_slope = slope.double().clamp(min=1e-6)
        data_slope = bias.grad.double() - self.multiplier * slope.double()
        bias.grad.zero_()
        estimate = -data_slope / share_slope
        self.multiplier.add_((1 - SMOOTHING) * (estimate - self.multiplier))
        return share_slope

    @torch.no_grad()
    def step(
        self, bias: Tensor, share: Tensor, target: Tensor | float, slope: Tensor
    ) -> None:
        """Move the bias towards the target share by a damped, bounded Newton step."""
        move = DAMPING * (share.double() - target) / slope
        bias.sub_(move.clamp(-LARGEST_STEP, LARGEST_STEP).to(bias))


@torch.no_grad()
def bias_shift(log_alpha: Tensor, num_kept: int | Tensor, gates: Gates) -> Tensor:
    """The shift of every log α with which evaluation keeps exactly so many edges.

    Only edges whose log α are equal up to rounding can miss it: they stay or go
    together. On a GPU nothing waits for the device.
    """
    num_edges = len(log_alpha)
    if num_edges == 0:
        return log_alpha.new_zeros(())
    if isinstance(num_kept, int):
        num_kept = torch.full((), num_kept, device=log_alpha.device)
    num_removed = (num_edges - num_kept).clamp(0, num_edges - 1)
    wide = log_alpha.to(torch.promote_types(log_alpha.dtype, torch.float32))
    highest_removed, lowest_kept = border(wide, num_removed)
    keep_all = (gates.threshold - lowest_kept + MARGIN).clamp(min=0)
    between = gates.threshold - (lowest_kept + highest_removed) / 2
    shift = torch.where(num_kept >= num_edges, keep_all, between)
    return torch.where(num_kept <= 0, gates.threshold - lowest_kept - MARGIN, shift)
