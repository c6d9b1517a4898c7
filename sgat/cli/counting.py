"""How counted work shows itself: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

Count = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
PATIENCE = 2.0
"""Seconds before anything is shown, and between two lines."""


@contextlib.contextmanager
def counting(what: str, *, quiet: bool) -> Iterator[Count]:
    """Yield what to call as work is done; work of two seconds shows nothing."""
    if quiet:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _bar(what) as show:
            yield show
    else:
        yield _lines(what)


def _lines(what: str) -> Count:
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if done < total and time.monotonic() - last >= PATIENCE:
            last = time.monotonic()
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return show


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Count]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task, begun = bar.add_task(""), time.monotonic()

    def show(done: int, total: int) -> None:
        if time.monotonic() - begun >= PATIENCE:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        bar.stop()
