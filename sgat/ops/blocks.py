"""Blocks of rows that threads take one after the other."""

from collections.abc import Callable

ROWS = 1 << 16
"""Rows of a block: what is computed in between stays in a cache."""


def in_blocks(work: Callable[[slice], None], length: int) -> None:
    """Call `work` with the slice of each block of rows, on the threads torch uses."""
    from sgat.ops.cpu import threads

    bounds = [(first, min(first + ROWS, length)) for first in range(0, length, ROWS)]
    threads.run(lambda first, last: work(slice(first, last)), bounds)
