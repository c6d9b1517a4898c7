"""Sections, cards and tables: what the parts of the page are put into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgat.report.charts import Chart
from sgat.report.markup import escape, number, percent

MOST_ROWS = 24
"""Rows of the table below a chart."""


def section(identifier: str, title: str, body: str) -> str:
    """A part of the page with a heading of its own."""
    return (
        f'<section id="{identifier}" aria-labelledby="{identifier}-title">'
        f'<h2 id="{identifier}-title">{escape(title)}</h2>{body}</section>'
    )


def card(chart: Chart, title: str, text: str, *, bars: bool = False) -> str:
    """A chart with its title, what it says, the names of its lines, and its values."""
    return (
        f'<figure class="card"><h3>{escape(title)}</h3><p>{text}</p>{chart.svg}'
        f"{_swatches(chart.data['names'], bars)}{_values(chart)}</figure>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first cell of each row says what the row is."""
    titles = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="scroll"><table class="full"><thead><tr>{titles}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _swatches(names: Sequence[str], bars: bool) -> str:
    items = []
    for place, text in enumerate(names):
        shape = (
            f'<rect class="box s{place}" width="14" height="12"/>'
            if bars
            else f'<path class="swatch s{place}" d="M0 6H30"/>'
        )
        items.append(
            f'<li><svg viewBox="0 0 30 12" aria-hidden="true">{shape}</svg>'
            f"{escape(text)}</li>"
        )
    return f'<ul class="swatches">{"".join(items)}</ul>'


def _values(chart: Chart) -> str:
    """The values of a chart as a table, thinned out to some rows."""
    data = chart.data
    heads = data.get("labels") or data["x"]
    if not len(heads):
        return ""
    chosen = range(len(heads))
    if len(heads) > MOST_ROWS:
        chosen = np.linspace(0, len(heads) - 1, MOST_ROWS).round().astype(int).tolist()

    def text(value: Any, unit: str) -> str:
        if value is None or isinstance(value, str):
            return value or "–"
        return percent(value) if unit == "share" else number(value)

    rows = [
        [
            text(heads[place], data.get("xUnit", "number")),
            *(text(column[place], data["yUnit"]) for column in data["y"]),
        ]
        for place in chosen
    ]
    values = table((data["xTitle"], *data["names"]), rows)
    return f"<details><summary>Values</summary>{values}</details>"
