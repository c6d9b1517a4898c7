"""Ctrl-C and SIGTERM as requests to stop after the epoch under way."""

import contextlib
import signal
import threading
import types
from collections.abc import Iterator

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask for a stop; the second one means what it always does."""


@contextlib.contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets.

    Outside the main thread, which alone can handle signals, they keep their meaning; a
    signal that is ignored stays so, and one that ends the process does: whoever calls
    a library wants `kill` to work. The command line takes SIGTERM for Ctrl-C.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # Ignored signals stay ignored (nohup, a shell's background jobs), and a handler
    # that was not set from Python (None) could not be put back.
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    skipped = (signal.SIG_IGN, signal.SIG_DFL, None)
    before = {number: old for number, old in handlers.items() if old not in skipped}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def request(number: int, frame: types.FrameType | None) -> None:
        # First of all, for a second signal must not meet the lock of the event.
        restore()
        stop.set()

    try:
        for number in before:
            signal.signal(number, request)
        yield stop
    finally:
        restore()
