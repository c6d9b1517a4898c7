"""The chart of what was removed: incoming edges of the nodes, before and after.

Tested in tests/report/test_sections.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sgat.explaining.removal import Removal
from sgat.report.cards import Card
from sgat.report.charts import bar_chart

Array = np.ndarray[Any, Any]


def degree_card(removal: Removal) -> Card:
    """Nodes by number of incoming edges."""
    labels, shares = _degree_bins(removal.before.degrees, removal.after.degrees)
    chart = bar_chart(
        "degrees",
        "Nodes by number of incoming edges, before and after",
        labels,
        [("before", shares[0]), ("after", shares[1])],
        x_title="incoming edges",
        y_title="share of nodes",
        y_unit="share",
    )
    text = "How many nodes receive messages from how many others."
    return Card(chart, "Incoming edges of the nodes", text, bars=True)


def _degree_bins(before: Array, after: Array) -> tuple[list[str], list[list[float]]]:
    """Shares of nodes with 0, 1, 2, 3–4, 5–8, … incoming edges."""
    most = max(len(before), len(after)) - 1
    starts = [0, 1, 2]
    while starts[-1] < most:
        starts.append(2 * (starts[-1] - 1) + 1 if starts[-1] > 2 else 3)
    starts = [start for start in starts if start <= max(most, 1)]
    ends = [*(start - 1 for start in starts[1:]), max(most, starts[-1])]
    labels = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        is_last = place == len(starts) - 1
        short = f"{start}+" if is_last and end > start else f"{start}–{end}"
        labels.append(str(start) if start == end else short)
    shares = []
    for counts in (before, after):
        total = max(int(counts.sum()), 1)
        pairs = zip(starts, ends, strict=True)
        shares.append([float(counts[a : b + 1].sum()) / total for a, b in pairs])
    return labels, shares
