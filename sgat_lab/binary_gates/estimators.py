"""The gradient by binary gates: REINFORCE, REBAR, RELAX.

A gate z ~ Bernoulli(π), π = σ(log α), passes no gradient. An estimator draws a vector g
with E g = ∂ E f(z) / ∂ log α, [E], where f is the loss on the labels with gates z and
everything else, dropout included, held fixed. Training adds it to the gradient by
log α. docs/method.md derives the estimators.

Williams: Simple statistical gradient-following algorithms for connectionist
reinforcement learning (1992). Tucker, Mnih, Maddison, Lawson, Sohl-Dickstein: REBAR:
low-variance, unbiased gradient estimates for discrete latent variable models (2017).
Grathwohl, Choi, Wu, Roeder, Duvenaud: Backpropagation through the void: optimizing
control variates for black-box gradient estimation (2018).

Tested by tests/lab/binary_gates/test_estimators.py and test_relax.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.ops import OpenEdges, Seed, noise, reference
from sgat_lab.binary_gates.gates import BinaryGates

SMOOTHING = 0.95
"""Weight of the past in running means."""
STEPS = tuple(range(-4, 5))
"""Logits m at which the surrogate of RELAX has a step."""
LEARNING_RATE = 0.01
"""Step of what RELAX learns."""


class Draw(NamedTuple):
    """One training step, as far as an estimator needs to know."""

    log_alpha: Tensor  # without a gradient, [E]
    gate: Tensor  # z, drawn with the stream `noise.GATES`, [E]
    loss: Tensor  # f(z), without a gradient, a scalar
    uniform: Callable[[int], Tensor]  # numbers of a stream, [E]
    loss_at: Callable[[Tensor], Tensor]  # f of other gates in [0, 1], [E] to a scalar


class RunningMean:
    """A mean of past numbers that forgets; its state is one tensor, sum and weight."""

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


class Estimator:
    """An estimator's gates and running means; a subclass defines `estimate`."""

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        self.gates = gates
        self.mean_loss = RunningMean(device)

    @property
    def state(self) -> dict[str, Tensor]:
        """The tensors that a checkpoint must hold, by name; to be changed in place."""
        means = {k: v for k, v in vars(self).items() if isinstance(v, RunningMean)}
        return {name: mean.state for name, mean in means.items()}

    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        raise NotImplementedError

    def attach(
        self,
        loss: Tensor,
        opened: OpenEdges,
        seed: Seed,
        loss_with: Callable[[OpenEdges], Tensor],
    ) -> Tensor:
        """The loss with the edges `opened`, whose gradient by log α is an estimate.

        `seed` drew them; `loss_with` is the loss with other edges, all else equal.
        """
        graph, penalty = opened.graph, opened.penalty
        assert opened.log_alpha is not None
        fixed = opened.log_alpha.detach()

        def loss_at(gate: Tensor) -> Tensor:
            # A derivative by the gates needs the closed ones too.
            return loss_with(
                reference.with_gates(
                    graph, gate, penalty, with_closed=gate.requires_grad
                )
            )

        draw = Draw(
            log_alpha=fixed,
            gate=torch.zeros_like(fixed).index_fill(0, opened.edge, 1),
            loss=loss.detach(),
            uniform=lambda stream: noise.edge_uniform(seed, graph, stream).to(fixed),
            loss_at=loss_at,
        )
        gradient = self.estimate(draw).detach()
        return loss + ((opened.log_alpha - fixed) * gradient).sum()

    def logits(self, log_alpha: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """The logits y, of which the gates are the signs, and ỹ, drawn again, [E]."""
        again = draw.uniform(noise.RELAXED_GATES)
        return (
            self.gates.logit(log_alpha, draw.uniform(noise.GATES)),
            conditional_logit(log_alpha, draw.gate, again),
        )


class Reinforce(Estimator):
    """The score function with a baseline, unbiased.

        g = mean over draws k of (f(z_k) - f̄_k) (z_k - π)

    f̄_k is the mean loss of the other draws; of a single one, that of earlier steps.
    """

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


class Rebar(Estimator):
    """The score function with relaxed gates as its control variate, unbiased.

        plain   = (f(z) - f̄) (z - π)
        control = ∂f(σ(y/β)) - ∂f(σ(ỹ/β)) - (f(σ(ỹ/β)) - f̄) (z - π)     ∂ by log α
        g       = plain + η control,   η = - E[plain · control] / E[control · control]

    y is the logit of which z is the sign, ỹ another draw of it given z. f̄ and η are
    running means over earlier steps; η is 1 until there are any. Two more passes.
    """

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        super().__init__(gates, device)
        self.product = RunningMean(device)
        self.square = RunningMean(device)

    @property
    def scale(self) -> Tensor:
        """The factor η of the control variate, a scalar."""
        square = self.square.value(0.0)
        ratio = -self.product.value(0.0) / torch.where(square > 0, square, 1)
        return torch.where(square > 0, ratio, 1.0)

    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        log_alpha = draw.log_alpha.clone().requires_grad_()
        first, again = self.logits(log_alpha, draw)
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


class Relax(Estimator):
    """The score function with a learned control variate, unbiased.

        plain   = (f(z) - f̄) (z - π)
        relaxed = ∂f(σ(y/κ)) - ∂f(σ(ỹ/κ)) - (f(σ(ỹ/κ)) - f̄) (z - π)     ∂ by log α
        free    = ∂ν(y) - ∂ν(ỹ) - ν(ỹ) (z - π),   ν(y) = spread · mean_m v_m tanh(y - m)
        g       = plain + η relaxed + free

    y, ỹ and f̄ are those of `Rebar`, and `spread` is the running deviation of the loss
    from f̄. η, κ and v start as those of REBAR, 1, β and 0, and after each step move
    against the gradient of |g|². Two more passes, and second derivatives by the gates.
    """

    def __init__(self, gates: BinaryGates, device: torch.device | str) -> None:
        super().__init__(gates, device)
        self.mean_square = RunningMean(device)
        start = torch.tensor([1.0, gates.temperature, *[0.0] * len(STEPS)])
        start[1].log_()
        self.learned = start.double().to(device)
        self.slope = RunningMean(device, len(self.learned))
        self.slope_square = RunningMean(device, len(self.learned))

    @property
    def state(self) -> dict[str, Tensor]:
        """The tensors that a checkpoint must hold, by name; to be changed in place."""
        return {"learned": self.learned, **super().state}

    def estimate(self, draw: Draw) -> Tensor:
        """The vector g, [E]."""
        log_alpha = draw.log_alpha.clone().requires_grad_()
        learned = self.learned.clone().requires_grad_()
        scale, log_temperature, *height = learned.to(log_alpha)
        first, again = self.logits(log_alpha, draw)
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


def conditional_logit(log_alpha: Tensor, gate: Tensor, uniform: Tensor) -> Tensor:
    """Draw the logit y = log α + logit(u) again, given the sign that the gate is.

    ỹ = ± log(1 + v / (1 - v) · (1 + α^±1)),   v ~ U(0, 1), + for an open gate
    """
    sign = 2 * gate - 1
    return sign * F.softplus(uniform.logit() + F.softplus(sign * log_alpha))


def surrogate(logit: Tensor, height: list[Tensor]) -> Tensor:
    """Mean over the steps m of v_m tanh(y - m), of each edge by itself, [E]."""
    steps = [v * torch.tanh(logit - m) for v, m in zip(height, STEPS, strict=True)]
    return torch.stack(steps).mean(dim=0)


def _slope(value: Tensor, by: Tensor) -> Tensor:
    """The derivative of a scalar, which can be differentiated again."""
    (slope,) = torch.autograd.grad(value, by, create_graph=True)
    return slope


ESTIMATORS = {"reinforce": Reinforce, "rebar": Rebar, "relax": Relax}
"""Estimators of the gradients that have one, by name."""
