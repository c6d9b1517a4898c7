"""How reading data shows itself: a bar on a terminal, nothing elsewhere.

Tested by tests/cli/test_data.py.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgat.data.fetch import Progress


@contextlib.contextmanager
def download_bar(name: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """A bar on standard error that counts once a download begins; terminals only."""
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

    what, elapsed = TextColumn("{task.description}"), TimeElapsedColumn()
    reading = (what, BarColumn(), elapsed)
    downloading = (what, BarColumn(), DownloadColumn(), TransferSpeedColumn(), elapsed)
    with Bar(*reading, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"reading {name}", total=None)

        def progress(received: int) -> None:
            bar.columns = downloading
            bar.update(task, description=f"downloading {name}", completed=received)

        yield progress
