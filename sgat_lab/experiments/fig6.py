"""Figure 6: accuracy and removed edges against λ, the price of an open edge.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

from sgat_lab.config import LabConfig
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.plots import band, legend_below, panels
from sgat_lab.tables.published import FIGURES
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "photo": "Photo", "texas": "Texas"}
ROW = "sgat-2head"
PRICES = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return list(DATA)


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with two heads at every price."""
    return [
        task
        for data in options.chosen(list(DATA))
        for price in (PRICES[1::3] if options.quick else PRICES)
        for task in _tasks(data, price, options)
    ]


def _tasks(data: str, price: float, options: Options) -> list[Task]:
    configs = [settings(ROW, data, seed=seed) for seed in options.seeds]
    changes = {"l0_weight": price, "keep": None}
    return [Task(ROW, options.applied(c.replace(train=changes))) for c in configs]


def _by_price(records: list[Record]) -> dict[float, list[Record]]:
    found: dict[float, list[Record]] = {}
    for record in records:
        price = LabConfig.from_dict(record.settings).train.l0_weight
        found.setdefault(price, []).append(record)
    return found


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Accuracy and removed shares at every price, mean and spread of the runs."""
    table = [["data set", "λ", "accuracy (%)", "removed (%)", "sampled (%)", "runs"]]
    for data, records in store.by_data(plan(options, store)).items():
        for price, runs in _by_price(records).items():
            columns = ([getattr(r, k) for r in runs] for k in _COLUMNS)
            cells = [percent(values) for values in columns]
            table.append([DATA[data], f"{price:g}", *cells, str(len(runs))])
    lines = [
        *heading("Figure 6: accuracy and removed edges against λ", markdown=markdown),
        "λ is the price of one expected open edge, so its meaning changes with the",
        "number of edges.",
        "",
        *aligned(table, markdown=markdown),
        "",
        FIGURES["price"],
    ]
    return "\n".join(lines) + "\n"


_COLUMNS = ("test", "removed", "removed_sampled")


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per data set; λ = 0 stands at the left end."""
    shown = store.by_data(plan(options, store))
    labels = {
        "test": "test accuracy",
        "removed": "edges removed at evaluation",
        "removed_sampled": "gates closed in training",
    }
    with panels(path, [DATA[data] for data in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            groups = _by_price(records)
            places = list(range(len(groups)))
            for style, (key, label) in enumerate(labels.items()):
                columns = [[100 * getattr(r, key) for r in g] for g in groups.values()]
                number = min(len(column) for column in columns)
                runs = [[column[k] for column in columns] for k in range(number)]
                band(axis, places, runs, style, label)
            axis.set_xticks(places, [f"{price:g}" for price in groups], fontsize=8)
            axis.set_xlabel("λ")
            axis.set_ylabel("per cent")
            axis.set_ylim(-3, 103)
        legend_below(axes)
