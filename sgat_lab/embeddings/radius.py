"""Radius: how far around a node others are near it."""

from __future__ import annotations

from collections.abc import Callable

MOST_PAIRS = 50_000_000
"""Pairs of near nodes beyond which there is no memory for them."""


def find_radius(
    count: Callable[[float], int], number: int, widest: float, tolerance: float
) -> float:
    """The smallest radius within which at least `number` ordered pairs of nodes are.

    Args:
        count: How many there are within a radius.
        number: How many there should be.
        widest: A radius that has all pairs in it; the answer where they are too few.
        tolerance: By how much the answer may be too large, as a share of `widest`.

    Raises:
        ValueError: If there are too many pairs, as where many nodes share a place.
    """
    low, high = 0.0, 0.0 if count(0.0) >= number else widest
    while high - low > tolerance * widest:
        middle = (low + high) / 2
        low, high = (low, middle) if count(middle) >= number else (middle, high)
    found = count(high)
    if found > MOST_PAIRS:
        raise ValueError(
            f"At most {MOST_PAIRS} pairs of nodes can be near each other, got {found}"
            f" where {number} were sought; take a smaller graph, or one with smaller"
            " hubs, whose neighbours share a place."
        )
    return high
