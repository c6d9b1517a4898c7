"""The section on what was removed: before and after, kept against removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgat.explaining.removal import Contrast, Removal
from sgat.report.cards import card, section, table
from sgat.report.charts import Chart, bar_chart
from sgat.report.markup import escape, number, percent

Array = np.ndarray[Any, Any]


def removal_section(
    removal: Removal, scope: str, more: str = ""
) -> tuple[str, list[Chart]]:
    """The graph before and after, and how removed edges differ from kept ones.

    Args:
        removal: The numbers.
        scope: What they are of, in words.
        more: Another card.
    """
    before, after = removal.before, removal.after
    rows = [
        ("edges", number(before.edges), number(after.edges)),
        (
            "edges within one class",
            percent(before.homophily),
            percent(after.homophily),
        ),
        (
            "the same, mean over nodes",
            percent(before.node_homophily),
            percent(after.node_homophily),
        ),
        ("components", number(before.components), number(after.components)),
        (
            "nodes in the largest",
            number(before.largest_component),
            number(after.largest_component),
        ),
        ("nodes without any edge", number(before.isolated), number(after.isolated)),
        ("mean in-degree", _mean_degree(before.degrees), _mean_degree(after.degrees)),
    ]
    sides = table(("", "before", "after"), rows)
    labels, shares = _degree_bins(before.degrees, after.degrees)
    degrees = bar_chart(
        "degrees",
        "Nodes by number of incoming edges, before and after",
        labels,
        [("before", shares[0]), ("after", shares[1])],
        x_title="incoming edges",
        y_title="share of nodes",
        y_unit="share",
    )
    note = ""
    if any(contrast.is_sampled for contrast in removal.contrasts):
        note = (
            f"<p>Rows marked * look at {removal.sample:,} kept and as many removed"
            " edges, drawn once.</p>"
        )
    cards = [
        f'<div class="card"><h3>Before and after</h3><p>{escape(scope)}</p>{sides}'
        "</div>",
        f'<div class="card"><h3>Kept against removed edges</h3>'
        f"<p>Means over the edges of either kind.</p>"
        f"{_contrasts(removal.contrasts)}{note}</div>",
        card(
            degrees,
            "Incoming edges of the nodes",
            "How many nodes listen to how many others.",
            bars=True,
        ),
    ]
    body = f'<div class="grid">{"".join(cards)}{more}</div>'
    return section("removed", "What was removed", body), [degrees]


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


def _mean_degree(degrees: Array) -> str:
    total = int(degrees.sum())
    if not total:
        return "–"
    return number(float(degrees @ np.arange(len(degrees))) / total)


def _contrasts(contrasts: Sequence[Contrast]) -> str:
    rows = []
    for contrast in contrasts:
        is_share = contrast.name.startswith("same_")
        texts = [
            percent(value) if is_share else number(value)
            for value in (contrast.kept, contrast.removed)
        ]
        title = contrast.title + (" *" if contrast.is_sampled else "")
        rows.append((title, *texts, _pair(contrast.kept, contrast.removed, is_share)))
    cells = "".join(
        f'<tr><th scope="row">{escape(title)}</th><td>{kept}</td><td>{removed}</td>'
        f"<td>{bars}</td></tr>"
        for title, kept, removed, bars in rows
    )
    return (
        '<div class="scroll"><table class="full"><thead><tr><th></th><th>kept</th>'
        f"<th>removed</th><th></th></tr></thead><tbody>{cells}</tbody></table></div>"
    )


def _pair(kept: float | None, removed: float | None, is_share: bool) -> str:
    """Two bars on one scale; the table has the numbers."""
    known = [value for value in (kept, removed) if value is not None]
    scale = 1.0 if is_share else max((abs(value) for value in known), default=0) or 1.0
    bars = "".join(
        f'<rect class="box s{place}" x="0" y="{1 + 11 * place}" height="9"'
        f' width="{max(0.0, value or 0.0) / scale * 150:.1f}"/>'
        for place, value in enumerate((kept, removed))
    )
    return f'<svg class="pair" viewBox="0 0 150 22" aria-hidden="true">{bars}</svg>'
