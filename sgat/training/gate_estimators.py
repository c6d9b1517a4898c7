"""Estimates of the gradient by binary gates: REINFORCE and REBAR.

A gate z ~ Bernoulli(π), π = σ(log α), is a step in log α and passes no gradient.
Training descends the expected loss E f(z), the first term of eq. 11, where f is the
loss on the labels with gates z and everything else, dropout included, held fixed. An
estimator draws a vector g, one number per edge, with

    E g = ∂ E f(z) / ∂ log α

docs/method.md derives them. RELAX has a file of its own, `relax.py`.

Williams: Simple statistical gradient-following algorithms for connectionist
reinforcement learning (1992). Tucker, Mnih, Maddison, Lawson, Sohl-Dickstein: REBAR:
low-variance, unbiased gradient estimates for discrete latent variable models (2017).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.gates import BinaryGates
from sgat.ops import noise

SMOOTHING = 0.95
"""Weight of the past in running means."""


class Draw(NamedTuple):
    """One training step, as far as an estimator needs to know.

    Attributes:
        log_alpha: Gate locations, without a gradient, [E].
        gate: The gates z that were drawn with the stream `noise.GATES`, [E].
        loss: f(z), without a gradient, a scalar.
        uniform: The uniform numbers of a stream, [E].
        loss_at: f of other gates in [0, 1], [E] to a scalar.
    """

    log_alpha: Tensor
    gate: Tensor
    loss: Tensor
    uniform: Callable[[int], Tensor]
    loss_at: Callable[[Tensor], Tensor]


class RunningMean:
    """A mean of past numbers that forgets; its state is one tensor, sum and weight.

    Args:
        device: Where the state lives.
        shape: Of what is averaged, number by number; a scalar by default.
    """

    def __init__(self, device: torch.device | str, *shape: int) -> None:
        self.state = torch.zeros(2, *shape, dtype=torch.float64, device=device)

    def value(self, default: Tensor | float) -> Tensor:
        """The mean, or `default` before the first number."""
        total, weight = self.state
        mean = total / torch.where(weight > 0, weight, 1)
        return torch.where(weight > 0, mean, default)

    def add(self, number: Tensor, weight: Tensor | float = 1.0) -> None:
        """Take in a number, without waiting for the device."""
        one = torch.ones_like(self.state[0])
        both = torch.stack([number.double() * weight, one * weight])
        self.state.mul_(SMOOTHING).add_(both, alpha=1 - SMOOTHING)


class Reinforce:
    """The score function with a baseline, unbiased.

        g = mean over draws k of (f(z_k) - f̄_k) (z_k - π)

    Of several draws, f̄_k is the mean loss of the others; each costs a forward pass. For
    a single one it is the running mean of the loss of earlier steps, and the first
    step, which has none, estimates 0.

    Args:
        gates: The distribution; `gates.samples` is the number of draws.
        device: Where the running mean lives.
    """

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        self.gates = gates
        self.mean_loss = RunningMean(device)

    @property
    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold, by name; to be changed in place."""
        return {"mean_loss": self.mean_loss.state}

    @torch.no_grad()
    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        probability = self.gates.probability_open(draw.log_alpha)
        count = self.gates.samples
        if count == 1:
            advantage = draw.loss - self.mean_loss.value(draw.loss).to(draw.loss)
            self.mean_loss.add(draw.loss)
            return advantage * (draw.gate - probability)
        streams = range(noise.GATES + 1, noise.GATES + count)
        others = [
            self.gates.sample(draw.log_alpha, draw.uniform(stream))
            for stream in streams
        ]
        gate = torch.stack([draw.gate, *others])  # [count, E]
        loss = torch.stack([draw.loss, *map(draw.loss_at, others)])  # [count]
        # Each loss minus the mean of the others.
        advantage = (loss - loss.mean()) * count / (count - 1)
        return (advantage[:, None] * (gate - probability)).mean(dim=0)


class Rebar:
    """The score function with relaxed gates as its control variate, unbiased.

        plain   = (f(z) - f̄) (z - π)
        control = ∂f(σ(y/β)) - ∂f(σ(ỹ/β)) - (f(σ(ỹ/β)) - f̄) (z - π)     ∂ by log α
        g       = plain + η control

    y is the logit of which z is the sign, ỹ another draw of it given z. The mean of
    `control` is 0. f̄ is the running mean of the loss, and η the factor that made the
    variance of earlier steps smallest: η = - E[plain · control] / E[control · control]
    by running means; 1 until there are any. Two more passes.

    Args:
        gates: The distribution; `gates.temperature` is β.
        device: Where the running means live.
    """

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        self.gates = gates
        self.mean_loss = RunningMean(device)
        self.product = RunningMean(device)
        self.square = RunningMean(device)

    @property
    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold, by name; to be changed in place."""
        means = ("mean_loss", "product", "square")
        return {name: getattr(self, name).state for name in means}

    @property
    def scale(self) -> Tensor:
        """The factor η of the control variate, a scalar."""
        square = self.square.value(0.0)
        ratio = -self.product.value(0.0) / torch.where(square > 0, square, 1)
        return torch.where(square > 0, ratio, 1.0)

    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        log_alpha = draw.log_alpha.clone().requires_grad_()
        first = self.gates.logit(log_alpha, draw.uniform(noise.GATES))
        again = conditional_logit(
            log_alpha, draw.gate, draw.uniform(noise.RELAXED_GATES)
        )
        loss_again = draw.loss_at(self.gates.relax(again))
        (slope_again,) = torch.autograd.grad(loss_again, log_alpha)
        loss_first = draw.loss_at(self.gates.relax(first))
        (slope_first,) = torch.autograd.grad(loss_first, log_alpha)
        with torch.no_grad():
            baseline = self.mean_loss.value(draw.loss).to(draw.loss)
            score = draw.gate - self.gates.probability_open(log_alpha)
            plain = (draw.loss - baseline) * score
            control = slope_first - slope_again - (loss_again - baseline) * score
            estimate = plain + self.scale.to(plain) * control
            # The first step has no baseline, so it says nothing about the best η.
            has_baseline = (self.mean_loss.state[1] > 0).double()
            self.product.add((plain * control).sum(), has_baseline)
            self.square.add((control * control).sum(), has_baseline)
            self.mean_loss.add(draw.loss)
        return estimate


def conditional_logit(log_alpha: Tensor, gate: Tensor, uniform: Tensor) -> Tensor:
    """Draw the logit y = log α + logit(u) again, given the sign that the gate is.

        ỹ = ± log(1 + v / (1 - v) · (1 + α^±1)),   v ~ U(0, 1), + for an open gate

    Args:
        log_alpha: Gate locations, [E].
        gate: Gates, 0 or 1, [E].
        uniform: v, [E].

    Returns:
        ỹ, positive where the gate is open and negative elsewhere, [E].
    """
    sign = 2 * gate - 1
    return sign * F.softplus(uniform.logit() + F.softplus(sign * log_alpha))
