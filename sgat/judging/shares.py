"""Shares: how many edges are wrong, and which, from their normal scores.

With t the score of an edge, a wrong edge has a standard normal t, with density f. Where
t is low, real edges are rare, and the rarer the lower:

    density(t) = f(t) (ρ + (1 - ρ) κ e^t)      for t < 0

So the share ρ of wrong edges is what is left of the edges at the low end. κ goes with
how far real edges stand above pairs elsewhere, the separation

    m = √2 Φ⁻¹((mean of Φ(t) - ρ / 2) / (1 - ρ)),      log κ ≈ 0.61 - 1.47 m
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import brentq
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

from sgat.judging.fitting import minimise
from sgat.judging.matrices import slices
from sgat.ops.blocks import (
    ROWS,
    ROWS_OF_GPU,
    block_rows,
    by_rows,
    placed,
    sum_of_rows,
)
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

EDGES = 30_000
"""Edges that shares are fitted to."""
COUNTED = 300_000
"""Edges that the likelihood of a score is fitted to."""
KNOTS = (-1.0, 0.0, 1.0, 2.0, 3.0)
LOWEST, HIGHEST = -4.5, 6.0
GRID = np.linspace(LOWEST, HIGHEST, 211)
PARTS, ODDS, MOST_PRIOR = 105, 96, 12.0
"""Parts of the scores and of the prior log-odds that edges are counted in."""
BY_CHANCE, BY_TRAITS = 2.0, 4.0
"""How much twice the log of the likelihood gains by ρ where no edge is wrong: with one
share for all edges, and with shares by traits, as real edges differ by traits too."""
FEW_EDGES = 1000
"""With so many edges the likelihood must gain twice as much: few edges prove little."""
TOLD = 0.55, 0.6
"""Share of the pairs that an edge outdoes on average, up to which nothing is known, and
from which shares are trusted in full."""
NO_SHARE = -12.0
"""Log-odds of ρ where no edge is wrong."""
SHAPE_EDGES = 700
"""Edges that the shape of the low end counts for."""
USUAL_TAIL, TAIL_SPREAD = (0.61, 1.47), 0.4
"""log κ is about the first less the second times the separation m, and its spread."""
TAIL_ROUNDS, MOST_TAIL = 5, 1.0
TRAIT_RIDGE = 0.5
CALM = 0.1
"""Share of the edges whose last trait is low: hardly any wrong ones by this trait."""
USUAL_EXCESS = 0.04
"""Excess by their traits that real edges may have."""
PRIOR_EDGES = 3.0
"""As if so many more edges were real: few edges prove little."""
REAL_LOW = float(np.exp(0.5) * ndtr(-1.0))
"""Integral of f(t) e^t over t < 0."""
USEFUL = 1.95, 2.1
"""m up to which real edges look too much like swapped pairs to tell of wrong edges that
follow degree, and from which they tell."""
CAUTION = 1.5  # standard errors that m counts less: few edges do not know it well
AGREE = 1 / 3, 2 / 3
"""Share by pairs of any nodes over that by swapped pairs, where those do not tell:
below, real edges look like pairs, and above, there are wrong edges."""
APART = 0.85, 1.05
"""m of real edges and pairs of any nodes up to which that says nothing, and from which
it does: where degrees are alike, both kinds of pairs are the same."""
LEAST_SHARE = 0.003
"""Share that orders the edges of a graph in which nothing seems wrong."""
HIGHEST_PRIOR = 1.5
"""Log-odds that an edge is wrong by its traits alone, at most: its score counts too."""
MOST_SHIFT = 60.0
"""Log-odds that a prior is shifted by, at most."""
ODD = 0.01
"""Share of the real edges that look as wrong as any."""
VALLEY, HIGHEST_VALLEY = 0.6, 1.5
"""How high a valley may be next to the lower of the peaks beside it, and where it may
be: real edges that look like pairs make valleys further up."""
SMOOTH = 5
"""Steps of `GRID` that numbers of edges are smoothed by."""
BELOW = 300
"""Edges on each side of a valley, at least."""
SUSPECT_TAIL = 0.5
"""How fast κ grows with the suspicion against the ends of an edge."""


def likelihood(score: Array, prior: Array) -> Array:
    """Log of how much likelier real edges have a score than wrong ones, [E].

    A line with a bend at each knot that rises with the score.
    """
    # Counts of the edges in each cell of a table of scores and prior log-odds.
    some = slice(None, None, max(len(score) // COUNTED, 1))
    t, own = host(score[some]), host(prior[some])
    places = ((t - LOWEST) / (HIGHEST - LOWEST) * PARTS).clip(0, PARTS - 1)
    columns = ((own + MOST_PRIOR) / (2 * MOST_PRIOR) * ODDS).clip(0, ODDS - 1)
    cell = places.astype(np.int64) * ODDS + columns.astype(np.int64)
    table = np.bincount(cell, minlength=PARTS * ODDS)
    place, column = np.divmod(table.nonzero()[0], ODDS)
    count = table[table > 0]
    bent = _bent(_middles(LOWEST, HIGHEST, PARTS))
    odds = _middles(-MOST_PRIOR, MOST_PRIOR, ODDS)[column]
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
    bends = np.array([LOWEST, *KNOTS, HIGHEST])
    height = _bent(bends) @ rise - logsumexp(normal + bent_grid @ rise)
    return by_rows(lambda part: np.interp(part, bends, height), score)


def _middles(low: float, high: float, number: int) -> Array:
    """The middles of parts of equal length, [number]."""
    return low + (high - low) * (np.arange(number) + 0.5) / number


def _bent(score: Array) -> Array:
    """How far a score is in each part between the knots, [E, parts]."""
    bounds = itertools.pairwise((*KNOTS, HIGHEST))
    parts = [score.clip(low, high) - low for low, high in bounds]
    return np.stack([score.clip(max=KNOTS[0]), *parts], axis=1)


class LowEnd(NamedTuple):
    """Wrong edges as the low end of the scores shows them.

    Attributes:
        share: ρ where edges have such traits, [E].
        excess: What ρ has beyond that of edges alike but for the last trait, which is
            then as low as in a tenth of the edges, [E]; 0 without traits.
        tail: κ.
        trust: 1 if some edges are surely wrong, 0 if none may be.
        separation: m, how far real edges stand above pairs.
        error: Standard error of m, at most.
    """

    share: Array
    excess: Array
    tail: float
    trust: float
    separation: float
    error: float = 0.0

    @property
    def useful(self) -> float:
        """How far swapped pairs tell, where these are the pairs."""
        return between(self.separation - CAUTION * self.error, USEFUL)


def low_end(score: Array, traits: Array, among: Array) -> LowEnd:
    """The share ρ of wrong edges by their traits [E, G], and κ, by likelihood.

    Fitted to the edges `among`, [E] bool. The likelihood counts as that of
    `SHAPE_EDGES` edges: more of them would only show that wrong edges are not quite
    like pairs. κ follows from how far real edges stand above pairs, give or take
    (`USUAL_TAIL`). The more the likelihood gains by ρ, beside what it gains by chance,
    the more ρ is trusted.
    """
    among = placed(among)
    place = some(among, max(int(among.sum()) // EDGES, 1))
    t, own = host(score[place]), host(traits[place])
    z, is_low = np.column_stack([np.ones(len(place)), own]), t < 0
    rising = np.exp(t[is_low].clip(min=-4))
    above = float(ndtr(t).mean())
    number = len(is_low)
    temper = min(1.0, SHAPE_EDGES / number)

    def fit(found: Array, around: float) -> tuple[float, Array]:
        """Log of the likelihood and of how usual κ is, and its slope."""
        share, tail = expit(z @ found[:-1]), np.exp(min(found[-1], MOST_TAIL))
        height = (1 - share) * tail
        dense = share[is_low] + height[is_low] * rising
        rest = np.maximum((1 - share / 2 - height * REAL_LOW)[~is_low], 1e-9)
        by_share, by_tail = np.empty(number), np.empty(number)
        by_share[is_low] = (1 - tail * rising) / dense
        by_share[~is_low] = (tail * REAL_LOW - 0.5) / rest
        by_tail[is_low] = height[is_low] * rising / dense
        by_tail[~is_low] = -height[~is_low] * REAL_LOW / rest
        by_tail *= found[-1] < MOST_TAIL
        slope = np.r_[z.T @ (by_share * share * (1 - share)), by_tail.sum()]
        unusual = (found[-1] - around) / TAIL_SPREAD
        likely = temper * (np.log(dense).sum() + np.log(rest).sum())
        slope *= temper
        slope[-1] -= unusual / TAIL_SPREAD
        return likely - unusual**2 / 2, slope

    def loss(found: Array, around: float) -> tuple[float, Array]:
        value, slope = fit(found, around)
        first, weight = found[0], found[1:-1]
        slope[0] += expit(-first) - PRIOR_EDGES * expit(first)
        slope[1:-1] -= 2 * TRAIT_RIDGE * weight
        steady = log_expit(first) + PRIOR_EDGES * log_expit(-first)
        return TRAIT_RIDGE * (weight**2).sum() - value - steady, -slope

    def without(log_tail: Array, around: float) -> tuple[float, Array]:
        """The same where no edge is wrong."""
        nothing = np.r_[NO_SHARE, np.zeros(traits.shape[1]), log_tail]
        value, slope = fit(nothing, around)
        return -value, -slope[-1:]

    found = np.r_[logit(is_low.mean().clip(1e-3, 0.9)), np.zeros(traits.shape[1]), -3]
    share = 0.0
    for _ in range(TAIL_ROUNDS):
        real = np.clip((above - share / 2) / (1 - share), 0.5, 1 - 1e-6)
        separation = float(np.sqrt(2) * ndtri(real))
        around = USUAL_TAIL[0] - USUAL_TAIL[1] * separation
        found = minimise(functools.partial(loss, around=around), found)
        share = float(expit(z @ found[:-1]).mean().clip(max=0.95))
    none = minimise(functools.partial(without, around=around), np.array([around]))
    gain = 2 * (fit(found, around)[0] + without(none, around)[0])
    # A trait that is alone is what columns say, which was found to be beyond chance.
    chance = BY_TRAITS if traits.shape[1] > 1 else BY_CHANCE
    chance *= 1 + FEW_EDGES / number
    trust = 1 - float(chance / gain) ** 2 if gain > chance else 0.0
    trust *= between(above, TOLD)
    by_traits = by_rows(lambda part: expit(found[0] + part @ found[1:-1]), traits)
    excess = np.broadcast_to(np.float32(0), len(score))
    if traits.shape[1]:
        own = by_rows(lambda part: part, traits[:, -1])
        least = np.quantile(own, CALM, overwrite_input=True)

        def beyond(part: Array, share: Array) -> Array:
            more = found[-2] * (part[:, -1] - least)
            calm = expit(logit(share) - more)
            above: Array = (share - calm) / (1 - calm)
            return above.clip(0)

        excess = by_rows(beyond, traits, by_traits)
    # Of m = √2 Φ⁻¹(A), with A a mean over the edges, each from 0 to 1.
    spread = np.sqrt(real * (1 - real) / max(int(among.sum()), 1))
    error = float(2 * np.sqrt(np.pi) * spread * np.exp(separation**2 / 4))
    tail = float(np.exp(found[-1]))
    return LowEnd(by_traits, excess, tail, trust, separation, error)


def below_valley(score: Array) -> float | None:
    """Share of the edges below a valley of their scores; None if there is none.

    Where wrong edges stand clear of real ones hardly an edge lies between them. Those
    below are counted as they are then, whatever the density of wrong edges is.
    """
    t = host(score[:: max(len(score) // EDGES, 1)])
    number = np.histogram(t.clip(LOWEST, HIGHEST), GRID)[0]
    height = gaussian_filter1d(number.astype(float), SMOOTH)
    before = np.maximum.accumulate(height)
    behind = np.maximum.accumulate(height[::-1])[::-1]
    depth = (1 + height) / (1 + np.minimum(before, behind))
    below = number.cumsum() / len(t)
    is_side = np.minimum(below, 1 - below) * len(score) < BELOW
    place = int(np.where(is_side, 1, depth).argmin())
    is_told = depth[place] <= VALLEY and GRID[place + 1] <= HIGHEST_VALLEY
    return float(below[place]) if is_told else None


def some(mask: Array, step: int) -> Array:
    """Where a mask is true, the first of each so many places."""
    found, seen, mask = [], 0, placed(mask)
    for rows in slices(len(mask), block_rows(ROWS, ROWS_OF_GPU)):
        place = np.flatnonzero(mask[rows])
        found.append(host(place[-seen % step :: step]) + rows.start)
        seen += len(place)
    return np.concatenate([np.zeros(0, dtype=int), *found])


def between(value: float, bounds: tuple[float, float]) -> float:
    """0 up to the lower bound, 1 from the upper one on, a line between."""
    low, high = bounds
    return float(np.clip((value - low) / (high - low), 0, 1))


def excess(score: Array, group: Array) -> Array:
    """Share of wrong edges in each of three groups beyond that in group 0, [3].

    `score` is by content alone. Real edges that are unlike are as frequent in every
    group, so what a group has more of them is wrong, less one standard error; less than
    two may be chance.
    """
    found, counts = np.zeros(3), np.zeros(6, dtype=int)
    for rows in slices(len(score), block_rows(ROWS, ROWS_OF_GPU)):
        counts += np.bincount(group[rows] + 3 * (score[rows] < 0), minlength=6)
    number, low = counts[:3] + counts[3:], counts[3:]
    if number[0] < 200:
        return found
    # Half of the wrong edges are below 0.
    base = 2 * low[0] / number[0]
    if base > 0.8:
        return found
    for place in (1, 2):
        if number[place] < 20:
            continue
        ratio = 2 * low[place] / number[place]
        error = np.sqrt(2 * (max(ratio, 0.02) / number[place] + base / number[0]))
        if ratio - base > 2 * error:
            found[place] = np.clip((ratio - error - base) / (1 - base), 0, 0.95)
    return found


def with_share(likely: Array | float, prior: Array, number: float) -> Array:
    """The prior, shifted so that this number of edges is expected to be wrong, [E]."""
    if isinstance(likely, float):
        likely = np.broadcast_to(np.asarray(likely, dtype=prior.dtype), prior.shape)
    wanted = np.log(max(number, 1e-300))

    def missing(shift: float) -> float:
        total = sum_of_rows(lambda p, q: expit(p - q + shift), prior, likely)
        return float(np.log(total) - wanted)

    shift = MOST_SHIFT
    if missing(shift) > 0:
        shift = -MOST_SHIFT
        if missing(shift) < 0:
            shift = brentq(missing, -MOST_SHIFT, MOST_SHIFT, xtol=1e-9)
    return by_rows(lambda part: part + shift, prior, dtype=None)


def with_doubt(wrong: Array, number: float, likeness: Array, weight: float) -> Array:
    """P(wrong) of which this number is wrong, where some real edges look wrong, [E].

    The fewer edges are wrong, the likelier one that looks wrong is a real one. They are
    in the order of the log-odds less weight · likeness.
    """
    share = number / len(wrong)
    most = share / (share + ODD)
    odds = by_rows(lambda p: logit(p.astype(float).clip(1e-12, 1 - 1e-12)), wrong)
    odds = with_share(0.0, odds, number / most)
    if weight:
        order = by_rows(lambda own, like: own - weight * like, odds, likeness)
        few = slice(None, None, max(len(odds) // COUNTED, 1))
        old, new = (np.sort(host(part[few])) for part in (odds, order))
        odds = by_rows(lambda part: np.interp(part, new, old), order)
    return by_rows(lambda part: most * expit(part), odds)
