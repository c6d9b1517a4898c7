"""RELAX: an estimate of the gradient by binary gates with a learned control variate.

Grathwohl, Choi, Wu, Roeder, Duvenaud: Backpropagation through the void: optimizing
control variates for black-box gradient estimation (2018).
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.gates import BinaryGates
from sgat.ops import noise
from sgat.training.gate_estimators import Draw, RunningMean, conditional_logit

STEPS = tuple(range(-4, 5))
"""Logits m at which the surrogate has a step."""
LEARNING_RATE = 0.01


class Relax:
    """The score function with a learned control variate, unbiased.

        plain   = (f(z) - f̄) (z - π)
        relaxed = ∂f(σ(y/κ)) - ∂f(σ(ỹ/κ)) - (f(σ(ỹ/κ)) - f̄) (z - π)     ∂ by log α
        free    = ∂ν(y) - ∂ν(ỹ) - ν(ỹ) (z - π),   ν(y) = spread · mean_m v_m tanh(y - m)
        g       = plain + η relaxed + free

    y, ỹ and f̄ are those of `Rebar`, and `spread` is the running deviation of the loss
    from f̄. The means of `relaxed` and `free` are 0 whatever η, κ and v are. These start
    as those of REBAR, η = 1, κ = β and v = 0, and after each step move against the
    gradient of |g|², whose mean is the variance of g plus a constant. Two more passes,
    and second derivatives by the gates.

    Args:
        gates: The distribution; `gates.temperature` is β.
        device: Where the state lives.

    Attributes:
        learned: η, log κ and v, one number for each of `STEPS`.
    """

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        self.gates = gates
        self.mean_loss = RunningMean(device)
        self.mean_square = RunningMean(device)
        start = torch.tensor([1.0, gates.temperature, *[0.0] * len(STEPS)])
        start[1].log_()
        self.learned = start.double().to(device)
        self.slope = RunningMean(device, len(self.learned))
        self.slope_square = RunningMean(device, len(self.learned))

    @property
    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold, by name; to be changed in place."""
        means = ("mean_loss", "mean_square", "slope", "slope_square")
        found = {name: getattr(self, name).state for name in means}
        return {"learned": self.learned, **found}

    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        log_alpha = draw.log_alpha.clone().requires_grad_()
        learned = self.learned.clone().requires_grad_()
        scale, log_temperature, *height = learned.to(log_alpha)
        first = self.gates.logit(log_alpha, draw.uniform(noise.GATES))
        again = conditional_logit(
            log_alpha, draw.gate, draw.uniform(noise.RELAXED_GATES)
        )
        temperature = log_temperature.exp()
        loss_again = draw.loss_at(torch.sigmoid(again / temperature))
        loss_first = draw.loss_at(torch.sigmoid(first / temperature))
        spread = self.mean_square.value(0.0).sqrt().to(log_alpha)
        own_again = spread * surrogate(again, height)
        own_first = spread * surrogate(first, height)

        baseline = self.mean_loss.value(draw.loss).to(draw.loss)
        score = draw.gate - self.gates.probability_open(draw.log_alpha)
        away = draw.loss - baseline
        relaxed = _slope(loss_first - loss_again, log_alpha)
        relaxed = relaxed - (loss_again - baseline) * score
        free = _slope((own_first - own_again).sum(), log_alpha) - own_again * score
        estimate: Tensor = away * score + scale * relaxed + free
        (slope,) = torch.autograd.grad(estimate.square().sum(), learned)
        self._learn(slope, away)
        self.mean_loss.add(draw.loss)
        return estimate.detach()

    @torch.no_grad()
    def _learn(self, slope: Tensor, away: Tensor) -> None:
        """Move what is learned by a step of Adam."""
        # The first step has no baseline, so it says nothing about the variance.
        has_baseline = (self.mean_loss.state[1] > 0).double()
        self.mean_square.add(away.square(), has_baseline)
        self.slope.add(slope, has_baseline)
        self.slope_square.add(slope.square(), has_baseline)
        size = self.slope_square.value(0.0).sqrt()
        step = self.slope.value(0.0) / torch.where(size > 0, size, 1)
        self.learned.sub_(LEARNING_RATE * step)


def surrogate(logit: Tensor, height: list[Tensor]) -> Tensor:
    """Mean over the steps m of v_m tanh(y - m), of each edge by itself, [E]."""
    steps = [v * torch.tanh(logit - m) for v, m in zip(height, STEPS, strict=True)]
    return torch.stack(steps).mean(dim=0)


def _slope(value: Tensor, by: Tensor) -> Tensor:
    """The derivative of a scalar, which can be differentiated again."""
    (slope,) = torch.autograd.grad(value, by, create_graph=True)
    return slope
