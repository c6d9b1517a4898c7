"""A second process that does the last of some tasks, while this one does the first.

Tested by tests/parallel/test_ahead.py.
"""

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

LONGEST, LEAST_WAIT = 10, 10.0
"""How long a result is waited for: so many times as long as all before, and seconds."""
Tasks = Mapping[str, Callable[[], Any]]
Take = Callable[[str], Any]


def can_fork() -> bool:
    """Whether a copy of this process can compute, and there are threads to share.

    A copy has none of the other threads, whose locks stay as they were, and nothing
    that a GPU's driver keeps. Systems other than Linux do not copy threaded processes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_free = torch.get_num_threads() > 1 and not torch.cuda.is_available()
    return sys.platform == "linux" and is_main and is_free


@contextlib.contextmanager
def ahead(tasks: Tasks) -> Iterator[Take]:
    """Let a copy of this process do tasks from the last on, with half of the threads.

    Yields a function that is called with the names of tasks, in their order: it
    returns the result if the copy has it or is at it, and None if the task is the
    caller's. So all are where there is no copy, or where it ended too early.
    """
    if len(tasks) < 2 or not can_fork():
        yield lambda name: None
        return
    # Who reads a byte may do a task. Results are in the memory, their sizes are news.
    tokens, news, memory = os.pipe(), os.pipe(), os.memfd_create("sgat")
    os.write(tokens[1], bytes(len(tasks)))
    os.close(tokens[1])
    threads, begun = torch.get_num_threads(), time.monotonic()
    torch.set_num_threads(threads // 2)
    names, results, place = list(reversed(tasks)), list[Any](), 0
    child = _copied(tasks, tokens[0], news[1], memory)
    os.close(news[1])

    def take(name: str) -> Any:
        nonlocal place
        if name not in tasks or os.read(tokens[0], 1):
            return None
        while len(results) <= names.index(name):
            longest = LEAST_WAIT + LONGEST * (time.monotonic() - begun)
            is_told = select.select([news[0]], [], [], longest)[0]
            size = int.from_bytes(os.read(news[0], 8), "big") if is_told else 0
            if not size:
                os.kill(child, signal.SIGKILL)
                return None
            results.append(pickle.loads(os.pread(memory, size, place)))
            place += size
        return results[names.index(name)]

    try:
        yield take
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        torch.set_num_threads(threads)
        for file in (tokens[0], news[0], memory):
            os.close(file)


def _copied(tasks: Tasks, tokens: int, news: int, memory: int) -> int:
    """The number of a copy of this process that does tasks, and then ends."""
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python warns of any thread; those of torch have nothing to do.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends it
        for name in reversed(tasks):
            if os.getppid() != parent or not os.read(tokens, 1):
                break
            result = pickle.dumps(tasks[name]())
            written = 0
            while written < len(result):
                written += os.write(memory, memoryview(result)[written:])
            os.write(news, len(result).to_bytes(8, "big"))
    finally:
        os._exit(0)
