"""The section on scores: their distribution, and what removing more edges does.

Tested by tests/report/test_sections.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgat.explaining.removal import RemovalPoint
from sgat.report.cards import Card
from sgat.report.charts import Mark, Series, histogram, line_chart
from sgat.report.markup import number, percent

Array = np.ndarray[Any, Any]

BINS = 60


def score_cards(
    log_alpha: Sequence[Array],
    threshold: float,
    curve: Sequence[RemovalPoint],
    score_title: str,
) -> list[Card]:
    """The distribution of log α, and what removing more or fewer edges does.

    Nothing without edges.

    Args:
        log_alpha: Scores of the edges of each graph, [E] each.
        threshold: The log α above which an edge is kept.
        curve: Score against the share of edges removed.
        score_title: Name of that score.
    """
    total = sum(map(len, log_alpha))
    if not total:
        return []
    edges = _bins(log_alpha, threshold)
    kept = np.sum([_counts(part[part > threshold], edges) for part in log_alpha], 0)
    removed = np.sum([_counts(part[part <= threshold], edges) for part in log_alpha], 0)
    counts = [("kept", kept.tolist()), ("removed", removed.tolist())]
    spread = histogram(
        "scores",
        "Distribution of log α over the edges, with the threshold",
        edges.tolist(),
        counts,
        x_title="log α",
        y_title="edges",
        mark=Mark(threshold, f"threshold {number(threshold)}"),
    )
    trained = next(point for point in curve if point.is_trained)
    roles = {
        "validation": [point.validation for point in curve],
        "test": [point.test for point in curve],
    }
    removal = line_chart(
        "removal",
        f"{score_title} against the share of edges removed",
        [point.removed for point in curve],
        [
            Series(role, values, has_markers=True)
            for role, values in roles.items()
            if any(value is not None for value in values)
        ],
        x_title="share of edges removed",
        y_title=score_title,
        x_unit="share",
        y_unit="share",
        mark=Mark(trained.removed, f"this run: {percent(trained.removed)}"),
    )
    return [
        Card(
            spread,
            "Distribution of log α",
            f"An edge is kept if its log α is above {number(threshold)}:"
            f" {int(kept.sum()):,} of {total:,}.",
            bars=True,
        ),
        Card(
            removal,
            f"{score_title[0].upper()}{score_title[1:]} against edges removed",
            "This model with its lowest-scored edges removed, not trained again."
            " Choose a share by the validation line; the test line is to be looked at"
            " once.",
        ),
    ]


def _counts(values: Array, edges: Array) -> Array:
    return np.histogram(values, edges)[0]


def _bins(log_alpha: Sequence[Array], threshold: float) -> Array:
    """Edges of bins over all scores, one of them at the threshold."""
    known = [part for part in log_alpha if len(part)]
    low = min(threshold, *(float(part.min()) for part in known))
    high = max(threshold, *(float(part.max()) for part in known))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    width = (high - low) / BINS
    first = threshold - width * np.ceil((threshold - low) / width + 1e-9)
    number_ = int(np.ceil((high - first) / width + 1e-9))
    edges = first + width * np.arange(number_ + 1)
    edges[round((threshold - first) / width)] = threshold
    return np.asarray(edges)
