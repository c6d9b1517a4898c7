"""Charts as inline SVG: lines, histograms and bars, readable without colours.

Colours, dashes and hatching come from the style sheet by class, so that a chart follows
dark mode and print. What the pointer or the arrow keys show beside a chart travels as
data (`Chart.data`) to the script of the page.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from sgat.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Unit,
    frame,
    spread,
)
from sgat.report.markup import escape, number


@dataclasses.dataclass(frozen=True)
class Chart:
    """A drawing and the values behind it.

    Attributes:
        key: Name of the chart in the page.
        svg: The drawing.
        data: Columns and rows for tooltips and the table below the chart.
    """

    key: str
    svg: str
    data: dict[str, Any]


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

    Raises:
        ValueError: If a line does not have one value for each x.
    """
    for line in series:
        if len(line.y) != len(x):
            raise ValueError(f"{line.name!r} must have {len(x)} values.")
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
        "places": [across.at((a + b) / 2) for a, b in _pairs(edges)],
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


def _pairs(edges: Sequence[float]) -> list[tuple[float, float]]:
    return list(itertools.pairwise(edges))


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
