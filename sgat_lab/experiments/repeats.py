"""Repeats: SGAT against the paper and others, with five times the seeds of a table.

Ten runs leave a standard error of 0.3 points on citation graphs and of 1 to 2 on small
disassortative ones, where each fixed split has one training. That is as much as the
gaps of interest, so that the luck of ten seeds passes for a result.
"""

from __future__ import annotations

import dataclasses

from sgat_lab.experiments import table2, table3
from sgat_lab.tables import method_table
from sgat_lab.tables.cells import heading, with_error
from sgat_lab.tables.method_table import Column
from sgat_lab.tables.published import find_published
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import title
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

TIMES = 5
"""Factor on the seeds of a table."""
SGAT, RECOMMENDED = "sgat-2head", "sgat-recommended"
ROWS = (SGAT, RECOMMENDED, "gat-2head", "mlp")
COMPARED = ("cora", "citeseer", "pubmed", "photo")
"""Assortative graphs on which the recommended row is compared with others."""
CLEAN = tuple(
    column._replace(rows=ROWS[:3] if column.data in COMPARED else (SGAT,))
    for column in table2.COLUMNS
    if column.data in ("cora", "citeseer", "pubmed", "computers", "photo")
)
"""Assortative graphs, without added edges."""
DISASSORTATIVE = tuple(
    column._replace(
        title=f"{column.title}, {protocol}", rows=(SGAT, RECOMMENDED, "mlp")
    )
    for split, protocol in (("random-60-20-20", "random"), ("geom-gcn", "fixed"))
    for column in table3.columns(split)
    if column.data != "cornell-2020"
)
COLUMNS = (*CLEAN, *DISASSORTATIVE)


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *dict.fromkeys(column.data for column in COLUMNS)]


def _repeated(options: Options) -> Options:
    return dataclasses.replace(options, runs=TIMES * options.runs)


def plan(options: Options, store: Store) -> list[Task]:
    """The trainings of all columns, those of the tables among them."""
    return method_table.plan(ROWS, COLUMNS, _repeated(options), store)


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Scores over the seeds of a table, and over all."""
    many = method_table.cells(ROWS, COLUMNS, _repeated(options), store)
    records = {key: cell.records for key, cell in many.items()}
    lines = heading("Repeats: five times the seeds of the tables", markdown=markdown)
    lines += [
        "Mean ± standard error over the seeds of the tables, and over"
        f" {TIMES} times as many; accuracy in per cent, differences to another row in"
        " points, paired by seed. Fixed splits: a seed's split is its last digit.",
        "",
    ]
    table = [["method", "data set", "accuracy", "with more", "paper"]]
    table[0] += ["less", "difference", "with more", "runs"]
    asked = options.chosen(ROWS)
    # Rows to compare with have lines of their own where nothing else is asked for.
    for row in [row for row in asked if row in ROWS[:2]] or asked:
        for column in COLUMNS:
            found = records.get((row, column), [])
            if len(found) > len(options.seeds) or (options.quick and found):
                table += [
                    _line(row, column, found, other, records, options)
                    for other in _others(row, column)
                ]
    lines += aligned(table, markdown=markdown, left=(0, 1, 5))
    return "\n".join(lines) + "\n"


def _others(row: str, column: Column) -> list[str]:
    """The rows to compare with; an empty name where there are none."""
    others = [name for name in column.rows or () if name not in (row, RECOMMENDED)]
    if column in DISASSORTATIVE and row in ROWS[:2]:
        return ["mlp"]
    return others if row == RECOMMENDED else [""]


def _line(
    row: str,
    column: Column,
    found: list[Record],
    other: str,
    records: dict[tuple[str, Column], list[Record]],
    options: Options,
) -> list[str]:
    first = [record for record in found if record.seed in options.seeds]
    published = find_published(row, column.data, column.split)
    scores = [[100 * record.test for record in part] for part in (first, found)]
    others = records.get((other, column), [])
    gaps = [_gaps(part, others) for part in (first, found)]
    return [
        *(title(row), column.title),
        *(with_error(part, is_gap=False) for part in scores),
        "" if published is None else published.printed,
        title(other) if other else "",
        *(*map(with_error, gaps), str(len(found))),
    ]


def _gaps(records: list[Record], others: list[Record]) -> list[float]:
    """Difference of each record's score to that of the same seed."""
    of_seed = {record.seed: record.test for record in others}
    return [
        100 * (record.test - of_seed[record.seed])
        for record in records
        if record.seed in of_seed
    ]
