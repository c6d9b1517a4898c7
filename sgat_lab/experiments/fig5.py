"""Figure 5: accuracy when edges are removed by log α, lowest or highest first.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

from sgat_lab.tables.cells import heading
from sgat_lab.tables.plots import band, legend_below, panels
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.probes import SHARES
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "photo": "Photo", "texas": "Texas"}
ROW = "sgat-2head"
ORDERS = {
    "low": "lowest log α first",
    "random": "at random",
    "high": "highest log α first",
}


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return list(DATA)


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with two heads; edges are removed after training."""
    return [
        Task(ROW, options.applied(settings(ROW, data, seed=seed)), probe="removal")
        for data in options.chosen(list(DATA))
        for seed in options.seeds
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Accuracy at every second share, mean of the runs."""
    places = range(0, len(SHARES), 2)
    table = [["data set", "removed", *(f"{SHARES[place]:.0%}" for place in places)]]
    for data, records in store.by_data(plan(options, store)).items():
        for order, label in ORDERS.items():
            runs = [record.extra[order] for record in records]
            means = [sum(run[place] for run in runs) / len(runs) for place in places]
            table.append([DATA[data], label, *(f"{100 * mean:.1f}" for mean in means)])
    what = "Figure 5: test accuracy (%) after removing edges of a trained SGAT"
    lines = [
        *heading(what, markdown=markdown),
        *aligned(table, markdown=markdown, left=(0, 1)),
    ]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per data set, one line per order."""
    shown = store.by_data(plan(options, store))
    with panels(path, [DATA[data] for data in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            for style, (order, label) in enumerate(ORDERS.items()):
                runs = [[100 * v for v in record.extra[order]] for record in records]
                band(axis, [100 * share for share in SHARES], runs, style, label)
            axis.set_xlabel("edges removed (%)")
            axis.set_ylabel("test accuracy (%)")
        legend_below(axes)
