"""Sections of the page with charts: training, and scores of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgat.explaining.removal import RemovalPoint
from sgat.report.cards import Card
from sgat.report.charts import Chart, Mark, Series, histogram, line_chart
from sgat.report.markup import number, percent

Array = np.ndarray[Any, Any]

BINS = 60


def training_cards(history: Any, best_epoch: int, score_title: str) -> list[Card]:
    """Loss, score and open edges over the epochs; nothing without epochs."""
    if not len(history):
        return []
    column = history.astype(object).where(history.notna(), None).to_dict("list")

    def chart(
        key: str, what: str, y_title: str, *lines: tuple[str, str], **options: Any
    ) -> Chart:
        named = [Series(title, column.get(name, [])) for title, name in lines]
        known = [line for line in named if any(v is not None for v in line.y)]
        mark = Mark(best_epoch, f"model of epoch {best_epoch}")
        options |= {"x_title": "epoch", "y_title": y_title, "mark": mark}
        return line_chart(
            key, f"{what} over the epochs", column["epoch"], known, **options
        )

    labels = ("training labels", "data_loss"), ("validation", "val_loss")
    loss = chart("loss", "Loss", "loss", *labels, with_zero=True)
    roles = ("validation", "val"), ("training", "train")
    score = chart("score", score_title, score_title, *roles, y_unit="share")
    shares = (
        ("kept at evaluation", "kept_share"),
        ("open when drawn in training", "open_share"),
        ("expected to be open", "expected_open"),
    )
    how: dict[str, Any] = {"y_unit": "share", "with_zero": True}
    edges = chart("open", "Open edges", "share of edges", *shares, **how)
    validated = (
        "Validation chooses the model."
        if any(column.get("val", []))
        else "There are no validation nodes: the last model is taken."
    )
    return [
        Card(loss, "Loss", "Lower is better; validation rising means overfitting."),
        Card(score, score_title[0].upper() + score_title[1:], validated),
        Card(edges, "Open edges", "How the graph gets smaller while the model learns."),
    ]


def score_cards(
    log_alpha: Sequence[Array],
    threshold: float,
    curve: Sequence[RemovalPoint],
    score_title: str,
) -> list[Card]:
    """The distribution of log α, [E] of each graph, and the curve of edges removed.

    Nothing without edges.
    """
    total = sum(map(len, log_alpha))
    if not total:
        return []
    edges = _bins(log_alpha, threshold)
    kept, removed = (
        np.sum([np.histogram(p[side(p, threshold)], edges)[0] for p in log_alpha], 0)
        for side in (np.greater, np.less_equal)
    )
    spread = histogram(
        "scores",
        "Distribution of log α over the edges, with the threshold",
        edges.tolist(),
        [("kept", kept.tolist()), ("removed", removed.tolist())],
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
