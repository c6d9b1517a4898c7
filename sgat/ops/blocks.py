"""Blocks of rows that threads take one after the other, and where long arrays lie."""

import ctypes
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ROWS = 1 << 16
"""Rows of a block: what is computed in between stays in a cache."""
SHORT = 1 << 16
"""Bytes up to which an array is in memory in any case."""
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def on_disk(folder: Path | None) -> Iterator[None]:
    """Arrays that `empty` makes meanwhile lie in files of this folder, if it is one.

    The files have no names: each is gone with its array, or with the process, however
    that ends. The system keeps in memory what there is room for.
    """
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def empty(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """An array whose entries are yet to be set, in memory or `on_disk`."""
    folder, kind = _folder.get(), np.dtype(dtype)
    size = math.prod(np.atleast_1d(shape).tolist()) * kind.itemsize
    if folder is None or size <= SHORT:
        return np.empty(shape, kind)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # Room that is missing later would end the process without a word.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)
            room = mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
    return np.frombuffer(room, kind).reshape(shape)


def in_blocks(work: Callable[[slice], None], length: int) -> None:
    """Call `work` with the slice of each block of rows, on the threads torch uses."""
    from sgat.ops.cpu import threads

    bounds = [(first, min(first + ROWS, length)) for first in range(0, length, ROWS)]
    threads.run(lambda first, last: work(slice(first, last)), bounds)


def trim_heap() -> None:
    """Have glibc give what blocks of rows took of its heap back to the system.

    Gigabytes of it are free after many blocks that are a little smaller than those it
    never keeps. Other allocators are left alone.
    """
    is_posix = os.name == "posix"
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if is_posix else None
    if trim is not None:
        trim(0)


def by_rows(
    function: Callable[..., Any], *columns: Any, dtype: Any = np.float32
) -> Array:
    """A function of the rows of arrays, computed block by block, [P].

    Without a `dtype` the type is that of the function.
    """
    if dtype is None:
        dtype = function(*(column[:0] for column in columns)).dtype
    found = empty(len(columns[0]), dtype)

    def work(rows: slice) -> None:
        found[rows] = function(*(column[rows] for column in columns))

    in_blocks(work, len(found))
    return found


def where(mask: Array, column: Array) -> Array:
    """The rows of an array where a mask is true."""
    found, last = empty(int(np.count_nonzero(mask)), column.dtype), 0
    for start in range(0, len(mask), ROWS):
        rows = column[start : start + ROWS][mask[start : start + ROWS]]
        first, last = last, last + len(rows)
        found[first:last] = rows
    return found


def sum_of_rows(function: Callable[..., Any], *columns: Any) -> float:
    """The sum of a function of the rows of arrays, of which nothing is stored."""
    parts = np.zeros(-(-len(columns[0]) // ROWS))

    def work(rows: slice) -> None:
        found = function(*(column[rows] for column in columns))
        parts[rows.start // ROWS] = found.sum(dtype=float)

    in_blocks(work, len(columns[0]))
    return float(parts.sum())
