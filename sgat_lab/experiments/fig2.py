"""Figure 2: how little the coefficients of GAT's heads differ on one edge.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sgat_lab.tables.cells import heading
from sgat_lab.tables.plots import STYLES, panels
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.probes import BINS, RANGE
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "citeseer": "Citeseer"}


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return list(DATA)


def plan(options: Options, store: Store) -> list[Task]:
    """A GAT with 8 heads in both layers, so that an edge has 16 coefficients."""
    tasks = []
    for data in options.chosen(list(DATA)):
        for seed in options.seeds:
            config = settings("gat", data, seed=seed).replace(model={"output_heads": 8})
            task = Task("gat", options.applied(config), probe="attention_variance")
            tasks.append(task)
    return tasks


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Quantiles of the variance over the edges, mean of the runs."""
    table = [["data set", "heads", "10 %", "median", "90 %", "99 %", "runs"]]
    for data, records in store.by_data(plan(options, store)).items():
        found = [list(record.extra["quantiles"].values()) for record in records]
        cells = [f"{mean:.1e}" for mean in np.mean(found, axis=0)]
        heads = str(records[0].extra["heads"])
        table.append([DATA[data], heads, *cells, str(len(records))])
    what = "Figure 2: variance of GAT's coefficients over heads and layers"
    lines = [
        *heading(what, markdown=markdown),
        "Quantiles over the edges; a coefficient is between 0 and 1.",
        "",
        *aligned(table, markdown=markdown),
    ]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """A histogram of the edges over the variance, all runs together."""
    shown = store.by_data(plan(options, store))
    centres = np.linspace(*RANGE, BINS + 1)[:-1] + (RANGE[1] - RANGE[0]) / BINS / 2
    with panels(path, [DATA[data] for data in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            counts = np.sum([record.extra["counts"] for record in records], axis=0)
            width = (RANGE[1] - RANGE[0]) / BINS
            colour = STYLES[0]["color"]
            axis.bar(centres, 100 * counts / counts.sum(), width, color=colour)
            axis.set_xlabel("variance of the 16 coefficients of an edge")
            axis.set_ylabel("share of edges (%)")
            ticks = np.arange(RANGE[0], RANGE[1] + 1, 2)
            labels = [f"$10^{{{tick:.0f}}}$" for tick in ticks]
            # The first bar also has all that is smaller.
            axis.set_xticks(ticks, [f"$\\leq${labels[0]}", *labels[1:]])
