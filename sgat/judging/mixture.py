"""Mixture: how likely an edge is real, judged against pairs that no edge joins."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

RANGE = 8.0
"""Standard deviations at which features are cut off."""
RIDGE = 1e-3
"""Price of a squared coefficient."""
KNOWN_RIDGE = 1e-2
"""Price of a squared distance from a coefficient that should be 1."""
KNOWN_EDGES = 50.0
"""The same in edges: it must not yield to the prior of ρ where there are few."""
PRIOR = (2.0, 20.0)
"""Of the share of noise, as a beta distribution: without signs of noise, little."""
STEPS = 200
STARTS = (-0.5, 1.0)
"""Logits of the share of noise to start from; the second where classes are known: then
there can be two optima, of which one ignores them."""


class Mixture(NamedTuple):
    """Edges as a mixture of real ones and of noise, which looks like any random pair.

    observed density / density of random pairs = (1 - ρ) exp(η) + ρ,
    η = w · φ + c,   log-odds of being real = η + log (1 - ρ) / ρ
    """

    mean: Tensor  # of each feature over random pairs, [F]
    std: Tensor  # [F]
    coefficient: Tensor  # w, of features in standard deviations, [F]
    constant: Tensor  # c + log (1 - ρ) / ρ, a scalar
    noise_share: Tensor  # ρ, a scalar

    def log_odds(self, features: Tensor) -> Tensor:
        """Log-odds that edges with these features, [P, F], are real, [P]."""
        return _standard(features, self.mean, self.std) @ self.coefficient + (
            self.constant
        )


def _standard(features: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    return ((features - mean) / std).clamp(-RANGE, RANGE)


def open_mixture(width: int) -> Mixture:
    """The mixture of so many features by which every edge counts as real."""
    zero, one = torch.zeros(width), torch.ones(width)
    return Mixture(zero, one, zero, torch.tensor(RANGE), torch.tensor(0.0))


def fit_mixture(
    observed: Tensor, random: Tensor, *, known: int | None = None
) -> Mixture:
    """Fit w, c and ρ that separate edges, [P, F], from random pairs, [Q, F].

    The loss is logistic. Column `known` is a log-ratio of densities already, so that
    its coefficient should be 1. Without edges or pairs every edge counts as real.
    """
    device = observed.device
    observed, random = observed.detach().double().cpu(), random.detach().double().cpu()
    width = observed.shape[1]
    if not len(observed) or not len(random):
        return Mixture(*(part.to(device) for part in open_mixture(width)))
    mean = random.mean(dim=0)
    std = random.std(dim=0, correction=0)
    # A feature that does not vary says nothing.
    is_live = std > 1e-6
    std = torch.where(is_live, std, 1.0)
    seen, drawn = (_standard(part, mean, std) * is_live for part in (observed, random))
    ridge = torch.full((width,), RIDGE, dtype=torch.float64)
    goal = torch.zeros(width, dtype=torch.float64)
    starts: tuple[float, ...] = STARTS[:1]
    if known is not None and bool(is_live[known]):
        # In standard deviations a coefficient of 1 is one of std.
        goal[known] = std[known]
        price = KNOWN_RIDGE + KNOWN_EDGES / len(seen)
        ridge[known] = price / float(std[known]) ** 2
        starts = STARTS
    found = [_descent(seen, drawn, ridge, goal, start) for start in starts]
    _, weight, constant, logit = min(found, key=lambda each: each[0])
    parts = (mean, std, weight, constant - logit, torch.sigmoid(logit))
    return Mixture(*(part.float().to(device) for part in parts))


def _descent(
    seen: Tensor, drawn: Tensor, ridge: Tensor, goal: Tensor, start: float
) -> tuple[float, Tensor, Tensor, Tensor]:
    """The loss where it is least near a start, and w, c and the logit of ρ there.

    `ridge` is the price of a squared distance of w from `goal`, [F], where it starts.
    """
    weight = goal.clone().requires_grad_()
    constant = torch.zeros((), dtype=torch.float64, requires_grad=True)
    logit = torch.tensor(start, dtype=torch.float64, requires_grad=True)

    def log_ratio(features: Tensor) -> Tensor:
        tilt = features @ weight + constant
        return torch.logaddexp(F.logsigmoid(-logit) + tilt, F.logsigmoid(logit))

    def loss() -> Tensor:
        found = (
            F.softplus(-log_ratio(seen)).mean() + F.softplus(log_ratio(drawn)).mean()
        )
        prior = PRIOR[0] * F.logsigmoid(logit) + PRIOR[1] * F.logsigmoid(-logit)
        return found + (ridge * (weight - goal) ** 2).sum() - prior / len(seen)

    optimiser = torch.optim.LBFGS(
        [weight, constant, logit],
        max_iter=STEPS,
        tolerance_grad=1e-8,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()
        return value

    with torch.enable_grad():
        optimiser.step(closure)
    with torch.no_grad():
        return float(loss()), weight.detach(), constant.detach(), logit.detach()
