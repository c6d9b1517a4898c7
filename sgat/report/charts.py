"""Charts as inline SVG: lines, histograms and bars, readable without colours.

Colours, dashes and hatching come from the style sheet by class, so that a chart follows
dark mode and print. What the pointer or the arrow keys show beside a chart travels as
data (`Chart.data`) to the script of the page.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sgat.report.page import escape, number, percent

WIDTH, HEIGHT = 440, 270
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 26, 44
LETTER = 7.5
"""Width of a letter of a tick, about."""
Unit = Literal["share", "number"]


@dataclasses.dataclass(frozen=True)
class Chart:
    """A drawing and the values behind it."""

    key: str  # its name in the page
    svg: str
    data: dict[str, Any]  # for tooltips and the table below the chart


class Mark(NamedTuple):
    """An upright line at an x, and what it says."""

    at: float
    text: str


@dataclasses.dataclass(frozen=True)
class Series:
    """A line: its name and its values, None where there is none."""

    name: str
    y: Sequence[float | None]
    has_markers: bool = False


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
        size, letter = (1e6, "M") if self.high >= 1e6 else (1e3, "k")
        if value and self.high >= 1e5:
            return f"{number(float(f'{value / size:.6g}'))}{letter}"
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


def line_chart(
    key: str,
    title: str,
    x: Sequence[float],
    series: Sequence[Series],
    *,
    x_title: str,
    y_title: str,
    x_unit: Unit = "number",
    y_unit: Unit = "number",
    with_zero: bool = False,
    mark: Mark | None = None,
) -> Chart:
    """Lines over common x values, with an upright mark at a notable place.

    Lines without any value are left out.
    """
    series = [line for line in series if any(value is not None for value in line.y)]
    x_low, x_high = (min(x), max(x)) if len(x) else (0.0, 1.0)
    if x_low == x_high:
        x_low, x_high = x_low - 0.5, x_high + 0.5
    across = Axis(x_low, x_high, LEFT, WIDTH - RIGHT, x_unit)
    values = [value for line in series for value in line.y]
    low, high = spread(values, y_unit, with_zero=with_zero)
    up = Axis(low, high, HEIGHT - BOTTOM, TOP, y_unit)
    parts = [frame(across, up, x_title, y_title)]
    if mark is not None:
        parts.append(_mark(across, mark))
    for place, line in enumerate(series):
        parts.append(_line(line, x, across, up, place))
    data = {
        "kind": "line",
        "x": list(x),
        "xTitle": x_title,
        "xUnit": x_unit,
        "yUnit": y_unit,
        "names": [line.name for line in series],
        "y": [_finite(line.y) for line in series],
        "xAxis": [x_low, x_high, across.start, across.end],
        "yAxis": [low, high, up.start, up.end],
    }
    return Chart(key, _svg(key, title, parts), data)


def histogram(
    key: str,
    title: str,
    edges: Sequence[float],
    counts: Sequence[tuple[str, Sequence[int]]],
    *,
    x_title: str,
    y_title: str,
    mark: Mark | None = None,
) -> Chart:
    """Stacked counts between the given edges of bins."""
    totals = [sum(values) for values in zip(*(c for _, c in counts), strict=True)]
    across = Axis(edges[0], edges[-1], LEFT, WIDTH - RIGHT)
    up = Axis(0, (max(totals, default=0) or 1) * 1.08, HEIGHT - BOTTOM, TOP)
    parts = [frame(across, up, x_title, y_title)]
    base = [0.0] * len(totals)
    for place, (_, values) in enumerate(counts):
        for bin_, value in enumerate(values):
            if value:
                left, right = across.at(edges[bin_]), across.at(edges[bin_ + 1])
                top = up.at(base[bin_] + value)
                height = up.at(base[bin_]) - top
                parts.append(_bar(left, top, right - left, height, place))
                base[bin_] += value
    if mark is not None and edges[0] <= mark.at <= edges[-1]:
        parts.append(_mark(across, mark))
    data = {
        "kind": "bars",
        "labels": [f"{number(a)} to {number(b)}" for a, b in itertools.pairwise(edges)],
        "xTitle": x_title,
        "yUnit": "number",
        "names": [name for name, _ in counts],
        "y": [list(values) for _, values in counts],
        "places": [across.at((a + b) / 2) for a, b in itertools.pairwise(edges)],
    }
    return Chart(key, _svg(key, title, parts), data)


def bar_chart(
    key: str,
    title: str,
    labels: Sequence[str],
    groups: Sequence[tuple[str, Sequence[float]]],
    *,
    x_title: str,
    y_title: str,
    y_unit: Unit = "number",
) -> Chart:
    """Bars side by side, one group for each label."""
    values = [value for _, group in groups for value in group]
    high = (max(values, default=0) or 1) * 1.08
    across = Axis(0, max(len(labels), 1), LEFT, WIDTH - RIGHT)
    up = Axis(0, high, HEIGHT - BOTTOM, TOP, y_unit)
    parts = [frame(across, up, x_title, y_title, names=labels)]
    width = (across.at(1) - across.at(0)) * 0.76 / max(len(groups), 1)
    places = [across.at(n + 0.5) for n in range(len(labels))]
    for place, (_, group) in enumerate(groups):
        for n, value in enumerate(group):
            left = places[n] + (place - len(groups) / 2) * width
            top = up.at(value)
            parts.append(_bar(left, top, width, up.start - top, place))
    data = {
        "kind": "bars",
        "labels": list(labels),
        "xTitle": x_title,
        "yUnit": y_unit,
        "names": [name for name, _ in groups],
        "y": [list(group) for _, group in groups],
        "places": places,
    }
    return Chart(key, _svg(key, title, parts), data)


def _finite(values: Sequence[float | None]) -> list[float | None]:
    return [v if v is not None and math.isfinite(v) else None for v in values]


def _svg(key: str, title: str, parts: Sequence[str]) -> str:
    body = "".join(parts)
    return (
        f'<svg class="chart" id="chart-{key}" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' role="img" tabindex="0" aria-label="{escape(title)}">{body}'
        '<g class="cursor"></g></svg>'
    )


def _line(line: Series, x: Sequence[float], across: Axis, up: Axis, place: int) -> str:
    """A path with gaps where there is no value; a dot where it has no neighbour."""
    known = [value is not None and math.isfinite(value) for value in line.y]
    path, dots = [], []
    for n, value in enumerate(line.y):
        if value is None or not known[n]:
            continue
        has_left = n > 0 and known[n - 1]
        has_right = n + 1 < len(known) and known[n + 1]
        point = f"{across.at(x[n]):.1f} {up.at(value):.1f}"
        path.append(f"{'L' if has_left else 'M'}{point}")
        if line.has_markers or not (has_left or has_right):
            cx, cy = point.split()
            dots.append(f'<circle class="dot s{place}" cx="{cx}" cy="{cy}" r="3"/>')
    return f'<path class="line s{place}" d="{"".join(path)}"/>{"".join(dots)}'


def _bar(x: float, y: float, width: float, height: float, place: int) -> str:
    return (
        f'<rect class="bar s{place}" x="{x:.2f}" y="{y:.2f}"'
        f' width="{max(width - 0.6, 0.4):.2f}" height="{height:.2f}"/>'
    )


def _mark(across: Axis, mark: Mark) -> str:
    x = across.at(mark.at)
    side, shift = ("start", 6) if x < WIDTH * 0.6 else ("end", -6)
    return (
        f'<path class="mark" d="M{x:.1f} {TOP - 4}V{HEIGHT - BOTTOM}"/>'
        f'<text class="mark-text {side}" x="{x + shift:.1f}" y="{TOP - 8}">'
        f"{escape(mark.text)}</text>"
    )
