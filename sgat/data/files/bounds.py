"""Bounds: the memory that a file may ask for, by its size.

A few hundred bytes can stand for gigabytes: as one string that many rows repeat, as a
default, as runs of zeros or as a number in a header. Readers say how many bytes the
content takes in memory, before they make room for it.
"""

from pathlib import Path

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
