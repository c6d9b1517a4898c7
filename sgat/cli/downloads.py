"""How a download shows itself: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from sgat.data.fetch import Progress


@contextlib.contextmanager
def download_bar(name: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """A bar on standard error that appears once a download begins; terminals only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeElapsedColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(f"downloading {name}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    bar = Bar(*columns, console=Console(file=sys.stderr), transient=True)

    def progress(received: int) -> None:
        if not bar.task_ids:
            bar.add_task("download", total=None)
            bar.start()
        bar.update(bar.task_ids[0], completed=received)

    try:
        yield progress
    finally:
        bar.stop()
