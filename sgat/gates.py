"""Gates: sample, value at evaluation, probability of being open."""

import dataclasses
import math
from typing import ClassVar, get_args

import torch
from torch import Tensor

from sgat.config import ModelConfig
from sgat.config.sections import BinaryGradient


@dataclasses.dataclass(frozen=True)
class HardConcrete:
    """The hard-concrete distribution of a gate z in [0, 1] with location log α.

        s = σ((log u - log(1 - u) + log α) / β),   u ~ U(0, 1)
        z = clamp(s (ζ - γ) + γ, 0, 1)                  f and g below eq. 12

    The stretch beyond [0, 1] puts probability on z = 0 and z = 1 exactly.

    Attributes:
        temperature: β > 0; smaller is closer to a coin flip.
        gamma: γ < 0, the lower end of the stretched interval.
        zeta: ζ > 1, the upper end of the stretched interval.
    """

    temperature: float = ModelConfig.temperature
    gamma: float = ModelConfig.gamma
    zeta: float = ModelConfig.zeta

    # The clamp is flat at 0: no gradient of a loss on outputs passes a closed gate.
    reaches_closed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse values for which a gate could never be exactly 0 or 1."""
        if not self.temperature > 0:
            raise ValueError(f"`temperature` must be positive, got {self.temperature}.")
        if not self.gamma < 0:
            raise ValueError(
                f"`gamma` must be negative, got {self.gamma};"
                " at 0 no gate would ever close."
            )
        if not self.zeta > 1:
            raise ValueError(f"`zeta` must be greater than 1, got {self.zeta}.")

    @property
    def threshold(self) -> float:
        """The log α above which an evaluation gate is open: β log(-γ / ζ) of eq. 12."""
        return self.temperature * math.log(-self.gamma / self.zeta)

    def sample(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """Gates of training: z for the given uniform numbers in (0, 1), any shape."""
        logit = uniform.log() - (1 - uniform).log() + log_alpha
        return self._stretch(torch.sigmoid(logit / self.temperature))

    def value(self, log_alpha: Tensor) -> Tensor:
        """Gates of evaluation (eq. 13), the medians: open iff log α > `threshold`."""
        return self._stretch(torch.sigmoid(log_alpha / self.temperature))

    def probability_open(self, log_alpha: Tensor) -> Tensor:
        """P(z ≠ 0) = σ(log α - β log(-γ / ζ)); its sum is the L0 penalty of eq. 12."""
        return torch.sigmoid(log_alpha - self.threshold)

    def is_kept(self, log_alpha: Tensor) -> Tensor:
        """Whether evaluation keeps the edge: log α > `threshold`, P(z ≠ 0) > ½."""
        return log_alpha > self.threshold

    def _stretch(self, concrete: Tensor) -> Tensor:
        return (concrete * (self.zeta - self.gamma) + self.gamma).clamp(0, 1)


@dataclasses.dataclass(frozen=True)
class BinaryGates:
    """Gates z in {0, 1} with P(z = 1) = π = σ(log α) (eq. 11).

        z = 1 if log u - log(1 - u) + log α > 0, else 0,   u ~ U(0, 1)

    z has no derivative by log α, so training needs an estimate of one. "gumbel" passes
    the gradient straight through: that of σ((log u - log(1 - u) + log α) / β) stands in
    for that of z, which is biased. "reinforce", "rebar" and "relax" leave z constant,
    and the trainer adds their estimate (see `sgat.training.gate_gradient`).
    """

    gradient: BinaryGradient
    temperature: float = ModelConfig.temperature  # β > 0; "relax" starts from it
    samples: int = ModelConfig.gate_samples  # draws per training step of "reinforce"

    threshold: ClassVar[float] = 0.0
    """The log α above which an evaluation gate is open."""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn or estimated."""
        if self.gradient not in get_args(BinaryGradient):
            raise ValueError(
                "`gradient` must be reinforce, gumbel, rebar or relax, got"
                f" {self.gradient!r}."
            )
        if not self.temperature > 0:
            raise ValueError(f"`temperature` must be positive, got {self.temperature}.")
        if self.samples < 1:
            raise ValueError(f"`samples` must be at least 1, got {self.samples}.")

    @property
    def reaches_closed(self) -> bool:
        """Whether a loss on outputs has a gradient by closed gates."""
        return self.gradient == "gumbel"

    def sample(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """Gates of training: z for the given uniform numbers in (0, 1), any shape."""
        logit = self.logit(log_alpha, uniform)
        gate = (logit > 0).to(log_alpha)
        if self.gradient != "gumbel":
            return gate
        relaxed = self.relax(logit)
        return gate + (relaxed - relaxed.detach())

    def logit(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """The logistic number log u - log(1 - u) + log α; the gate is its sign."""
        return uniform.log() - (1 - uniform).log() + log_alpha

    def relax(self, logit: Tensor) -> Tensor:
        """The relaxed gate σ(logit / β), in (0, 1)."""
        return torch.sigmoid(logit / self.temperature)

    def value(self, log_alpha: Tensor) -> Tensor:
        """Gates of evaluation: the likelier value, 1 iff π > ½."""
        return self.is_kept(log_alpha).to(log_alpha)

    def probability_open(self, log_alpha: Tensor) -> Tensor:
        """P(z = 1) = σ(log α); its sum over edges is the L0 penalty of eq. 11."""
        return torch.sigmoid(log_alpha)

    def is_kept(self, log_alpha: Tensor) -> Tensor:
        """Whether evaluation keeps the edge: log α > 0, π > ½."""
        return log_alpha > self.threshold


Gates = HardConcrete | BinaryGates
"""The distribution of a gate with location log α."""


def chosen_gates(config: ModelConfig) -> Gates:
    """The gates that a config describes."""
    if config.gate_gradient == "hard_concrete":
        return HardConcrete(config.temperature, config.gamma, config.zeta)
    return BinaryGates(config.gate_gradient, config.temperature, config.gate_samples)
