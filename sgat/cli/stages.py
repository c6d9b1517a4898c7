"""How a work of several stages shows itself: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

REFRESH = 0.25
"""Seconds between two looks at the progress of a stage."""


class Stages:
    """What to call as the stages go by.

    Attributes:
        share: Returns how much of the stage is done, in percent, or less than 0 where
            nobody knows; may be set at any time.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self.show = show
        self.share: Callable[[], float] = lambda: -1.0

    def tell(self, stage: str) -> None:
        """Begin a stage."""
        self.show(stage)


@contextlib.contextmanager
def stage_progress(*, quiet: bool) -> Iterator[Stages]:
    """Yield what to call as the stages go by."""
    if quiet:
        yield Stages(lambda stage: None)
    elif sys.stderr.isatty():
        with _bar() as stages:
            yield stages
    else:
        start = time.perf_counter()
        yield Stages(
            lambda stage: print(
                f"{time.perf_counter() - start:7.1f} s  {stage}",
                file=sys.stderr,
                flush=True,
            )
        )


@contextlib.contextmanager
def _bar() -> Iterator[Stages]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description:<32}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("starting", total=None)
    stages = Stages(lambda stage: bar.update(task, description=stage, total=None))
    is_over = threading.Event()

    def follow() -> None:
        while not is_over.wait(REFRESH):
            # The engine may just be closing.
            with contextlib.suppress(Exception):
                done = stages.share()
                known: dict[str, Any] = {"total": 100, "completed": done}
                bar.update(task, **(known if done >= 0 else {"total": None}))

    follower = threading.Thread(target=follow, daemon=True)
    with bar:
        follower.start()
        try:
            yield stages
        finally:
            is_over.set()
            follower.join()
