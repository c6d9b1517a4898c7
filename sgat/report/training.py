"""The section on training: loss, score and open edges over the epochs.

Tested by tests/report/test_sections.py.
"""

from __future__ import annotations

from typing import Any

from sgat.report.cards import Card
from sgat.report.charts import Chart, Mark, Series, line_chart


def training_cards(history: Any, best_epoch: int, score_title: str) -> list[Card]:
    """Loss, score and open edges over the epochs; nothing without epochs."""
    if not len(history):
        return []
    epoch = [int(value) for value in history["epoch"]]
    column = {key: _column(history, key) for key in history.columns}

    def chart(
        key: str, what: str, y_title: str, *lines: tuple[str, str], **options: Any
    ) -> Chart:
        named = [Series(title, column.get(name, [])) for title, name in lines]
        known = [line for line in named if any(v is not None for v in line.y)]
        mark = Mark(best_epoch, f"model of epoch {best_epoch}")
        options |= {"x_title": "epoch", "y_title": y_title, "mark": mark}
        return line_chart(key, f"{what} over the epochs", epoch, known, **options)

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


def _column(history: Any, key: str) -> list[float | None]:
    values = history[key].to_list()
    return [None if v is None or v != v else float(v) for v in values]
