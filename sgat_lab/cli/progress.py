"""How many trainings are done: a bar on a terminal, plain lines elsewhere.

Tested by tests/lab/cli/test_compare.py.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


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
