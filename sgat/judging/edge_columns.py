"""Edge columns: sources, times or kinds of edges that are wrong more often than others.

Pairs that no edge joins have no columns, so columns are no signals of the contrast.
They say how likely an edge is wrong besides its score, as its degrees do.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logit, ndtri

from sgat.judging import shares
from sgat.judging.fitting import minimise
from sgat.judging.matrices import slices
from sgat.judging.suspicion import LOW, TAIL
from sgat.ops.blocks import ROWS, empty, placed
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

PARTS = 8
"""Parts of equal size that a column of numbers is cut into."""
MOST_WEIGHTS = 512
"""Weights beyond which columns are cut into halves."""
ENTRIES = 1 << 22
"""Entries of the columns that weights are fitted to."""
RIDGE = 1.0
"""How much the weight of a part costs, by its square."""
BY_CHANCE = 6.0, 2.0
"""How much twice the log of the likelihood gains by columns that say nothing: at least,
and more for each weight that is free."""
MOST = 4.0
"""Log-odds by columns, at most."""


class ColumnOdds(NamedTuple):
    """Log-odds that an edge is wrong by its columns, of what stands in each part."""

    columns: Array  # numbers of the edges, in memory, [E, F]
    cuts: list[Array]  # where the parts of each column end, the highest left out
    weights: list[Array]  # of the parts of each column
    shift: float
    trust: float
    usual: Array  # mean weight of each column, [F]

    def of_edges(self) -> Array:
        """The log-odds of all edges, [E] float32."""
        found = empty(len(self.columns), np.float32)
        for rows in slices(len(found), ROWS):
            total = np.full(rows.stop - rows.start, self.shift)
            given = zip(self.cuts, self.weights, self.columns[rows].T, strict=True)
            for cut, weight, column in given:
                total += weight[np.searchsorted(cut, column)]
            own = self.trust * total.clip(-MOST, MOST)
            found[rows] = placed(own.astype(np.float32))
        return found

    def deciding(self, wrong: Array) -> Array:
        """The column without which an edge would not look wrong, -1 if none, [E].

        Of a column of two values only the higher one says something of an edge: a word
        is among the columns of all words.
        """
        odds = host(self.of_edges())
        found = np.full(len(odds), -1, np.int16)
        own = logit(host(wrong).astype(float).clip(1e-12, 1 - 1e-12))
        decided = np.flatnonzero((own > 0) & (own <= odds))
        most = np.zeros(len(decided))
        for k, (cut, weight) in enumerate(zip(self.cuts, self.weights, strict=True)):
            part = np.searchsorted(cut, self.columns[decided, k])
            more = weight[part] - self.usual[k]
            here = (more > most) & ((len(cut) > 1) | (part > 0))
            found[decided[here]], most[here] = k, more[here]
        return found


def fit_columns(score: Array, prior: Array, columns: Array) -> ColumnOdds | None:
    """Log-odds by columns, [E, F], beside a prior, [E]; None if they say nothing.

    A logistic regression of being unlike, as in `fit_prior`, on the part of each
    column that an edge is in. It is trusted as far as the likelihood gains more than by
    chance: few edges prove little, and columns with many parts fit anything.
    """
    width = columns.shape[1]
    most = max(min(shares.EDGES, ENTRIES // max(width, 1)), 1)
    some = slice(None, None, max(len(score) // most, 1))
    t, offset, few = (host(part[some]) for part in (score, prior, columns))
    cuts = [_cuts(column, PARTS) for column in few.T]
    if sum(map(len, cuts)) > MOST_WEIGHTS:
        cuts = [_cuts(column, 2) for column in few.T]
    starts = np.cumsum([0, *map(len, cuts)])
    if not starts[-1]:
        return None
    both = zip(cuts, few.T, strict=True)
    part = np.stack([np.searchsorted(cut, column) for cut, column in both], axis=1)
    row, column = part.nonzero()
    place = starts[column] + part[row, column] - 1
    z = sparse.csr_array((np.ones(len(row)), (row, place)), shape=(len(t), starts[-1]))
    is_low = t < ndtri(LOW)

    def fit(found: Array) -> tuple[float, Array, Array]:
        """Log of the likelihood, its slope and its bend by the log-odds of an edge."""
        odds = expit(offset + found[0] + z @ found[1:])
        share = LOW * (TAIL + (1 - TAIL) * odds)
        rise = LOW * (1 - TAIL) * odds * (1 - odds)
        slope = np.where(is_low, 1 / share, -1 / (1 - share)) * rise
        value = np.log(np.where(is_low, share, 1 - share)).sum()
        return float(value), slope, rise**2 / (share * (1 - share))

    def loss(found: Array, number: int) -> tuple[float, Array]:
        """The same with the price of the first so many weights; the others are 0."""
        value, slope, _ = fit(np.pad(found, (0, starts[-1] - number)))
        steep = -np.r_[slope.sum(), (z.T @ slope)[:number]]
        steep[1:] += 2 * RIDGE * found[1:]
        return RIDGE * (found[1:] ** 2).sum() - value, steep

    alone = minimise(functools.partial(loss, number=0), np.zeros(1))
    before, _, bend = fit(start := np.pad(alone, (0, starts[-1])))
    found = minimise(functools.partial(loss, number=starts[-1]), start)
    gain = 2 * (fit(found)[0] - before)
    chance = BY_CHANCE[0] + BY_CHANCE[1] * _free(z, bend)
    chance *= 1 + shares.FEW_EDGES / len(t)
    if gain <= chance:
        return None
    each = itertools.pairwise(starts)
    weights = [np.r_[0, found[1 + first : 1 + last]] for first, last in each]
    usual = np.array([own[k].mean() for own, k in zip(weights, part.T, strict=True)])
    trust = 1 - (chance / gain) ** 2
    return ColumnOdds(columns, cuts, weights, float(found[0]), trust, usual)


def _cuts(value: Array, parts: int) -> Array:
    """Where the parts of a column end, without the highest one."""
    ends = np.unique(np.quantile(value, np.arange(1, parts) / parts))
    if (lowest := value.min()) < value.max() == ends[0]:
        return np.array([lowest])
    found: Array = ends[ends < value.max()]
    return found


def _free(z: Any, bend: Array) -> float:
    """How many weights the edges decide, and not their price."""
    sums = z.T @ bend
    curve = (z.T @ (z * bend[:, None])).toarray()
    curve -= np.outer(sums, sums) / max(bend.sum(), 1e-9)
    price = 2 * RIDGE * np.eye(len(curve))
    return len(curve) - float(np.trace(np.linalg.solve(curve + price, price)))
