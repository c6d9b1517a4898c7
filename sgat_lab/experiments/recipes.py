"""Recipes: baselines on the citation graphs with the settings their papers give.

The tables run every method with settings that one search chose for all. Whether a
baseline is the method that was published shows only with the published settings, which
are what its row starts from (`configs/methods`).
"""

from __future__ import annotations

import statistics

from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.published import ELSEWHERE
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import title, unsearched
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

ROWS = ("gcn", "gat", "gat-authors")
DATA = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed"}


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """Each baseline on each graph."""
    return [
        task
        for data in options.chosen(list(DATA))
        for row in options.chosen(ROWS)
        for task in _tasks(row, data, options)
    ]


def _tasks(row: str, data: str, options: Options) -> list[Task]:
    return [
        Task(row, options.applied(unsearched(row, data, seed=seed)))
        for seed in options.seeds
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Scores beside those that were published."""
    table = [["method", "data set", "accuracy (%)", "published", "away", "runs"]]
    for row in options.chosen(ROWS):
        for data in options.chosen(list(DATA)):
            found = [store.find(task) for task in _tasks(row, data, options)]
            tests = [record.test for record in found if record is not None]
            if not tests:
                continue
            published = ELSEWHERE[row, data]
            assert published.value is not None
            away = 100 * statistics.fmean(tests) - published.value
            spread = "" if published.spread is None else f" ± {published.spread}"
            table.append(
                [
                    *(title(row), DATA[data], percent(tests)),
                    *(f"{published.value}{spread}", f"{away:+.1f}", str(len(tests))),
                ]
            )
    lines = heading("Baselines with the settings of their papers", markdown=markdown)
    lines += [
        "Mean ± standard deviation; published, and how far we are from it, in points.",
        "",
    ]
    return "\n".join([*lines, *aligned(table, markdown=markdown)]) + "\n"
