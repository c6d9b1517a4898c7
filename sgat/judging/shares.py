"""Shares: how many edges are wrong, and which, from their normal scores.

With t the score of an edge, a wrong edge has a standard normal t, with density f. Where
t is low, real edges are rare, and the rarer the lower:

    density(t) = f(t) (ρ + (1 - ρ) κ e^t)      for t < 0

So the share ρ of wrong edges is what is left of the edges at the low end. It is too
cautious rather than too bold. Where κ is large, real edges look like pairs of nodes
with such degrees, and nothing is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

Array = np.ndarray[Any, Any]

LOW = 0.4
"""Share of the pairs of a source that count as unlike."""
TAIL = 0.03
"""How many real edges are so unlike, over the pairs that are, at most."""
EDGES = 30_000
"""Edges that shares are fitted to."""
STEPS = 60
KNOTS = (-1.0, 0.0, 1.0, 2.0, 3.0)
GRID = torch.linspace(-4.5, 6, 211, dtype=torch.float64)
LOWEST, HIGHEST = -4.5, 6.0
PRIOR_EDGES = 20.0
"""As if so many more edges were real: few edges prove little."""
USEFUL_TAIL, USELESS_TAIL = 0.25, 0.5
"""κ up to which the share by degree counts in full, and from which it does not."""
LEAST_SHARE = 0.003
"""Share that orders the edges of a graph in which nothing seems wrong."""
SUSPECT_TAIL = 0.5
"""How fast κ grows with the suspicion against the ends of an edge."""


def descend(parameters: list[Tensor], loss: Callable[[], Tensor]) -> None:
    """Minimise a loss, in place; SciPy starts faster than torch's own optimisers."""

    def value_and_slope(flat: Array) -> tuple[float, Array]:
        vector_to_parameters(torch.from_numpy(flat), parameters)
        with torch.enable_grad():
            value = loss()
            slopes = torch.autograd.grad(value, parameters)
        return float(value.detach()), parameters_to_vector(slopes).numpy()

    start = parameters_to_vector(parameters).detach().numpy().copy()
    options = {"maxiter": STEPS}
    found = minimize(
        value_and_slope, start, jac=True, method="L-BFGS-B", options=options
    )
    vector_to_parameters(torch.from_numpy(found.x), parameters)


def suspicion(ends: Array, num_nodes: int, wrong: Array) -> Array:
    """How suspect the other edges at both ends of an edge are, in log-odds, [E, 2].

    The sum and the distance of both ends; 0 is as suspect as the average.
    """
    prior, mean = 5.0, float(wrong.mean())
    degree = np.bincount(ends.ravel(), minlength=num_nodes)
    both = np.concatenate([wrong, wrong])
    total = np.bincount(ends.ravel(), weights=both, minlength=num_nodes)
    sides = []
    for end in ends:
        bad = total[end] - wrong
        good = degree[end] - 1 - bad
        odds = (bad + prior * mean + 1e-3) / (good + prior * (1 - mean) + 1e-3)
        sides.append(np.log(odds) - np.log((mean + 1e-4) / (1 - mean + 1e-4)))
    return np.stack([sides[0] + sides[1], np.abs(sides[0] - sides[1])], axis=1)


def fit_prior(score: Array, traits: Array, ridge: float = 3.0) -> Array:
    """Log-odds that an edge is wrong by its traits [E, G] alone, [E].

    Unlike edges (score below the quantile LOW of pairs) are nearly all wrong, and of
    the wrong ones a share of LOW is unlike: a logistic regression of being unlike.
    """
    sample = slice(None, None, max(len(score) // EDGES, 1))
    z = torch.from_numpy(np.ascontiguousarray(traits[sample]))
    is_low = torch.from_numpy(ndtr(score[sample]) < LOW).double()
    weight = torch.zeros(z.shape[1] + 1, dtype=torch.float64)
    weight[0] = -2
    weight.requires_grad_()

    def loss() -> Tensor:
        logits = weight[0] + z @ weight[1:]
        share = LOW * (TAIL + (1 - TAIL) * torch.sigmoid(logits))
        fit = is_low * share.log() + (1 - is_low) * (-share).log1p()
        steady = 2 * (F.logsigmoid(weight[0]) + F.logsigmoid(-weight[0]))
        return -fit.sum() - steady + ridge * (weight[1:] ** 2).sum()

    descend([weight], loss)
    found = weight.detach().numpy()
    odds: Array = found[0] + traits @ found[1:]
    return odds


def likelihood(score: Array, prior: Array) -> Array:
    """Log of how much likelier real edges have a score than wrong ones, [E].

    A line with a bend at each knot that rises with the score.
    """
    lines = 96
    edges = np.linspace(LOWEST, HIGHEST, 106), np.linspace(-12, 12, lines + 1)
    clipped = score.clip(LOWEST, HIGHEST), prior.clip(-12, 12)
    count = torch.from_numpy(np.histogram2d(*clipped, bins=edges)[0])
    middle = torch.from_numpy((edges[0][1:] + edges[0][:-1]) / 2)
    odds = torch.from_numpy((edges[1][1:] + edges[1][:-1]) / 2)
    slope = torch.full((len(KNOTS) + 1,), 0.5, dtype=torch.float64, requires_grad=True)

    def loss() -> Tensor:
        rise = F.softplus(slope)
        line = (_bent(middle, rise) - _total(rise))[:, None]
        each = torch.logaddexp(F.logsigmoid(-odds) + line, F.logsigmoid(odds))
        return -(count * each).sum() + (rise.diff() ** 2).sum()

    descend([slope], loss)
    with torch.no_grad():
        rise = F.softplus(slope)
        found: Array = (
            _bent(torch.from_numpy(clipped[0]), rise) - _total(rise)
        ).numpy()
    return found


def _bent(score: Tensor, rise: Tensor) -> Tensor:
    line = rise[0] * score.clamp(max=KNOTS[0])
    bounds = (*KNOTS, HIGHEST)
    for number, (low, high) in enumerate(itertools.pairwise(bounds)):
        line = line + rise[number + 1] * (score.clamp(low, high) - low)
    return line


def _total(rise: Tensor) -> Tensor:
    """Log of the mean of e^line over wrong edges."""
    normal = torch.log_softmax(-(GRID**2) / 2, 0)
    return torch.logsumexp(normal + _bent(GRID, rise), 0)


def low_end(score: Array, rounds: int = 300) -> tuple[float, float]:
    """The share ρ of wrong edges and κ, by expectation and maximisation."""
    bounds = np.linspace(-4, 0, 41)
    count = np.histogram(score.clip(min=-3.999), bounds)[0].astype(float)
    wrong = np.diff(ndtr(bounds))
    wrong[0] += ndtr(-4)
    real = wrong * np.exp((bounds[1:] + bounds[:-1]) / 2)
    number, low = len(score), count.sum()
    share, tail = (max(low / number / part.sum() / 2, 1e-4) for part in (wrong, real))
    for _ in range(rounds):
        height = (1 - share) * tail
        is_wrong = share * wrong / (share * wrong + height * real + 1e-300)
        high = max(1 - share * wrong.sum() - height * real.sum(), 1e-9)
        above = (number - low) * share * (1 - wrong.sum()) / high
        found = (count * is_wrong).sum() + above
        share = min(found / (number + PRIOR_EDGES), 0.98)
        tail = (count * (1 - is_wrong)).sum() / number / real.sum() / (1 - share)
    return float(share), float(tail)


def low_end_by_traits(score: Array, traits: Array) -> tuple[Array, float]:
    """The share ρ of wrong edges where edges have such traits [E, G], [E], and κ."""
    share, tail = low_end(score)
    sample = slice(None, None, max(len(score) // EDGES, 1))
    t = torch.from_numpy(score[sample])
    z = torch.from_numpy(np.ascontiguousarray(traits[sample]))
    is_low = t < 0
    low = t[is_low].clamp(min=-4)
    weight = torch.zeros(z.shape[1] + 1, dtype=torch.float64)
    weight[0] = float(logit(np.clip(share, 1e-5, 1 - 1e-5)))
    log_tail = torch.tensor(np.log(tail + 1e-4), dtype=torch.float64)
    for parameter in (weight, log_tail):
        parameter.requires_grad_()
    real_low = float(np.exp(0.5) * ndtr(-1.0))

    def loss() -> Tensor:
        share = torch.sigmoid(weight[0] + z @ weight[1:])
        height = (1 - share) * log_tail.clamp(max=1.0).exp()
        dense = share[is_low] + height[is_low] * low.exp()
        rest = (1 - share / 2 - height * real_low)[~is_low].clamp(min=1e-9)
        steady = F.logsigmoid(weight[0]) + PRIOR_EDGES * F.logsigmoid(-weight[0])
        return (
            -dense.log().sum() - rest.log().sum() - steady + 3 * (weight[1:] ** 2).sum()
        )

    descend([weight, log_tail], loss)
    found = weight.detach().numpy()
    shares = expit(found[0] + traits @ found[1:])
    if not np.isfinite(shares).all():
        shares = np.full(len(score), share)
    return shares, float(log_tail.detach().clamp(max=1.0).exp())


def excess(score: Array, group: Array) -> Array:
    """Share of wrong edges in each of three groups beyond that in group 0, [3].

    `score` is by content alone. Real edges that are unlike are as frequent in every
    group, so what a group has more of them is wrong, less one standard error.
    """
    found, half = np.zeros(3), 0.5
    number = np.bincount(group, minlength=3)
    low = np.bincount(group, weights=score < 0, minlength=3)
    if number[0] < 200:
        return found
    base = low[0] / number[0] / half
    if base > 0.8:
        return found
    for place in (1, 2):
        if number[place] < 20:
            continue
        ratio = low[place] / number[place] / half
        error = np.sqrt(
            max(ratio, 0.02) / half / number[place] + base / half / number[0]
        )
        found[place] = np.clip((ratio - error - base) / (1 - base), 0, 0.95)
    return found


def with_share(likely: Array, prior: Array, number: float) -> Array:
    """The prior, shifted so that this number of edges is expected to be wrong, [E]."""
    low, high = -60.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        is_less = expit(prior + middle - likely).sum() < number
        low, high = (middle, high) if is_less else (low, middle)
    return prior + (low + high) / 2
