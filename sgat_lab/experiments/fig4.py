"""Figure 4: accuracy and kept edges over the epochs of training.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

from sgat_lab.tables.cells import heading
from sgat_lab.tables.plots import band, legend_below, panels
from sgat_lab.tables.published import FIGURES
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {
    "cora": "Cora",
    "twitch": "Twitch, in place of PPI",
    "texas": "Texas",
}
ROW = "sgat-2head"


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return list(DATA)


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with two heads, each epoch written down."""
    return [
        Task(ROW, options.applied(settings(ROW, data, seed=seed)), probe="history")
        for data in options.chosen(list(DATA))
        for seed in options.seeds
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """The first and last epochs, mean of the runs."""
    header = ["data set", "epoch", "validation", "edges kept", "gates open in training"]
    table = [header]
    for data, records in store.by_data(plan(options, store)).items():
        for epoch in (0, records[0].epochs // 2, records[0].epochs - 1):
            means = [
                sum(record.extra[key][epoch] for record in records) / len(records)
                for key in ("val", "kept_share", "open_share")
            ]
            table.append(
                [DATA[data], str(epoch + 1), *(f"{mean:.1%}" for mean in means)]
            )
    what = "Figure 4: accuracy and kept edges over the epochs"
    lines = heading(what, markdown=markdown)
    lines += [*aligned(table, markdown=markdown), "", FIGURES["epochs"]]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per data set: validation score and shares of edges."""
    shown = store.by_data(plan(options, store))
    curves = {
        "val": "validation score",
        "kept_share": "edges kept at evaluation",
        "open_share": "gates open in training",
    }
    with panels(path, [DATA[data] for data in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            epochs = range(1, records[0].epochs + 1)
            for style, (key, label) in enumerate(curves.items()):
                runs = [[100 * v for v in record.extra[key]] for record in records]
                band(axis, epochs, runs, style, label, marks=False)
            axis.set_xlabel("epoch")
            axis.set_ylabel("per cent")
            axis.set_ylim(-3, 103)
        legend_below(axes)
