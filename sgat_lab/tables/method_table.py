"""Methods against data sets: plan the trainings, and lay out what they came to."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sgat_lab.tables.cells import heading, percent, with_error
from sgat_lab.tables.published import Published, find_published
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings, title
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

TOP_K = "gat-2head-top-k"
"""Rows of this name remove as many edges as this row's gates closed:"""
TOP_K_LIKE = "sgat-2head"
NOT_RUN = "not run"
"""Stands where the paper has a number and we have none."""
ARCHITECTURES = (
    "Architectures: the rows SGAT, 1 head and SGAT, 2 heads have the shape of the"
    " authors' code: one hidden attention layer, then an attention layer of one head"
    " (two on Pubmed, averaged) that gives the class scores, and a learned number in"
    " every log α. The row SGAT, 2 heads, as the paper's text has two attention layers"
    " of two heads with ReLU, no learned number in log α and no bias vectors (eq. 9 and"
    " 14), and a linear classifier (section 4.2). The paper prints one number for both."
)


class Column(NamedTuple):
    """A data set under a protocol.

    Attributes:
        data: Name of the data set.
        split: Name of the split; None for the data set's own.
        title: What the column is called.
        rows: The rows that are run on it; None for all.
    """

    data: str
    split: str | None
    title: str
    rows: tuple[str, ...] | None = None


def plan(
    rows: Sequence[str], columns: Sequence[Column], options: Options, store: Store
) -> list[Task]:
    """The trainings of a table, as far as they can be known already.

    The rows of top-k attention take their share from records of SGAT, and are planned
    once those are there.
    """
    data = options.chosen([column.data for column in columns])
    chosen = options.chosen(rows)
    tasks = []
    for column in columns:
        if column.data not in data:
            continue
        for row in chosen:
            if column.rows is not None and row not in column.rows:
                continue
            if row.startswith(TOP_K):
                tasks += _top_k(row, column, options, store)
            else:
                tasks += [_task(row, column, seed, options) for seed in options.seeds]
    return tasks


def _task(row: str, column: Column, seed: int, options: Options) -> Task:
    return Task(row, options.applied(settings(row, column.data, column.split, seed)))


def _top_k(row: str, column: Column, options: Options, store: Store) -> list[Task]:
    like = [_task(TOP_K_LIKE, column, seed, options) for seed in options.seeds]
    records = [store.find(task) for task in like]
    known = [record.removed_sampled for record in records if record is not None]
    if len(known) < len(like):
        return like
    share = round(statistics.fmean(known), 3)
    tasks = []
    for seed in options.seeds:
        config = _task(row, column, seed, options).config
        removed = {**config.model.options, "remove": share}
        tasks.append(Task(row, config.replace(model={"options": removed})))
    return tasks


class Cell(NamedTuple):
    """The runs of one row in one column."""

    records: list[Record]
    published: Published | None

    @property
    def removed(self) -> float:
        """Mean share of edges that evaluation removes, in per cent."""
        return 100 * statistics.fmean(record.removed for record in self.records)

    @property
    def removed_sampled(self) -> float:
        """The same for the gates drawn in training."""
        return 100 * statistics.fmean(r.removed_sampled for r in self.records)

    @property
    def all_seconds(self) -> list[float]:
        """Time of each training."""
        return [record.seconds for record in self.records]

    @property
    def seconds(self) -> float:
        """Mean time of a training."""
        return statistics.fmean(self.all_seconds)

    @property
    def deviations(self) -> float | None:
        """Mean score less what was published, in standard deviations (the larger)."""
        if self.published is None or self.published.value is None:
            return None
        if len(self.records) < 2:
            return None
        scores = [100 * record.test for record in self.records]
        spread = max(statistics.stdev(scores), self.published.spread or 0.0)
        away = statistics.fmean(scores) - self.published.value
        return away / spread if spread else None


def cells(
    rows: Sequence[str], columns: Sequence[Column], options: Options, store: Store
) -> dict[tuple[str, Column], Cell]:
    """The cells of a table; those without any record are left out."""
    found: dict[tuple[str, Column], Cell] = {}
    for column in columns:
        for row in rows:
            tasks = plan([row], [column], options, store)
            records = [record for task in tasks if (record := store.find(task))]
            records = [record for record in records if record.row == row]
            if records:
                source = find_published(row, column.data, column.split)
                found[row, column] = Cell(records, source)
    return found


def render(
    what: str,
    rows: Sequence[str],
    columns: Sequence[Column],
    options: Options,
    store: Store,
    *,
    markdown: bool = False,
) -> str:
    """The table of scores, then that of removed edges and of times.

    A cell of the paper that was not run here says so. Rows and columns without a run
    and without a cell of the paper are left out.
    """
    data = options.chosen([column.data for column in columns])
    columns = [column for column in columns if column.data in data]
    chosen = options.chosen(rows)
    found = cells(chosen, columns, options, store)
    known = {(r, c): p for r in chosen for c in columns if (p := _of_the_paper(r, c))}
    shown = [c for c in columns if any(key[1] == c for key in (*found, *known))]
    present = [row for row in rows if any(key[0] == row for key in (*found, *known))]
    runs = max((len(cell.records) for cell in found.values()), default=0)
    lines = [
        *heading(what, markdown=markdown),
        f"Score in per cent (accuracy, or micro-F1 for several labels), mean ±"
        f" standard deviation of {runs} {'run' if runs == 1 else 'runs'}, unless fewer"
        " are named; in brackets what was published.",
        "",
    ]

    def table(cell_text: Callable[[Cell], str]) -> list[list[str]]:
        body = [["method", *(column.title for column in shown)]]
        for row in present:
            texts = []
            for column in shown:
                cell = found.get((row, column), Cell([], known.get((row, column))))
                texts.append(cell_text(cell))
            body.append([title(row), *texts])
        return body

    lines += aligned(table(lambda cell: _score(cell, runs)), markdown=markdown)
    header, *removed = table(_removed)
    removed = [r for r in removed if any(x not in ("", "0.0 / 0.0") for x in r[1:])]
    if removed:
        lines += ["", "Edges removed in per cent, self-loops left out: by evaluation"]
        lines[-1] += " gates / by the gates drawn in training in the selected epoch;"
        lines[-1] += " in brackets what was published. Edges that a method adds count"
        lines[-1] += " against those it removes."
        lines += ["", *aligned([header, *removed], markdown=markdown)]
    header, *times = table(_seconds)
    times = [line for line in times if any(line[1:])]
    sums = [[cell for key, cell in found.items() if key[1] == c] for c in shown]
    minutes = [
        sum(s for cell in cells for s in cell.all_seconds) / 60 for cells in sums
    ]
    times.append(["all runs, in minutes", *(f"{sum_:.0f}" for sum_ in minutes)])
    lines += ["", "Seconds of one training, without what is done to a graph before it:"]
    lines += ["", *aligned([header, *times], markdown=markdown)]
    lines += _apart(found)
    published = [*known.values(), *(cell.published for cell in found.values())]
    sources = {number.citation for number in published if number}
    if sources:
        lines += ["", f"Published by {'; '.join(sorted(sources))}."]
    return "\n".join(lines) + "\n"


def _of_the_paper(row: str, column: Column) -> Published | None:
    """The cell of the paper's own table, if it has one."""
    found = find_published(row, column.data, column.split)
    return found if found is not None and found.table is not None else None


def _apart(found: Mapping[tuple[str, Column], Cell]) -> list[str]:
    """A sentence on the cells that are away from what was published."""
    known = [(*key, d) for key, cell in found.items() if (d := cell.deviations)]
    if not known:
        return []
    away = [
        f"{title(row)} on {column.title} ({deviations:+.1f})"
        for row, column, deviations in known
        if abs(deviations) > 1
    ]
    what = f"Of {len(known)} cells with a published number {len(known) - len(away)}"
    what += " are within one standard deviation of it (the larger of ours and theirs)"
    tail = f"; the others, in standard deviations: {', '.join(away)}" if away else ""
    return ["", f"{what}{tail}."]


def paired(
    row: str,
    other: str,
    columns: Sequence[Column],
    options: Options,
    store: Store,
    *,
    markdown: bool = False,
) -> list[str]:
    """The lines of a table: one row's score less another's, seed by seed."""
    found = cells([row, other], columns, options, store)
    table = [["data set", "difference in points", "runs"]]
    for column in columns:
        if (row, column) in found and (other, column) in found:
            tests = [
                {record.seed: record.test for record in found[name, column].records}
                for name in (row, other)
            ]
            both = sorted(tests[0].keys() & tests[1].keys())
            gaps = [100 * (tests[0][seed] - tests[1][seed]) for seed in both]
            if len(gaps) > 1:
                table.append([column.title, with_error(gaps), str(len(gaps))])
    if len(table) == 1:
        return []
    what = f"{title(row)} less {title(other)}, paired by seed, ± standard error:"
    return [what, "", *aligned(table, markdown=markdown), ""]


def _score(cell: Cell, runs: int) -> str:
    known = "" if cell.published is None else f" [{cell.published.printed}]"
    if not cell.records:
        return f"{NOT_RUN}{known}" if known else ""
    text = percent([record.test for record in cell.records])
    number = len(cell.records)
    few = f" ({number} {'run' if number == 1 else 'runs'})" if number < runs else ""
    return f"{text}{few}{known}"


def _removed(cell: Cell) -> str:
    removed = None if cell.published is None else cell.published.removed
    known = "" if removed is None else f" [{removed}]"
    if not cell.records:
        return f"{NOT_RUN}{known}" if known else ""
    return f"{cell.removed:.1f} / {cell.removed_sampled:.1f}{known}"


def _seconds(cell: Cell) -> str:
    return f"{cell.seconds:.1f}" if cell.records else ""
