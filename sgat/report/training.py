"""The section on training: loss, score and open edges over the epochs."""

from __future__ import annotations

from typing import Any

from sgat.report.cards import card, section
from sgat.report.charts import Chart, Mark, Series, line_chart


def training_section(
    history: Any, best_epoch: int, score_title: str
) -> tuple[str, list[Chart]]:
    """Loss, score and open edges over the epochs."""
    if not len(history):
        return section("training", "Training", "<p>No epoch was recorded.</p>"), []
    epoch = [int(value) for value in history["epoch"]]
    column = {key: _column(history, key) for key in history.columns}
    mark = Mark(best_epoch, f"model of epoch {best_epoch}")

    def lines(*chosen: tuple[str, str]) -> list[Series]:
        named = [(title, column.get(key, [])) for title, key in chosen]
        return [
            Series(title, values)
            for title, values in named
            if any(value is not None for value in values)
        ]

    loss = line_chart(
        "loss",
        "Loss over the epochs",
        epoch,
        lines(("training labels", "data_loss"), ("validation", "val_loss")),
        x_title="epoch",
        y_title="loss",
        with_zero=True,
        mark=mark,
    )
    score = line_chart(
        "score",
        f"{score_title} over the epochs",
        epoch,
        lines(("validation", "val"), ("training", "train")),
        x_title="epoch",
        y_title=score_title,
        y_unit="share",
        mark=mark,
    )
    edges = line_chart(
        "open",
        "Open edges over the epochs",
        epoch,
        lines(
            ("kept at evaluation", "kept_share"),
            ("open when drawn in training", "open_share"),
            ("expected to be open", "expected_open"),
        ),
        x_title="epoch",
        y_title="share of edges",
        y_unit="share",
        with_zero=True,
        mark=mark,
    )
    validated = (
        "Validation chooses the model."
        if any(column.get("val", []))
        else ("There are no validation nodes: the last model is taken.")
    )
    cards = [
        card(loss, "Loss", "Lower is better; validation rising means overfitting."),
        card(score, score_title[0].upper() + score_title[1:], validated),
        card(edges, "Open edges", "How the graph gets smaller while the model learns."),
    ]
    body = f'<div class="grid">{"".join(cards)}</div>'
    return section("training", "Training", body), [loss, score, edges]


def _column(history: Any, key: str) -> list[float | None]:
    values = history[key].to_list()
    return [None if v is None or v != v else float(v) for v in values]
