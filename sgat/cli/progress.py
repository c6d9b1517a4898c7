"""How work shows itself: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from sgat.data.fetch import Progress
    from sgat.training.choosing import Step
    from sgat.training.result import EpochRecord

Show = Callable[["EpochRecord | Step | str"], None]
"""Called with each epoch that is done, each candidate of a search to be trained, and
the name of each other stage."""
Count = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
PAUSE = 2.0
"""Seconds before a line of counted work is written, and between two lines."""
REFRESH = 0.25
"""Seconds between two looks at the progress of a stage."""
COLUMNS = ("epoch", "loss", "validation", "open edges", "expected", "time")
PATIENCE = 2.0
"""Seconds after which a stage is named."""
BEAT = 5.0
"""Seconds, at least, until it is named again, or another epoch is shown."""
SLOWER = 0.2
"""Share of the time of a stage after which it is named again, if that is more."""


def _bar(*columns: Any) -> Bar:
    """A bar on standard error that leaves nothing behind."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    # What is read may have a name that looks like markup.
    first = TextColumn("{task.description}", markup=False), BarColumn()
    return Progress(*first, *columns, console=Console(stderr=True), transient=True)


@contextlib.contextmanager
def named(stage: str) -> Iterator[None]:
    """Name a stage that takes long, again and again, in plain lines."""
    begin, is_over = time.monotonic(), threading.Event()

    def follow() -> None:
        pause = PATIENCE
        while not is_over.wait(pause):
            passed = time.monotonic() - begin
            print(f"{stage} … {passed:.0f} s", file=sys.stderr, flush=True)
            pause = max(BEAT, SLOWER * passed)

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        is_over.set()
        follower.join()


@contextlib.contextmanager
def counting(what: str, *, quiet: bool, first: str | None = None) -> Iterator[Count]:
    """Yield the function to call as work is done.

    A terminal shows a bar from the start: `first`, until something can be counted.
    Elsewhere work of two seconds shows nothing.
    """
    if quiet:
        yield lambda done, total: None
    elif not sys.stderr.isatty():
        last = time.monotonic()
        with contextlib.ExitStack() as stage:
            stage.enter_context(named(first or what))

            def show(done: int, total: int) -> None:
                nonlocal last
                if 0 < done < total and time.monotonic() - last >= PAUSE:
                    stage.close()
                    last = time.monotonic()
                    print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

            yield show
    else:
        from rich.progress import TimeRemainingColumn

        with _bar("{task.fields[number]}", TimeRemainingColumn()) as bar:
            task = bar.add_task(first or what, total=None, number="")
            yield lambda done, total: bar.update(
                task,
                description=what,
                completed=done,
                total=total,
                number=f"{done:,} of {total:,}",
            )


@contextlib.contextmanager
def download_bar(name: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """A bar on standard error that counts once a download begins, on a terminal."""
    if quiet or not sys.stderr.isatty():
        with contextlib.nullcontext() if quiet else named(f"reading {name}"):
            yield None
        return
    from rich.progress import DownloadColumn, TimeElapsedColumn, TransferSpeedColumn

    with _bar(TimeElapsedColumn()) as bar:
        task = bar.add_task(f"reading {name}", total=None)
        reading = bar.columns
        amounts = DownloadColumn(), TransferSpeedColumn()

        def progress(received: int) -> None:
            bar.columns = (*reading[:-1], *amounts, reading[-1])
            bar.update(task, description=f"downloading {name}", completed=received)

        yield progress


class Stages:
    """Work of several stages; `tell` begins one, by its name."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        # Percent done, less than 0 where nobody knows; may be set at any time.
        self.share: Callable[[], float] = lambda: -1.0


@contextlib.contextmanager
def stage_progress(*, quiet: bool) -> Iterator[Stages]:
    """Yield the stages, to be told as they go by."""
    start = time.perf_counter()

    def say(stage: str) -> None:
        passed = time.perf_counter() - start
        print(f"{passed:7.1f} s  {stage}", file=sys.stderr, flush=True)

    if quiet:
        yield Stages(lambda stage: None)
    elif sys.stderr.isatty():
        with _stage_bar() as stages:
            yield stages
    else:
        yield Stages(say)


@contextlib.contextmanager
def _stage_bar() -> Iterator[Stages]:
    from rich.progress import TimeElapsedColumn

    bar = _bar(TimeElapsedColumn())
    task = bar.add_task(f"{'starting':<32}", total=None)
    stages = Stages(
        lambda stage: bar.update(task, description=f"{stage:<32}", total=None)
    )
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
def training_progress(epochs: int, *, quiet: bool) -> Iterator[Show]:
    """Yield the function to call after every epoch, and before every candidate."""
    if quiet:
        yield lambda record: None
    elif sys.stderr.isatty():
        with _epoch_bar(epochs) as show:
            yield show
    else:
        write = _epoch_lines(epochs)
        with contextlib.ExitStack() as stage:

            def tell(news: EpochRecord | Step | str) -> None:
                stage.close()
                if isinstance(news, str):
                    stage.enter_context(named(news))
                else:
                    write(news)

            yield tell


def _epoch_lines(
    epochs: int, *, has_bar: bool = False
) -> Callable[[EpochRecord | Step], None]:
    every = max(epochs // 10, 1)
    widths = (6, 9, 11, 11, 9, 9)

    def line(texts: tuple[str, ...]) -> str:
        pairs = zip(texts, widths, strict=True)
        return " ".join(text.rjust(width) for text, width in pairs)

    last = time.monotonic()

    def show(news: EpochRecord | Step) -> None:
        nonlocal last
        is_due = time.monotonic() - last >= BEAT
        if isinstance(news, tuple):
            if not news.done or (is_due and not has_bar):
                text = (
                    f"round {news.rung} of {news.rungs}, candidate {news.number} of"
                    f" {news.total}: {news.name}, {news.epochs} epochs"
                )
                if news.done:
                    text = f"epoch {news.done} of {news.epochs}".rjust(sum(widths))
                print(text, file=sys.stderr, flush=True)
                last = time.monotonic()
            return
        if news.epoch == 1:
            print(line(COLUMNS), file=sys.stderr)
        is_due |= news.epoch == 1 or news.epoch % every == 0
        if is_due or news.epoch == epochs:
            print(line(cells(news)), file=sys.stderr, flush=True)
            last = time.monotonic()

    return show


@contextlib.contextmanager
def _epoch_bar(epochs: int) -> Iterator[Show]:
    """A bar, and above it the lines that are written elsewhere."""
    from rich.progress import TimeRemainingColumn

    number = "{task.completed}/{task.fields[epochs]} epochs"
    with _bar(number, TimeRemainingColumn()) as bar:
        # It is on the move until it is known how long an epoch takes.
        task = bar.add_task("getting ready", total=None, epochs=epochs)
        write = _epoch_lines(epochs, has_bar=True)

        def show(news: EpochRecord | Step | str) -> None:
            if isinstance(news, str):
                bar.reset(task, description=news, total=None)
                return
            write(news)
            if isinstance(news, tuple):
                done, total = news.done, news.epochs
                if not done:
                    bar.reset(task)
            else:
                done, total = news.epoch, epochs
            known: dict[str, Any] = {"completed": done, "total": total}
            known["epochs"] = total
            bar.update(task, description="training", **known)

        yield show
