"""Combining: P(wrong) of each edge, from the shares of each kind of wrong edges.

1. `count`: how many edges are wrong by pairs of any nodes, and by swapped ones
2. P(wrong) by each of the two, and in rings, shifted to these numbers
3. P(wrong) by any of them, in the best order that there is
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from sgat.judging import shares
from sgat.ops.blocks import by_rows, where
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

AS_SWAPPED, MOST_AS_SWAPPED = 0.35, 0.015
"""Part of the share of wrong edges between any nodes that swapped pairs stand for, and
its limit."""
ALONE = 0.5, 0.7
"""Share of the real edges without common neighbours that look like pairs of any nodes,
and like swapped ones, where there are no features."""
NOTHING_COUNTED = 0.01
"""Share of wrong edges below which shares say nothing of how to order the edges."""
SUSPECT_WEIGHT = 0.3
"""Weight of the suspicion against the ends of an edge there, next to 1 of a score."""
FEWEST = 100
"""Edges and pairs of a kind with which they are counted apart."""
LEAST_APART = 0.9
"""Share of all edges counted apart over that of all together, at least."""


class Findings(NamedTuple):
    """What the contrasts say of each edge."""

    first: Array  # score by content alone, next to swapped pairs, [E]
    swapped: Array  # by all signals, next to swapped pairs, [E]
    loose: Array  # by all signals, next to pairs of any nodes, [E]
    prior: Array  # log-odds that an edge is wrong by its traits alone, [E]
    by_traits: shares.LowEnd  # of `swapped`
    group: Array  # number of labelled ends, [E]
    suspicion: Array  # against the other edges at both ends, [E]
    ring: Array  # P(wrong) in a ring, [E]
    plain: Array  # likeness that nothing is learned for, [E]
    unshared: tuple[float, float] | None
    """Without features the shares of edges and of pairs without common neighbours."""
    by_class: float | None = None  # `share_apart`, where classes are known
    by_columns: Array | None = None  # log-odds that an edge is wrong, [E]

    def plus_columns(self, odds: Array) -> Array:
        """Log-odds that an edge is wrong, with those by its columns if it has any."""
        return (
            odds if self.by_columns is None else by_rows(np.add, odds, self.by_columns)
        )


class Counted(NamedTuple):
    """Shares of wrong edges by the source of the pairs that they look like."""

    anywhere: float  # by pairs of any nodes, those of like classes counted apart
    any_tail: float  # κ of these
    by_degree: Array  # by swapped pairs, [E]
    left: float  # part of `by_degree` that pairs of any nodes do not explain
    aimed: Array  # at 0, 1 and 2 labelled ends, beyond the usual, [3]
    useful: float  # how far swapped pairs tell


def combine(given: Findings) -> Array:
    """P(wrong) of each edge, [E]."""
    count, counts = len(given.loose), _count(given)
    as_swapped = min(AS_SWAPPED * counts.anywhere, MOST_AS_SWAPPED)
    # Where few are wrong, swapped pairs rank edges better than pairs of any nodes.
    least = max(as_swapped, shares.LEAST_SHARE * max(counts.useful, 1 / 3))
    loosely = _by_any(given, counts, as_swapped)
    swapped, number = _by_swapped(given, counts, loosely, least)
    useful = counts.useful
    del counts
    # Edges that both kinds explain would be missing from the number of both.
    wrong = by_rows(
        lambda one, other, third: (
            1 - (1 - one.astype(float)) * (1 - other) * (1 - third)
        ),
        *(swapped, loosely, given.ring),
    )
    del loosely, swapped
    like = shares.between(by_rows(ndtr, given.plain).mean(), shares.TOLD)
    if number < NOTHING_COUNTED * count:
        order = by_rows(
            lambda own, t, other: SUSPECT_WEIGHT * own.clip(-4, 6) - t - other,
            *(given.suspicion, given.swapped),
            given.plain if like > useful else given.loose,
        )
        order = given.plus_columns(order)
        wrong = by_rows(expit, shares.with_share(0.0, order, number))
        like = 0.0
    return shares.with_doubt(wrong, number, given.plain, like * (1 - useful))


def _count(given: Findings) -> Counted:
    """The shares of wrong edges, as far as they are sure."""
    end, unshared = given.by_traits, given.unshared
    count = len(given.loose)
    every = np.broadcast_to(True, count)
    own = given.by_columns
    traits = np.zeros((count, 0)) if own is None else own[:, None]
    evenly = shares.low_end(given.loose, traits, every)
    useful = end.useful
    agree = evenly.share.mean() / max(end.share.mean(), 1e-9)
    agree = shares.between(agree, shares.AGREE)
    told = max(useful, agree * shares.between(evenly.separation, shares.APART))
    any_share, by_degree = _sure(evenly, told), _sure(end, useful)
    least = 0.0
    if unshared:
        least = ALONE[0] * unshared[0]
        any_share, most = (
            _reduced(found, part, *unshared)
            for found, part in zip((any_share, by_degree), ALONE, strict=True)
        )
        own = _sure(end, useful, least)
        by_degree = by_rows(np.minimum, most, own, dtype=None)
    anywhere = any_share.mean()
    # Hubs are where degrees differ: what is less alike there is wrong, whatever real
    # edges look like.
    usual = shares.USUAL_EXCESS * (1 + shares.FEW_EDGES / count)
    more = _sure(end._replace(share=end.excess), 1.0, max(usual, least))
    by_degree = by_rows(
        lambda own, part: own + (1 - useful) * part, by_degree, more, dtype=None
    )
    # Pairs of any nodes are found among swapped ones as well: they count once.
    left = max(0.0, 1 - anywhere / max(by_degree.mean(), 1e-9))
    if given.by_class is not None:
        apart = given.by_class / max(evenly.share.mean(), 1e-9)
        anywhere *= max(apart, LEAST_APART)
    if not left and not unshared:
        anywhere = shares.below_valley(given.loose) or anywhere
    aimed = shares.excess(given.first, given.group)
    return Counted(anywhere, evenly.tail, by_degree, left, aimed, useful)


def _by_any(given: Findings, counts: Counted, as_swapped: float) -> Array:
    """P(wrong) of edges next to pairs of any nodes, [E]."""
    count = len(given.loose)
    least = max(shares.LEAST_SHARE * (1 - counts.useful), 1e-4)
    even = np.broadcast_to(np.float32(logit(max(counts.anywhere, least))), count)
    even = given.plus_columns(even)
    lowest = float(np.log(counts.any_tail + 1e-3))
    likely = shares.likelihood(given.loose, even)
    likely = by_rows(lambda own, t: np.maximum(own, lowest + t), likely, given.loose)
    number = max(counts.anywhere - as_swapped, least) * count
    odds = shares.with_share(likely, even, number)
    return by_rows(lambda odds, own: expit(odds - own), odds, likely)


def _by_swapped(
    given: Findings, counts: Counted, loosely: Array, least: float
) -> tuple[Array, float]:
    """P(wrong) of edges next to swapped pairs, [E], and the number of all wrong ones.

    Edges with 0, 1 and 2 labelled ends have shares of their own.
    """
    prior = by_rows(lambda part: part.clip(max=shares.HIGHEST_PRIOR), given.prior)
    prior = given.plus_columns(prior)
    start = float(np.log(given.by_traits.tail + 1e-3))

    def at_least(own: Array, t: Array, suspect: Array) -> Array:
        return np.maximum(own, start + shares.SUSPECT_TAIL * suspect.clip(0, 4) + t)

    numbers = [0.0] * 3
    for _ in range(2):
        likely = shares.likelihood(given.swapped, prior)
        likely = by_rows(at_least, likely, given.swapped, given.suspicion)
        for place in range(3):
            here = in_group(given.group, place)
            if not here.any():
                continue
            by_source = counts.left * where(here, counts.by_degree).sum()
            least_here = least * here.sum()
            at_known = counts.aimed[place] * here.sum()
            number = max(by_source, at_known, least_here)
            prior[here] = shares.with_share(
                where(here, likely), where(here, prior), number
            )
            numbers[place] = max(
                max(by_source, least_here) + where(here, loosely).sum(), at_known
            )
    swapped = by_rows(lambda odds, own: expit(odds - own), prior, likely)
    return swapped, sum(numbers) + given.ring.sum()


def share_apart(
    score: Array, pairs: Array, alike: Array, pairs_alike: Array
) -> float | None:
    """Share of wrong edges next to pairs of any nodes, alike ones counted apart.

    Wrong edges between classes keep away from alike pairs, so the low end of all holds
    more of them. None where real edges look like such pairs, as in a block model.
    """
    total = 0.0
    for place in range(2):
        here, beside = in_group(alike, place), np.sort(pairs[pairs_alike == place])
        if (number := int(here.sum())) < FEWEST or len(beside) < FEWEST:
            return None
        own = host(score[shares.some(here, max(number // shares.EDGES, 1))])
        t = ndtri((np.searchsorted(beside, own) + 0.5) / (len(beside) + 1))
        found = shares.low_end(t, np.zeros((len(t), 0)), np.full(len(t), True))
        if found.separation < shares.APART[1]:
            return None
        total += float(found.share.mean()) * number
    return total / len(score)


def in_group(group: Array, place: int) -> Array:
    """Whether each edge is in a group, [E] bool."""
    return by_rows(lambda own: own == place, group, dtype=bool)


def _sure(end: shares.LowEnd, useful: float, least: float = 0.0) -> Array:
    """Share of wrong edges by their traits as far as it is sure, [E]."""
    share = by_rows(lambda part: part * end.trust * useful, end.share)
    if least:
        share *= max(0.0, 1 - (least / max(share.mean(), 1e-9)) ** 2)
    return share


def _reduced(share: Array, part: float, edges: float, pairs: float) -> Array:
    """What is left of shares of wrong edges without features, [E].

    A `part` of the real `edges` without common neighbours, as pairs are, is in them.
    """
    mean = share.mean()
    wrong = max(0.0, mean - part * edges) / (1 - part * pairs)
    left = min(1.0, wrong / max(mean, 1e-9))
    return by_rows(lambda own: own * left, share, dtype=None)
