"""Hard-concrete gates: sample, value at evaluation, expected number of open gates."""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor


@dataclasses.dataclass(frozen=True)
class HardConcrete:
    """The hard-concrete distribution of a gate z in [0, 1] with location log α.

        s = σ((log u - log(1 - u) + log α) / β),   u ~ U(0, 1)
        z = clamp(s (ζ - γ) + γ, 0, 1)

    The stretch beyond [0, 1] puts probability on z = 0 and z = 1 exactly.

    Attributes:
        temperature: β > 0; smaller is closer to a coin flip.
        gamma: γ < 0, the lower end of the stretched interval.
        zeta: ζ > 1, the upper end of the stretched interval.
    """

    temperature: float = 2 / 3
    gamma: float = -0.1
    zeta: float = 1.1

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
        """The log α above which an evaluation gate is open: β log(-γ / ζ)."""
        return self.temperature * math.log(-self.gamma / self.zeta)

    def sample(self, log_alpha: Tensor, uniform: Tensor) -> Tensor:
        """Gates of training: z for the given uniform numbers in (0, 1), any shape."""
        logit = uniform.log() - (1 - uniform).log() + log_alpha
        return self._stretch(torch.sigmoid(logit / self.temperature))

    def value(self, log_alpha: Tensor) -> Tensor:
        """Gates of evaluation: the median of z, open iff log α > `threshold`."""
        return self._stretch(torch.sigmoid(log_alpha / self.temperature))

    def probability_open(self, log_alpha: Tensor) -> Tensor:
        """P(z ≠ 0) = σ(log α - β log(-γ / ζ)); its sum over edges is the L0 penalty."""
        return torch.sigmoid(log_alpha - self.threshold)

    def is_kept(self, log_alpha: Tensor) -> Tensor:
        """Whether evaluation keeps the edge: log α > `threshold`, P(z ≠ 0) > ½."""
        return log_alpha > self.threshold

    def _stretch(self, concrete: Tensor) -> Tensor:
        return (concrete * (self.zeta - self.gamma) + self.gamma).clamp(0, 1)
