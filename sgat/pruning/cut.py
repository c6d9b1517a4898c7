"""Cut: where so many rows of the highest scores end, found without holding the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from sgat.pruning.expression import float_literal

BUCKETS = 16384
"""Parts of the range of scores that one pass counts."""
LAST_KEY = 2**63 - 1
Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query and returns its rows."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """The rows above a place in the order of score (falling) and key (rising).

    Attributes:
        condition: The SQL condition that a row `s` is above.
        lowest_kept: Lowest score above; None without rows above.
        highest_removed: Highest score below; None without rows below.
    """

    condition: str
    lowest_kept: float | None = None
    highest_removed: float | None = None


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
        return Cut("1 = 0", highest_removed=high)
    if wanted >= total:
        return Cut("1 = 1", lowest_kept=low)
    score, tied, equal = _score_at(query, relation, wanted, low, high)
    value, key = float_literal(score), LAST_KEY
    if tied < equal:
        found = query(
            f"SELECT key FROM {relation} WHERE score = {value} ORDER BY key"
            f" LIMIT 2 OFFSET {tied - 1}"
        )
        [(key,), (following,)] = found
        key -= key == following
    condition = f"s.score > {value} OR (s.score = {value} AND s.key <= {key})"
    [bounds] = query(
        f"SELECT MIN(CASE WHEN {condition} THEN score END),"
        f" MAX(CASE WHEN {condition} THEN NULL ELSE score END) FROM {relation} AS s"
    )
    return Cut(condition, *bounds)


def _score_at(
    query: Query, relation: str, rank: int, low: float, high: float
) -> tuple[float, int, int]:
    """The score at a rank, the place in its ties, and their number; all from 1.

    Each pass counts the rows in ever narrower ranges from `low` to `high`.
    """
    while True:
        scale = BUCKETS / max(high - low, 1e-300)
        bucket = (
            f"LEAST(CAST(FLOOR((CAST(score AS DOUBLE) - ({low:.17E})) * {scale:.17E})"
            f" AS INT), {BUCKETS - 1})"
        )
        found = query(
            f"SELECT b, COUNT(*), MIN(score), MAX(score) FROM (SELECT score, {bucket}"
            f" AS b FROM {relation} WHERE score BETWEEN {float_literal(low)} AND"
            f" {float_literal(high)}) AS c GROUP BY b"
        )
        ranges = iter(sorted(found, reverse=True))
        _, count, low, high = next(ranges)
        while count < rank:
            rank -= count
            _, count, low, high = next(ranges)
        if low == high:
            return low, rank, count
