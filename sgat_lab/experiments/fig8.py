"""Figure 8: t-SNE of the penultimate features of GAT and SGAT.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

from sgat.explaining.pictures import COLOURS
from sgat_lab.tables.cells import heading
from sgat_lab.tables.plots import panels
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "texas": "Texas"}
ROWS = {"gat-2head": "GAT", "sgat-2head": "SGAT"}
MARKERS = "os^Dv*P<>X"


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """Both methods with two heads and the first seed."""
    return [
        Task(row, options.applied(settings(row, data)), probe="map_of_nodes")
        for data in options.chosen(list(DATA))
        for row in options.chosen(list(ROWS))
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Silhouette of the classes in the features themselves, before t-SNE."""
    table = [["data set", "method", "silhouette", "test accuracy (%)"]]
    for data, records in store.by_data(plan(options, store)).items():
        for record in records:
            silhouette = f"{record.extra['silhouette']:.3f}"
            score = f"{100 * record.test:.1f}"
            table.append([DATA[data], ROWS[record.row], silhouette, score])
    what = "Figure 8: how far the classes lie apart in the penultimate features"
    lines = [
        *heading(what, markdown=markdown),
        "Silhouette of the true classes, -1 to 1, higher is further apart; seed 0.",
        "",
        *aligned(table, markdown=markdown, left=(0, 1)),
    ]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per method and data set; a colour and a shape for each class."""
    shown = store.by_data(plan(options, store))
    records = [record for group in shown.values() for record in group]
    titles = [f"{ROWS[r.row]} on {DATA[r.data]}" for r in records]
    with panels(path, titles, height=4.0) as axes:
        for axis, record in zip(axes, records, strict=True):
            found = record.extra
            for number in sorted(set(found["label"])):
                chosen = [k for k, y in enumerate(found["label"]) if y == number]
                axis.scatter(
                    [found["x"][k] for k in chosen],
                    [found["y"][k] for k in chosen],
                    s=9,
                    marker=MARKERS[number % len(MARKERS)],
                    color=COLOURS[number % len(COLOURS)],
                    linewidths=0,
                    label=f"class {number}",
                )
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_xlabel("t-SNE, first axis")
            axis.set_ylabel("t-SNE, second axis")
            axis.grid(False)
            axis.legend(frameon=False, fontsize=7, markerscale=1.6, ncols=2)
