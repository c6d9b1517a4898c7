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
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import (
    expit,
    log_expit,
    log_softmax,
    logit,
    logsumexp,
    ndtr,
    ndtri,
    softmax,
)

Array = np.ndarray[Any, Any]

LOW = 0.4
"""Share of the pairs of a source that count as unlike."""
TAIL = 0.03
"""How many real edges are so unlike, over the pairs that are, at most."""
EDGES = 30_000
"""Edges that shares are fitted to."""
STEPS = 60
KNOTS = (-1.0, 0.0, 1.0, 2.0, 3.0)
LOWEST, HIGHEST = -4.5, 6.0
GRID = np.linspace(LOWEST, HIGHEST, 211)
RIDGE = 3.0
"""How much the weight of a trait costs, by its square."""
BY_CHANCE, BY_TRAITS = 4.0, 24.0
"""How much twice the log of the likelihood gains by ρ where no edge is wrong: with one
share for all edges, and with shares by traits, as real edges differ by traits too."""
PRIOR_EDGES = 3.0
"""As if so many more edges were real: few edges prove little."""
REAL_LOW = float(np.exp(0.5) * ndtr(-1.0))
"""Integral of f(t) e^t over t < 0."""
USEFUL_TAIL, USELESS_TAIL = 0.25, 0.5
"""κ up to which the share by degree counts in full, and from which it does not."""
LEAST_SHARE = 0.003
"""Share that orders the edges of a graph in which nothing seems wrong."""
HIGHEST_PRIOR = 1.5
"""Log-odds that an edge is wrong by its traits alone, at most: its score counts too."""
ODD = 0.01
"""Share of the real edges that look as wrong as any."""
SUSPECT_TAIL = 0.5
"""How fast κ grows with the suspicion against the ends of an edge."""


def minimise(loss: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    """Parameters with the least loss; `loss` gives its value and its slope."""
    options = {"maxiter": STEPS}
    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return found


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


def fit_prior(score: Array, traits: Array) -> Array:
    """Log-odds that an edge is wrong by its traits [E, G] alone, [E].

    Unlike edges (score below the quantile LOW of pairs) are nearly all wrong, and of
    the wrong ones a share of LOW is unlike: a logistic regression of being unlike.
    """
    z, is_low = _sample(score, traits, ndtri(LOW))

    def loss(weight: Array) -> tuple[float, Array]:
        odds = expit(z @ weight)
        share = LOW * (TAIL + (1 - TAIL) * odds)
        fit = np.log(np.where(is_low, share, 1 - share)).sum()
        steep = np.where(is_low, 1 / share, -1 / (1 - share))
        slope = -z.T @ (steep * LOW * (1 - TAIL) * odds * (1 - odds))
        slope[0] -= 2 * (1 - 2 * expit(weight[0]))
        slope[1:] += 2 * RIDGE * weight[1:]
        steady = 2 * (log_expit(weight[0]) + log_expit(-weight[0]))
        return -fit - steady + RIDGE * (weight[1:] ** 2).sum(), slope

    found = minimise(loss, np.r_[-2.0, np.zeros(traits.shape[1])])
    odds: Array = found[0] + traits @ found[1:]
    return odds


def _sample(score: Array, traits: Array, limit: float) -> tuple[Array, Array]:
    """Traits of some edges after a column of ones, and whether each is below."""
    sample = slice(None, None, max(len(score) // EDGES, 1))
    z = np.column_stack([np.ones(len(score[sample])), traits[sample]])
    return z, score[sample] < limit


def likelihood(score: Array, prior: Array) -> Array:
    """Log of how much likelier real edges have a score than wrong ones, [E].

    A line with a bend at each knot that rises with the score.
    """
    edges = np.linspace(LOWEST, HIGHEST, 106), np.linspace(-12, 12, 97)
    clipped = score.clip(LOWEST, HIGHEST), prior.clip(-12, 12)
    table = np.histogram2d(*clipped, bins=edges)[0]
    place, column = table.nonzero()
    count = table[place, column]
    bent = _bent((edges[0][1:] + edges[0][:-1]) / 2)
    odds = ((edges[1][1:] + edges[1][:-1]) / 2)[column]
    if_wrong, if_real = log_expit(odds), log_expit(-odds)
    bent_grid, normal = _bent(GRID), log_softmax(-(GRID**2) / 2)

    def loss(slope: Array) -> tuple[float, Array]:
        rise, turn = np.logaddexp(0, slope), np.diff(np.logaddexp(0, slope))
        # The mean of e^line over wrong edges is 1.
        height = normal + bent_grid @ rise
        line = (bent @ rise - logsumexp(height))[place]
        fit = (count * np.logaddexp(if_real + line, if_wrong)).sum()
        real = count * expit(if_real + line - if_wrong)
        steep = real.sum() * (softmax(height) @ bent_grid)
        steep -= np.bincount(place, real, len(bent)) @ bent
        steep -= 2 * np.diff(turn, prepend=0, append=0)
        return -fit + (turn**2).sum(), steep * expit(slope)

    rise = np.logaddexp(0, minimise(loss, np.full(len(KNOTS) + 1, 0.5)))
    found: Array = _bent(clipped[0]) @ rise - logsumexp(normal + bent_grid @ rise)
    return found


def _bent(score: Array) -> Array:
    """How far a score is in each part between the knots, [E, parts]."""
    bounds = itertools.pairwise((*KNOTS, HIGHEST))
    parts = [score.clip(low, high) - low for low, high in bounds]
    return np.stack([score.clip(max=KNOTS[0]), *parts], axis=1)


class LowEnd(NamedTuple):
    """Wrong edges as the low end of the scores shows them.

    Attributes:
        share: ρ where edges have such traits, [E].
        tail: κ.
        trust: 1 if some edges are surely wrong, 0 if none may be.
    """

    share: Array
    tail: float
    trust: float


def low_end(score: Array, traits: Array) -> LowEnd:
    """The share ρ of wrong edges by their traits [E, G], and κ, by likelihood.

    With ρ = 0 the low end may look as it does by chance. The more the likelihood
    gains by ρ, beside what it gains by chance, the more ρ is trusted.
    """
    z, is_low = _sample(score, traits, 0.0)
    sample = slice(None, None, max(len(score) // EDGES, 1))
    rising = np.exp(score[sample][is_low].clip(min=-4))
    number, low = len(is_low), float(is_low.sum())

    def log_likelihood(parameters: Array) -> tuple[float, Array]:
        share, tail = expit(z @ parameters[:-1]), np.exp(min(parameters[-1], 1.0))
        height = (1 - share) * tail
        dense = share[is_low] + height[is_low] * rising
        rest = np.maximum((1 - share / 2 - height * REAL_LOW)[~is_low], 1e-9)
        by_share, by_tail = np.empty(number), np.empty(number)
        by_share[is_low] = (1 - tail * rising) / dense
        by_share[~is_low] = (tail * REAL_LOW - 0.5) / rest
        by_tail[is_low] = height[is_low] * rising / dense
        by_tail[~is_low] = -height[~is_low] * REAL_LOW / rest
        slope = np.r_[
            z.T @ (by_share * share * (1 - share)),
            by_tail.sum() * (parameters[-1] < 1.0),
        ]
        return np.log(dense).sum() + np.log(rest).sum(), slope

    def loss(parameters: Array) -> tuple[float, Array]:
        fit, slope = log_likelihood(parameters)
        first = parameters[0]
        slope[0] += expit(-first) - PRIOR_EDGES * expit(first)
        slope[1:-1] -= 2 * RIDGE * parameters[1:-1]
        steady = log_expit(first) + PRIOR_EDGES * log_expit(-first)
        return -fit - steady + RIDGE * (parameters[1:-1] ** 2).sum(), -slope

    half = np.clip(low / number, 1e-3, 0.9)
    start = np.r_[logit(half), np.zeros(traits.shape[1]), np.log(half)]
    found = minimise(loss, start)
    # Without wrong edges, κ has a closed form.
    height = np.clip(low / number, 1e-9, 0.99 * REAL_LOW) / REAL_LOW
    none = low * np.log(height) + np.log(rising).sum()
    none += (number - low) * np.log(1 - height * REAL_LOW)
    gain = 2 * (log_likelihood(found)[0] - none)
    chance = BY_TRAITS if traits.shape[1] else BY_CHANCE
    trust = max(0.0, 1 - (chance / max(gain, 1e-9)) ** 2)
    share = expit(found[0] + traits @ found[1:-1])
    return LowEnd(share, float(np.exp(min(found[-1], 1.0))), float(trust))


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


def with_doubt(wrong: Array) -> Array:
    """P(wrong) where some real edges look as wrong as any; as many are wrong, [E].

    The fewer edges are wrong, the likelier one that looks wrong is a real one.
    """
    share = float(wrong.mean())
    most = share / (share + ODD)
    odds = logit(wrong.clip(1e-12, 1 - 1e-12))
    shift = with_share(-odds, np.zeros(len(odds)), wrong.sum() / most)
    found: Array = most * expit(odds + shift)
    return found
