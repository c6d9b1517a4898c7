"""run_tasks(): do what is not done yet, in several processes, and survive a stop."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from sgat_lab.trials.record import Record
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task
from sgat_lab.trials.trial import Trials

POLL = 0.5
"""Seconds between looks at what other processes have done."""

Progress = Callable[[int, int], None]
"""Called with how many tasks are done, and of how many."""


def run_tasks(
    tasks: Sequence[Task],
    store: Store,
    *,
    processes: int = 1,
    device: str = "auto",
    root: str | None = None,
    progress: Progress | None = None,
) -> list[Record]:
    """The record of every task, from the store or from a training now.

    Finished tasks are not repeated. Several processes, and several commands with the
    same store, share the work: each takes tasks that no other is at.

    Args:
        tasks: What to train.
        store: Where records are and go.
        processes: How many to train in at once; the cores are shared among them.
        device: Where to train.
        root: Folder of the named data sets.
        progress: Called with how many tasks are done, and of how many.

    Raises:
        ValueError: If a task failed; the others are done nevertheless.
        KeyboardInterrupt: If asked to stop; what is finished stays.
    """
    tasks = list({task.key: task for task in tasks}.values())
    total = len(tasks)
    missing = [task for task in tasks if store.find(task) is None]
    done = total - len(missing)

    def report(number: int) -> None:
        if progress is not None:
            progress(done + number, total)

    report(0)
    if len(missing) > 1 and processes > 1:
        failures = _in_processes(missing, store, processes, device, root, report)
    else:
        failures = work(missing, store, device=device, root=root, report=report)
    if failures:
        failed = next(task for task in tasks if task.key in failures)
        config = failed.config
        raise ValueError(
            f"{len(failures)} of {total} trainings failed, the first {failed.row} on"
            f" {config.data.name} with seed {config.train.seed}: {failures[failed.key]}"
        )
    return [record for task in tasks if (record := store.find(task)) is not None]


def run_planned(
    plan: Callable[[], list[Task]], store: Store, **options: Any
) -> list[Record]:
    """Run what is planned, and what is planned from the records of that.

    Args:
        plan: The tasks, as far as they can be known from the store.
        store: Where records are and go.
        options: As of `run_tasks`.
    """
    planned: set[str] = set()
    records: list[Record] = []
    while True:
        tasks = plan()
        keys = {task.key for task in tasks}
        if keys == planned:
            return records
        planned = keys
        records = run_tasks(tasks, store, **options)


def work(
    tasks: Sequence[Task],
    store: Store,
    *,
    device: str,
    root: str | None,
    report: Callable[[int], None] = lambda number: None,
) -> dict[str, str]:
    """Run tasks until each is done here or elsewhere; the failures by key.

    Bad data or settings, too little memory (for which torch has several errors) and
    other errors of torch fail a task and not the rest. What keeps records from being
    written is raised: the rest would be trained for nothing.
    """
    trials = Trials(root=root, device=device)
    left, failures = list(tasks), {}
    while left:
        waiting = []
        for number, task in enumerate(left):
            with store.claim(task) as is_mine:
                if is_mine:
                    try:
                        store.save(trials.run(task))
                    except (ValueError, MemoryError, RuntimeError) as error:
                        failures[task.key] = " ".join(str(error).split())
                elif store.find(task) is None:
                    waiting.append(task)
            others = len(left) - number - 1
            report(len(tasks) - others - len(waiting))
        if waiting:
            time.sleep(POLL)
        left = waiting
    return failures


def _in_processes(
    missing: list[Task],
    store: Store,
    processes: int,
    device: str,
    root: str | None,
    report: Callable[[int], None],
) -> dict[str, str]:
    context = multiprocessing.get_context("spawn")
    reports = context.SimpleQueue()
    threads = max((os.cpu_count() or 1) // processes, 1)
    # Tasks are sent when all processes are on their way: handed over at the start,
    # many of them would make each start wait for the one before.
    orders = [context.SimpleQueue() for _ in range(min(processes, len(missing)))]
    workers: list[BaseProcess] = []
    failures: dict[str, str] = {}
    try:
        with _deaf_to_ctrl_c():
            for order in orders:
                given = (order, store.folder, device, root, threads, reports)
                workers.append(context.Process(target=_worker, args=given, daemon=True))
                workers[-1].start()
        for order in orders:
            order.put(missing)
        keys = {task.key for task in missing}
        while any(worker.is_alive() for worker in workers):
            failures |= _received(reports)
            report(len(keys & store.keys()) + len(failures))
            time.sleep(POLL)
        failures |= _received(reports)
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.terminate()
            if worker.pid is not None:
                worker.join()
    codes = [worker.exitcode for worker in workers if worker.exitcode]
    if codes and len(failures) < len(missing):
        undone = sum(store.find(task) is None for task in missing) - len(failures)
        if undone:
            raise ValueError(
                f"A process ended with code {codes[0]} and {undone} trainings are not"
                " done; run the same command again, with fewer `processes` if memory"
                " was short."
            )
    report(len(missing))
    return failures


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; a process that is started meanwhile always does.

    A terminal sends it to all of them, and the one that started the others ends them.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread may do this, and only a handler of Python can be put back.
    if not is_main or before is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _received(reports: Any) -> dict[str, str]:
    """The failures reported so far; an error that ended a process is raised here."""
    failures: dict[str, str] = {}
    while not reports.empty():
        report = reports.get()
        if isinstance(report, Exception):
            raise report
        failures |= report
    return failures


def _stop_with_parent() -> None:
    """End this process when the one that started it is gone, even by a kill."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _worker(
    order: Any,
    folder: Path,
    device: str,
    root: str | None,
    threads: int,
    reports: Any,
) -> None:
    torch.set_num_threads(threads)
    # Asked to stop outside of training, leave no lock files behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        tasks: list[Task] = order.get()
        reports.put(work(tasks, Store(folder), device=device, root=root))
    except (OSError, ValueError) as error:
        reports.put(error)
    except (KeyboardInterrupt, EOFError):
        raise SystemExit(130) from None
