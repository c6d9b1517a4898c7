"""Cut: where so many rows of the highest scores end, found without holding the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from sgat.pruning.expression import float_literal

BUCKETS = 16384
"""Parts of the range of values that one pass counts."""
Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query and returns its rows."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """The rows above a place in the order of score (falling) and key (rising).

    Attributes:
        score: Rows of a higher score are above; None if none or all are.
        key: So are rows of this score with a key up to this one.
        keeps_all: Whether all rows are above, where there is no score.
        lowest_kept: Lowest score above; None without rows above.
        highest_removed: Highest score below; None without rows below.
    """

    score: float | None = None
    key: int = -1
    keeps_all: bool = False
    lowest_kept: float | None = None
    highest_removed: float | None = None

    def condition(self, row: str) -> str:
        """The SQL condition that a row is above."""
        if self.score is None:
            return "1 = 1" if self.keeps_all else "1 = 0"
        score = float_literal(self.score)
        return (
            f"{row}.score > {score} OR"
            f" ({row}.score = {score} AND {row}.key <= {self.key})"
        )


@dataclasses.dataclass(frozen=True)
class _Place:
    """A value in an order, how many rows come before it or equal it, and those beside.

    Attributes:
        value: The value.
        before: Number of rows that come before it.
        equal: Number of rows that have it.
        previous: Value of the row before; None without one.
        next: Value of the first row after; None without one.
    """

    value: Any
    before: int
    equal: int
    previous: Any
    next: Any


def find_cut(query: Query, relation: str, wanted: int) -> Cut:
    """The cut above which there are `wanted` rows.

    Rows of equal score and key stay together, so there may be fewer: as many as fit.

    Args:
        query: Runs a query.
        relation: Name of a relation with columns score (FLOAT) and key (BIGINT).
        wanted: Number of rows.
    """
    [(total, low, high)] = query(
        f"SELECT COUNT(*), MIN(score), MAX(score) FROM {relation}"
    )
    if wanted <= 0 or total == 0:
        return Cut(highest_removed=high)
    if wanted >= total:
        return Cut(keeps_all=True, lowest_kept=low)
    rows = f"SELECT score AS v FROM {relation}"
    place = _find(query, rows, wanted, (low, high), float_literal, falling=True)
    tied = wanted - place.before
    score = place.value
    if tied == place.equal:
        highest = place.next
        return Cut(score, 2**63 - 1, lowest_kept=score, highest_removed=highest)
    rows = f"SELECT key AS v FROM {relation} WHERE score = {float_literal(score)}"
    [bounds] = query(f"SELECT MIN(v), MAX(v) FROM ({rows}) AS r")
    inner = _find(query, rows, tied, bounds, str, falling=False)
    fits = inner.before + inner.equal == tied
    key = inner.value if fits else inner.value - 1
    lowest = score if fits or inner.before else place.previous
    return Cut(score, key, lowest_kept=lowest, highest_removed=score)


def _find(
    query: Query,
    rows: str,
    rank: int,
    bounds: tuple[Any, Any],
    literal: Callable[[Any], str],
    *,
    falling: bool,
) -> _Place:
    """The value at a rank, counted from 1, by counting in ever narrower ranges."""
    (low, high), before, previous, following = bounds, 0, None, None
    while True:
        start, scale = float(low), BUCKETS / max(float(high) - float(low), 1e-300)
        bucket = (
            f"LEAST(CAST(FLOOR((CAST(v AS DOUBLE) - ({start:.17E})) * {scale:.17E})"
            f" AS INT), {BUCKETS - 1})"
        )
        found = query(
            f"SELECT b, COUNT(*), MIN(v), MAX(v) FROM (SELECT v, {bucket} AS b FROM"
            f" ({rows}) AS r WHERE v BETWEEN {literal(low)} AND {literal(high)}) AS c"
            " GROUP BY b"
        )
        found.sort(reverse=falling)
        place = 0
        while before + found[place][1] < rank:
            before += found[place][1]
            place += 1
        _, count, least, most = found[place]
        first, last = (3, 2) if falling else (2, 3)
        if place > 0:
            previous = found[place - 1][last]
        if place + 1 < len(found):
            following = found[place + 1][first]
        if least == most:
            return _Place(least, before, count, previous, following)
        low, high = least, most
