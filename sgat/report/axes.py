"""Axes of a chart: from numbers to places, ticks at round numbers, grid and titles.

Tested by tests/report/test_charts.py.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

from sgat.report.markup import escape, number, percent

WIDTH, HEIGHT = 440, 270
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 26, 44
LETTER = 7.5
"""Width of a letter of a tick, about."""
Unit = Literal["share", "number"]


@dataclasses.dataclass(frozen=True)
class Axis:
    """A range of numbers on a stretch of the picture."""

    low: float
    high: float
    start: float
    end: float
    unit: Unit = "number"

    def at(self, value: float) -> float:
        """Where a number is drawn."""
        part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the range, five or so."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def text(self, value: float) -> str:
        """A tick's number."""
        if self.unit == "share":
            digits = 0 if self.high - self.low > 0.05 else 1
            return percent(value, digits)
        return number(float(f"{value:.6g}"))


def spread(
    values: Sequence[float | None], unit: Unit, *, with_zero: bool = False
) -> tuple[float, float]:
    """A range that shows all values with some room; shares stay within 0 and 1."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if with_zero or not known:
        known = [*known, 0.0]
    low, high = min(known), max(known)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    low = low if with_zero and low == 0 else low - room
    high += room
    if unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
        if high - low < 0.02:
            low, high = max(0.0, high - 0.02), max(high, 0.02)
    return low, high


def frame(
    across: Axis,
    up: Axis,
    x_title: str,
    y_title: str,
    names: Sequence[str] | None = None,
) -> str:
    """Grid, ticks and titles; names in place of numbers for bars."""
    parts = []
    for tick in up.ticks:
        y = f"{up.at(tick):.1f}"
        parts.append(
            f'<path class="grid" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
            f'<text class="tick end" x="{LEFT - 7}" y="{y}" dy="4">'
            f"{up.text(tick)}</text>"
        )
    if names is None:
        marks = [(across.at(tick), across.text(tick)) for tick in across.ticks]
    else:
        # Names that would run into each other are left out in turn.
        room = across.at(1) - across.at(0)
        widest = max((len(name) for name in names), default=0) * LETTER
        every = max(math.ceil(widest / room), 1)
        marks = [
            (across.at(n + 0.5), name) for n, name in enumerate(names) if n % every == 0
        ]
    for x, text in marks:
        parts.append(
            f'<text class="tick middle" x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}">'
            f"{escape(text)}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
        f'<text class="title middle" x="{middle}" y="{HEIGHT - 6}">'
        f"{escape(x_title)}</text>"
        f'<text class="title middle" x="13" y="{(HEIGHT - BOTTOM + TOP) / 2}"'
        f' transform="rotate(-90 13 {(HEIGHT - BOTTOM + TOP) / 2})">'
        f"{escape(y_title)}</text>"
    )
    return "".join(parts)
