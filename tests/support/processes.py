"""Runs of the command line in a process of their own, to be stopped from outside."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def started(arguments: Sequence[str], ready: Path) -> Iterator[subprocess.Popen[str]]:
    """Start `sgat` and wait for a file; the process is gone when the block ends.

    The name of the file may be a pattern.
    """
    command = [sys.executable, "-m", "sgat", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while not any(ready.parent.glob(ready.name)) and process.poll() is None:
            assert time.monotonic() < deadline, f"{ready} did not appear"
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()
