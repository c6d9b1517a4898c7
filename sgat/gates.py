"""Gates: sample, value at evaluation, probability of being open."""

import dataclasses
import math
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from sgat.config import ModelConfig


class Gates(Protocol):
    """The distribution of a gate z in [0, 1] with location log α.

    `HardConcrete` is the one of the paper. Others run on the reference backend.
    """

    @property
    def temperature(self) -> float:
        """β > 0: the smaller, the closer σ(log α / β) is to 0 or 1."""

    @property
    def threshold(self) -> float:
        """The log α above which an evaluation gate is open."""

    @property
    def reaches_closed(self) -> bool:
        """Whether a loss on outputs has a gradient by closed gates."""

    def sample(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """Gates of training: z for the given uniform numbers in (0, 1), any shape."""

    def value(self, log_alpha: Tensor) -> Tensor:
        """Gates of evaluation."""

    def probability_open(self, log_alpha: Tensor) -> Tensor:
        """P(z ≠ 0); its sum over edges is the L0 penalty."""

    def is_kept(self, log_alpha: Tensor) -> Tensor:
        """Whether evaluation keeps the edge: log α > `threshold`."""


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


WEIGHING = HardConcrete(1.0, -1e-6, 1 + 1e-6)
"""Gates whose value at evaluation is σ(log α), up to rounding: none is closed."""


def chosen_gates(config: ModelConfig) -> HardConcrete:
    """The gates that a config describes."""
    if config.judged_edges == "weigh":
        return WEIGHING
    return HardConcrete(config.temperature, config.gamma, config.zeta)
