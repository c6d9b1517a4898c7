"""BinaryGates: gates that are 0 or 1 (eq. 11)."""

import dataclasses
from typing import ClassVar, get_args

import torch
from torch import Tensor

from sgat_lab.config import BinaryGradient, MethodConfig


@dataclasses.dataclass(frozen=True)
class BinaryGates:
    """Gates z in {0, 1} with P(z = 1) = π = σ(log α) (eq. 11).

        z = 1 if log u - log(1 - u) + log α > 0, else 0,   u ~ U(0, 1)

    z has no derivative by log α, so training needs an estimate of one. "gumbel" passes
    the gradient straight through: that of σ((log u - log(1 - u) + log α) / β) stands in
    for that of z, which is biased. "reinforce", "rebar" and "relax" leave z constant,
    and the trainer adds their estimate (see `sgat_lab.binary_gates.estimators`).
    """

    gradient: BinaryGradient
    temperature: float = MethodConfig.temperature  # β > 0; "relax" starts from it
    samples: int = MethodConfig.gate_samples  # draws per training step of "reinforce"

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
