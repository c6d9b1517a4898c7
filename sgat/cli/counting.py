"""How counted work shows itself: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

Count = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
PATIENCE = 2.0
"""Seconds before a line is written, and between two lines."""


@contextlib.contextmanager
def counting(what: str, *, quiet: bool, first: str | None = None) -> Iterator[Count]:
    """Yield what to call as work is done.

    A terminal has a bar from the start, and nothing of it is left in the end. Elsewhere
    work of two seconds shows nothing.

    Args:
        what: What is counted.
        quiet: Show nothing.
        first: What is done before anything can be counted; None if nothing is.
    """
    if quiet:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _bar(what, first or what) as show:
            yield show
    else:
        yield _lines(what)


def _lines(what: str) -> Count:
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if 0 < done < total and time.monotonic() - last >= PATIENCE:
            last = time.monotonic()
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return show


@contextlib.contextmanager
def _bar(what: str, first: str) -> Iterator[Count]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[number]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None, number="")

        def show(done: int, total: int) -> None:
            number = f"{done:,} of {total:,}"
            bar.update(
                task, description=what, completed=done, total=total, number=number
            )

        yield show
