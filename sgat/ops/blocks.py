"""Blocks of rows that threads take one after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np

ROWS = 1 << 16
"""Rows of a block: what is computed in between stays in a cache."""


def in_blocks(work: Callable[[slice], None], length: int) -> None:
    """Call `work` with the slice of each block of rows, on the threads torch uses."""
    from sgat.ops.cpu import threads

    bounds = [(first, min(first + ROWS, length)) for first in range(0, length, ROWS)]
    threads.run(lambda first, last: work(slice(first, last)), bounds)


def trim_heap() -> None:
    """Give memory that blocks of rows took back to the system."""
    from sgat.ops.cpu.heap import trim_heap

    trim_heap()


def by_rows(function: Callable[..., Any], *columns: Any) -> Any:
    """A function of the rows of arrays, computed block by block, float32 [P]."""
    found = np.empty(len(columns[0]), dtype=np.float32)

    def work(rows: slice) -> None:
        found[rows] = function(*(column[rows] for column in columns))

    in_blocks(work, len(found))
    return found


def sum_of_rows(function: Callable[..., Any], *columns: Any) -> float:
    """The sum of a function of the rows of arrays, of which nothing is stored."""
    parts = np.zeros(-(-len(columns[0]) // ROWS))

    def work(rows: slice) -> None:
        found = function(*(column[rows] for column in columns))
        parts[rows.start // ROWS] = found.sum(dtype=float)

    in_blocks(work, len(columns[0]))
    return float(parts.sum())
