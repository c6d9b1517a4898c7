"""Card: a chart with its title, a sentence, and its values as a table.

Tested by tests/report/test_sections.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sgat.report.charts import Chart
from sgat.report.markup import number, percent

MOST_ROWS = 24
"""Rows of the table below a chart."""


@dataclasses.dataclass(frozen=True)
class Card:
    """A chart and the text around it.

    Attributes:
        chart: The chart.
        title: Its title.
        text: What it shows.
        bars: Whether it is made of bars.
    """

    chart: Chart
    title: str
    text: str
    bars: bool = False

    @property
    def head(self) -> tuple[str, ...]:
        """Titles of the columns of `values`."""
        return (self.chart.data["xTitle"], *self.chart.data["names"])

    @property
    def values(self) -> list[list[str]]:
        """The values of the chart, thinned out to some rows."""
        data = self.chart.data
        heads = data.get("labels") or data["x"]
        chosen = np.arange(len(heads))
        if len(heads) > MOST_ROWS:
            chosen = np.linspace(0, len(heads) - 1, MOST_ROWS).round().astype(int)
        return [
            [
                _text(heads[place], data.get("xUnit", "number")),
                *(_text(column[place], data["yUnit"]) for column in data["y"]),
            ]
            for place in chosen.tolist()
        ]


def _text(value: Any, unit: str) -> str:
    if isinstance(value, str):
        return value
    return percent(value) if unit == "share" else number(value)
