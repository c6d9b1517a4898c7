"""Work that a copy of this process does, while this one does other work."""

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

PATIENCE, LEAST = 10, 10.0
"""The copy is waited for so many times as long as the other work took, and seconds."""


def can_fork() -> bool:
    """Whether a copy of this process can compute, and there are threads to share.

    It lacks the other threads, whose locks stay as they were, and what a GPU's driver
    keeps. Systems other than Linux do not copy processes that have threads.
    """
    is_main = threading.current_thread() is threading.main_thread()
    is_free = torch.get_num_threads() > 1 and not torch.cuda.is_available()
    return sys.platform == "linux" and is_main and is_free


@contextlib.contextmanager
def beside(work: Callable[..., Any] | None, *given: Any) -> Iterator[Callable[[], Any]]:
    """Let a copy of this process work inside the context, with one of its threads.

    Yields a function that waits for what the work returns; None without work, if it
    failed, or if no copy can be made. The copy shows nothing else, and ends here.
    """
    if work is None or not can_fork():
        yield lambda: None
        return
    (taken, sent), child = os.pipe(), None
    with warnings.catch_warnings(), contextlib.suppress(OSError):  # no memory for it
        # Python warns of threads, but those of torch do nothing now.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child is None:
        os.close(taken)
        os.close(sent)
        yield lambda: None
        return
    threads, begun = torch.get_num_threads(), time.monotonic()
    # GNU OpenMP may wait forever for threads that a copy does not have.
    torch.set_num_threads(threads - 1 if child else 1)
    if not child:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends it
            with open(sent, "wb") as out:
                out.write(pickle.dumps(work(*given)))
        finally:
            os._exit(0)
    os.close(sent)
    with open(taken, "rb") as file:

        def found() -> Any:
            longest = LEAST + PATIENCE * (time.monotonic() - begun)
            with contextlib.suppress(EOFError, pickle.UnpicklingError):
                if select.select([file], [], [], longest)[0]:
                    return pickle.loads(file.read())
            return None

        try:
            yield found
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            torch.set_num_threads(threads)
