"""Bounds: the memory that a file may ask for, by its size.

A few hundred bytes can stand for gigabytes: as one string that many rows repeat, as a
default, as runs of zeros or as a number in a header. Readers say how many bytes the
content takes in memory, before they make room for it.
"""

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
OUT_OF_MEMORY = (
    *("out of memory", "allocate memory", "not enough memory", "allocation failure"),
    *("storage size calculation overflowed", "multiplication overflow", "bad_alloc"),
    "start new thread",
)
"""What torch, Arrow, DuckDB and the system say when something does not fit."""
SMALL_SIZE = 1 << 25
"""Bytes in memory that any file may ask for."""
LARGEST_RATIO = 500
"""How many times its own size a larger file may take in memory."""
CELL = 8
"""Bytes that a cell takes at least: its text may be empty, its place is not."""
NODE = 256
"""Bytes that a node takes of which the file says nothing."""


def largest_size(path: Path) -> int:
    """Bytes that the content of a file may take in memory."""
    return max(SMALL_SIZE, LARGEST_RATIO * path.stat().st_size)


def check_size(path: Path, size: int, cure: str) -> None:
    """Refuse content that would take `size` bytes in memory, if these are too many.

    `cure` says what to do with a file that is meant so.
    """
    if size > largest_size(path):
        raise ValueError(
            f"{path}: {path.stat().st_size:,} bytes would become {size:,} in memory,"
            f" more than {LARGEST_RATIO} times as many; if it is meant so, {cure}."
        )


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether memory ran out, be it at the root of another error."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    text = str(getattr(error, "strerror", None) or error).lower()
    # A ValueError quotes what is in a file.
    is_said = not isinstance(error, ValueError) and any(
        s in text for s in OUT_OF_MEMORY
    )
    return is_said or is_out_of_memory(error.__cause__ or error.__context__)


def within_memory(read: Callable[P, R]) -> Callable[P, R]:
    """Have a reader, the file first, not blame the file where memory runs out."""

    @functools.wraps(read)
    def reader(*given: P.args, **options: P.kwargs) -> R:
        try:
            return read(*given, **options)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            traceback.clear_frames(error.__traceback__)
        raise MemoryError(
            f"Memory ran out while reading {[*given, *options.values()][0]}; free some,"
            " or leave out columns or rows."
        )

    return reader
