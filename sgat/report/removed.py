"""The section on what was removed: before and after, kept against removed.

Tested by tests/report/test_sections.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from sgat.explaining.removal import Contrast, Removal, Side
from sgat.report.cards import Card
from sgat.report.charts import bar_chart
from sgat.report.markup import number, percent

Array = np.ndarray[Any, Any]

BAR = 150
"""Width of the longest bar beside a contrast."""


class ContrastRow(NamedTuple):
    """A property of edges: its means as text, and the widths of their bars."""

    title: str
    kept: str
    removed: str
    widths: tuple[str, str]


@dataclasses.dataclass(frozen=True)
class RemovedTables:
    """The graph before and after, and how removed edges differ from kept ones.

    Attributes:
        sides: What it is, before and after.
        contrasts: Kept against removed edges.
        degrees: Incoming edges of the nodes.
        sample: Edges of either kind behind contrasts that are sampled; None if none is.
    """

    sides: list[tuple[str, str, str]]
    contrasts: list[ContrastRow]
    degrees: Card
    sample: int | None


def removed_tables(removal: Removal) -> RemovedTables:
    """The numbers of a removal as text."""
    before, after = _side(removal.before), _side(removal.after)
    labels, shares = _degree_bins(removal.before.degrees, removal.after.degrees)
    degrees = bar_chart(
        "degrees",
        "Nodes by number of incoming edges, before and after",
        labels,
        [("before", shares[0]), ("after", shares[1])],
        x_title="incoming edges",
        y_title="share of nodes",
        y_unit="share",
    )
    text = "How many nodes receive messages from how many others."
    is_sampled = any(contrast.is_sampled for contrast in removal.contrasts)
    return RemovedTables(
        sides=[(title, value, after[title]) for title, value in before.items()],
        contrasts=[_contrast_row(contrast) for contrast in removal.contrasts],
        degrees=Card(degrees, "Incoming edges of the nodes", text, bars=True),
        sample=removal.sample if is_sampled else None,
    )


def _side(side: Side) -> dict[str, str]:
    _, mean = side.numbers["mean_degree"]
    return {
        "edges": number(side.edges),
        "edges within one class": percent(side.homophily),
        "the same, mean over nodes": percent(side.node_homophily),
        "components": number(side.components),
        "nodes in the largest": number(side.largest_component),
        "nodes without any edge": number(side.isolated),
        "mean in-degree": number(mean),
    }


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


def _contrast_row(contrast: Contrast) -> ContrastRow:
    """A share has a scale to 1; other numbers one to the larger of the two."""
    is_share = contrast.name.startswith("same_")
    pair = contrast.kept, contrast.removed
    most = max((abs(value) for value in pair if value is not None), default=0)
    scale = 1.0 if is_share else most or 1.0
    kept, removed = (percent(v) if is_share else number(v) for v in pair)
    title = contrast.title + (" *" if contrast.is_sampled else "")
    left, right = (f"{max(0.0, v or 0.0) / scale * BAR:.1f}" for v in pair)
    return ContrastRow(title, kept, removed, (left, right))
