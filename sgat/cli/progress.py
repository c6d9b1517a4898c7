"""How training shows itself: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgat.training.result import EpochRecord

COLUMNS = ("epoch", "loss", "validation", "open edges", "expected", "time")
ROWS = 12
"""Epochs shown in the live table at a time."""
PATIENCE = 5.0
"""Seconds without a line after which a reason is given."""
NOT_YET = (
    "getting ready: gates by evidence judge the edges first, and the first run on a"
    " machine compiles its kernels"
)


def cells(record: EpochRecord) -> tuple[str, ...]:
    """One epoch as text: the loss on the labels, gates drawn, gates expected open."""
    return (
        str(record.epoch),
        f"{record.data_loss:.4f}",
        "-" if record.val is None else f"{record.val:.1%}",
        f"{record.open_share:.1%}",
        f"{record.expected_open:.1%}",
        f"{record.seconds:.1f} s",
    )


@contextlib.contextmanager
def training_progress(
    epochs: int, *, quiet: bool
) -> Iterator[Callable[[EpochRecord], None]]:
    """Yield what to call after every epoch."""
    if quiet:
        yield lambda record: None
    elif sys.stderr.isatty():
        with _live_table(epochs) as show:
            yield show
    else:
        reason = threading.Timer(
            PATIENCE, lambda: print(NOT_YET, file=sys.stderr, flush=True)
        )
        reason.daemon = True
        reason.start()
        show = _lines(epochs)

        def tell(record: EpochRecord) -> None:
            reason.cancel()
            show(record)

        try:
            yield tell
        finally:
            reason.cancel()
            reason.join()


def _lines(epochs: int) -> Callable[[EpochRecord], None]:
    every = max(epochs // 10, 1)
    widths = (6, 9, 11, 11, 9, 9)

    def line(texts: tuple[str, ...]) -> str:
        pairs = zip(texts, widths, strict=True)
        return " ".join(text.rjust(width) for text, width in pairs)

    def show(record: EpochRecord) -> None:
        if record.epoch == 1:
            print(line(COLUMNS), file=sys.stderr)
        if record.epoch == 1 or record.epoch % every == 0 or record.epoch == epochs:
            print(line(cells(record)), file=sys.stderr, flush=True)

    return show


@contextlib.contextmanager
def _live_table(epochs: int) -> Iterator[Callable[[EpochRecord], None]]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.fields[epochs]} epochs"),
        TimeRemainingColumn(),
    )
    # The bar is on the move until it is known how long an epoch takes.
    task = bar.add_task("getting ready", total=None, epochs=epochs)
    every = max(epochs // ROWS, 1)
    rows: list[EpochRecord] = []

    def view() -> Group:
        table = Table(*COLUMNS, box=None, header_style="bold")
        for column in table.columns:
            column.justify = "right"
        for record in rows:
            table.add_row(*cells(record))
        return Group(table, bar)

    console = Console(stderr=True)
    with Live(view(), console=console, refresh_per_second=8) as live:

        def show(record: EpochRecord) -> None:
            is_new_row = record.epoch % every == 0 or not rows
            if is_new_row or record.epoch == epochs:
                rows.append(record)
            else:
                rows[-1:] = [record]
            del rows[:-ROWS]
            done = record.epoch
            bar.update(task, description="training", completed=done, total=epochs)
            live.update(view())

        yield show


@contextlib.contextmanager
def trainings_progress(
    name: str, *, quiet: bool
) -> Iterator[Callable[[int, int], None] | None]:
    """A report of how many trainings are done: a bar, or lines, or nothing."""
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield _training_lines(name)
    else:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn(f"{name}: trainings"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
        )
        console = Console(file=sys.stderr)
        # A training may well take longer than the 30 seconds rich looks back.
        with Progress(*columns, console=console, speed_estimate_period=3600) as bar:
            task = bar.add_task("trainings", total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def _training_lines(name: str) -> Callable[[int, int], None]:
    said = -1

    def tell(done: int, total: int) -> None:
        nonlocal said
        tenth = 10 * done // max(total, 1)
        if tenth != said:
            said = tenth
            print(f"{name}: {done} of {total} trainings", file=sys.stderr, flush=True)

    return tell
