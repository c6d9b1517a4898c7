"""Removed: the edges that go, by their probabilities, and how many of them are right.

A probability says how likely an edge is real, so sums of probabilities are expected
numbers of edges. They are as good as the probabilities are: these are a little off, so
a third of the share that a promise allows is set aside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.ops.blocks import by_rows

Array = np.ndarray[Any, Any]

USUAL = 0.5
"""The usual threshold: an edge stays if it is more likely real than wrong."""
MARGIN = 2 / 3
"""Part of a promised share that may be used up: probabilities are a little off."""
ROUNDING = 1e-12
"""Relative error of a sum that does not break a promise."""

SHIFT = np.int64(1 << 32)
"""More than any count of an edge."""


class Removed(NamedTuple):
    """The edges that go, and the expected numbers among them."""

    mask: Tensor  # whether an edge goes, [E] bool
    limit: float  # edges up to this probability go; -1 if none goes
    number: int  # of edges that go
    expected_right: float  # of these
    expected_wrong: float  # of these
    found_share: float  # share of all wrong edges that goes; 1 if none is wrong


def check_promise(at_most_wrong: float | None, find_at_least: float | None) -> None:
    """Refuse two promises at once, and a share that is not between 0 and 1."""
    if at_most_wrong is not None and find_at_least is not None:
        raise ValueError(
            "`at_most_wrong` and `find_at_least` exclude each other, got"
            f" {at_most_wrong} and {find_at_least}."
        )
    shares = {"at_most_wrong": at_most_wrong, "find_at_least": find_at_least}
    for name, share in shares.items():
        if share is not None and not 0 < share < 1:
            raise ValueError(f"`{name}` must be above 0 and below 1, got {share}.")


def describe_promise(at_most_wrong: float | None, find_at_least: float | None) -> str:
    """The edges that go, in words."""
    if at_most_wrong is not None:
        share = f"{100 * at_most_wrong:g}%"
        return f"as many as go with at most {share} right ones, a third of it set aside"
    if find_at_least is not None:
        return f"as few as find {100 * find_at_least:g}% of the wrong ones"
    return f"those with a probability of at most {USUAL:g}"


def choose_removed(
    probability: Tensor,
    *,
    count: Tensor | None = None,
    at_most_wrong: float | None = None,
    find_at_least: float | None = None,
) -> Removed:
    """Choose the edges that go, the least likely first.

        right(n) = Σ p,  wrong(n) = Σ (1 - p)          over the n lowest p
        at_most_wrong = a:  the largest n with right(n) ≤ ⅔ · a · n
        find_at_least = b:  the smallest n with wrong(n) ≥ b · wrong(E)
        neither:            all with p ≤ ½

    Edges of equal probability go or stay together, so that neither the order of the
    edges nor their direction matters.

    Args:
        probability: P(real) of each edge, [E].
        count: How many edges each stands for, [E]; None for one.
        at_most_wrong: Expected share of the removed edges that may be right.
        find_at_least: Expected share of the wrong edges that must go.

    Raises:
        ValueError: If both are given, or one is not between 0 and 1.
    """
    check_promise(at_most_wrong, find_at_least)
    p = probability.detach().float().cpu().numpy()
    n = np.ones(1, np.int32) if count is None else count.cpu().numpy()
    if not len(n) or n.min() == n.max():
        ordered, each = by_rows(np.copy, p), np.broadcast_to(n[:1], len(p))
        ordered.sort()
    else:
        # As whole numbers, probabilities have the same order; counts come behind.
        both = by_rows(lambda p, n: p.view(np.int32) * SHIFT + n, p, n, dtype=np.int64)
        both.sort()
        ordered = by_rows(
            lambda k: (k // SHIFT).astype(np.int32).view(np.float32), both
        )
        each = by_rows(lambda k: k % SHIFT, both, dtype=np.int32)
    wrong = _sums(lambda p, n: (1 - p.astype(float)) * n, ordered, each)
    if at_most_wrong is not None:
        share = MARGIN * at_most_wrong * (1 + ROUNDING)
        right = _sums(lambda p, n: p.astype(float) * n, ordered, each)
        rows = _sums(lambda n: n, each)
        goes = by_rows(lambda p, n: p <= share * n, right, rows, dtype=bool)
    elif find_at_least is not None:
        # An edge is needed if those before it are not enough.
        needed = find_at_least * wrong[-1:] * (1 - ROUNDING)
        goes = by_rows(
            lambda found, p, n: found - (1 - p.astype(float)) * n < needed,
            *(wrong, ordered, each),
            dtype=bool,
        )
    else:
        goes = by_rows(lambda p: p <= USUAL, ordered, dtype=bool)
    number = int(goes.sum())
    # Edges as likely as the last one go with it, or the last ones stay with them.
    if 0 < number < len(ordered) and ordered[number] == ordered[number - 1]:
        side: Any = "right" if find_at_least is not None else "left"
        number = int(np.searchsorted(ordered, ordered[number - 1], side=side))
    limit = float(ordered[number - 1]) if number else -1.0
    gone = int(each[:number].sum(dtype=np.int64))
    found, total = (float(wrong[n - 1]) if n else 0.0 for n in (number, len(wrong)))
    share = found / total if total else 1.0
    mask = torch.from_numpy(by_rows(lambda part: part <= limit, p, dtype=bool))
    mask = mask.to(probability.device)
    return Removed(mask, limit, gone, gone - found, found, share)


def _sums(function: Callable[..., Any], *columns: Array) -> Array:
    """The sums of a function of the rows up to each, one added after the other, [E]."""
    found = by_rows(function, *columns, dtype=float)
    return np.cumsum(found, out=found)
