"""Cells and headings of the lab's tables; `text_table`, beside it, lays tables out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def heading(text: str, *, markdown: bool = False) -> list[str]:
    """The heading of a table, and an empty line."""
    return [f"## {text}" if markdown else text, ""]


def percent(values: Sequence[float]) -> str:
    """Mean ± standard deviation in per cent, for shares of 1; empty without values.

    A single value has no deviation.
    """
    if not values:
        return ""
    mean = f"{100 * statistics.fmean(values):.1f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {100 * statistics.stdev(values):.1f}"


def with_error(values: Sequence[float], *, is_gap: bool = True) -> str:
    """Mean ± standard error; empty without values, and a single one has no error.

    A gap has a sign. Other numbers have a second decimal of their error.
    """
    if not values:
        return ""
    mean = statistics.fmean(values)
    shown = f"{mean:+.1f}" if is_gap else f"{mean:.1f}"
    if len(values) == 1:
        return shown
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f"{shown} ± {error:.{1 if is_gap else 2}f}"
