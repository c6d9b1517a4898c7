"""Sections of the page with charts: training, scores of the edges, what was removed."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from sgat.explaining.removal import Removal, RemovalPoint
from sgat.ops.blocks import in_threads
from sgat.report.charts import Chart, Mark, Series, bar_chart, histogram, line_chart
from sgat.report.page import number, percent
from sgat.scored import EdgeScores

Array = np.ndarray[Any, Any]

MOST_ROWS = 24
"""Rows of the table below a chart."""
BINS = np.linspace(0, 1, 61)
"""Bounds of the bars of probabilities."""


@dataclasses.dataclass(frozen=True)
class Card:
    """A chart with its title, a sentence, and its values as a table."""

    chart: Chart
    title: str
    text: str

    @property
    def head(self) -> tuple[str, ...]:
        """Titles of the columns of `values`."""
        return (self.chart.data["xTitle"], *self.chart.data["names"])

    @property
    def values(self) -> list[list[str]]:
        """The values of the chart, thinned out to some rows."""
        data = self.chart.data
        heads = data.get("labels") or data["x"]
        length = len(heads)
        chosen = np.linspace(0, length - 1, min(length, MOST_ROWS)).round().astype(int)
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


def training_cards(history: Any, best_epoch: int, score_title: str) -> list[Card]:
    """Loss, score and open edges over the epochs; nothing without epochs."""
    if not len(history):
        return []
    column = history.astype(object).where(history.notna(), None).to_dict("list")

    def chart(
        key: str, what: str, y_title: str, *lines: tuple[str, str], **options: Any
    ) -> Chart:
        named = [Series(title, column.get(name, [])) for title, name in lines]
        mark = Mark(best_epoch, f"model of epoch {best_epoch}")
        options |= {"x_title": "epoch", "y_title": y_title, "mark": mark}
        return line_chart(
            key, f"{what} over the epochs", column["epoch"], named, **options
        )

    labels = ("training labels", "data_loss"), ("validation", "val_loss")
    loss = chart("loss", "Loss", "loss", *labels, with_zero=True)
    roles = ("validation", "val"), ("training", "train")
    score = chart("score", score_title, score_title, *roles, y_unit="share")
    shares = (
        ("kept at evaluation", "kept_share"),
        ("open in an epoch of training", "open_share"),
        ("expected to be open in training", "expected_open"),
    )
    how: dict[str, Any] = {"y_unit": "share", "with_zero": True}
    edges = chart("open", "Open edges", "share of edges", *shares, **how)
    validated = "Validation chooses the model."
    if not any(column.get("val", [])):
        validated = "There are no validation nodes: the last model is taken."
    return [
        Card(loss, "Loss", "Lower is better; validation rising means overfitting."),
        Card(score, score_title[0].upper() + score_title[1:], validated),
        Card(edges, "Open edges", "How the graph gets smaller while the model learns."),
    ]


def score_cards(
    edges: Sequence[EdgeScores],
    curve: Sequence[RemovalPoint],
    score_title: str,
    *,
    is_judged: bool,
) -> list[Card]:
    """How likely gates are open, unless edges were judged; the curve of edges removed.

    Nothing without edges.
    """
    if not sum(len(part.kept) for part in edges):
        return []
    trained = next(point for point in curve if point.is_trained)
    removal = line_chart(
        "removal",
        f"{score_title} against the share of edges removed",
        [point.removed for point in curve],
        [
            Series("validation", [point.validation for point in curve], True),
            Series("test", [point.test for point in curve], True),
        ],
        x_title="share of edges removed",
        y_title=score_title,
        x_unit="share",
        y_unit="share",
        mark=Mark(trained.removed, f"this run: {percent(trained.removed)}"),
    )
    cards = [
        Card(
            removal,
            f"{score_title[0].upper()}{score_title[1:]} against edges removed",
            "This model with its lowest-scored edges removed, not trained again."
            " Choose a share by the validation line; the test line is to be looked at"
            " once.",
        ),
    ]
    if is_judged:
        return cards
    counts = np.sum([_counts(part) for part in edges], axis=0)
    spread = histogram(
        "scores",
        "Distribution of the probability that a gate is open",
        BINS.tolist(),
        list(zip(("kept", "removed"), counts.tolist(), strict=True)),
        x_title="probability that the gate is open",
        y_title="edges",
        mark=Mark(0.5, "border 0.5"),
    )
    text = f"An edge is kept above one half: {counts[0].sum():,} of {counts.sum():,}."
    return [Card(spread, "How likely gates are open", text), *cards]


def _counts(edges: EdgeScores) -> Array:
    """How many edges that are kept, and others, are in each bin, [2, bins]."""
    kept, open_ = edges.kept.numpy(), edges.probability.numpy()

    def count(rows: slice) -> Array:
        sides = kept[rows], ~kept[rows]
        return np.stack([np.histogram(open_[rows][side], BINS)[0] for side in sides])

    return sum(in_threads(count, len(kept)), start=np.zeros((2, len(BINS) - 1), int))


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
    return Card(chart, "Incoming edges of the nodes", text)


def _degree_bins(
    before: list[int], after: list[int]
) -> tuple[list[str], list[list[float]]]:
    """Shares of nodes with 0, 1, 2, 3–4, 5–8, … incoming edges."""
    most = max(len(before), len(after)) - 1
    growing = (0, 1, *(2**power + 1 for power in range(40)))
    starts = [start for start in growing if start <= max(most, 1)]
    ends = [*(start - 1 for start in starts[1:]), max(most, starts[-1])]
    bins = list(zip(starts, ends, strict=True))
    labels = [str(a) if a == b else f"{a}–{b}" for a, b in bins]
    if ends[-1] > starts[-1]:
        labels[-1] = f"{starts[-1]}+"
    shares = [
        [sum(counts[a : b + 1]) / max(sum(counts), 1) for a, b in bins]
        for counts in (before, after)
    ]
    return labels, shares
