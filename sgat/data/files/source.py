"""Source: a table with the place it came from, so that a fault can be named."""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".mtx": "mtx",
    ".graphml": "graphml",
    ".gexf": "gexf",
}
"""The format each suffix stands for."""


def row_name(row: int) -> str:
    """How a row of a binary table is called: by its index, the first being 0."""
    return f"row {row}"


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """A table as read, and how to name its rows in a message.

    Attributes:
        table: The columns, a `pyarrow.Table`.
        name: The file, as the user named it.
        format: Name of the format.
        text_columns: Columns of strings whose meaning is decided later, because the
            format gives them no type; the others have types of their own.
        locate: Name of a row: its line in a text file, its index in a binary one.
    """

    table: Any
    name: str
    format: str
    text_columns: frozenset[str] = frozenset()
    locate: Callable[[int], str] = row_name

    def column(self, name: str, role: str) -> Any:
        """The column `name`; `role` says in the message what it was wanted for."""
        if name not in self.table.column_names:
            raise self.fault(
                f"no column {name!r} for {role}; the columns are"
                f" {', '.join(map(repr, self.table.column_names)) or 'none'}."
            )
        return self.table.column(name)

    def fault(
        self, problem: str, *, column: str | None = None, row: int | None = None
    ) -> ValueError:
        """The error that names the file, the row and the column, then the problem."""
        place = [self.name]
        if row is not None:
            place.append(self.locate(row))
        if column is not None:
            place.append(f"column {column!r}")
        return ValueError(f"{', '.join(place)}: {problem}")


def format_of(path: Path, format: str | None, allowed: Collection[str]) -> str:
    """The format to use for `path`: the given one, or the one of its suffix.

    Raises:
        ValueError: If the format is not among `allowed`; the message lists those.
    """
    chosen = format or SUFFIXES.get(path.suffix.lower())
    if chosen is not None and chosen in allowed:
        return chosen
    what = f"format {chosen!r}" if chosen else f"suffix {path.suffix!r}"
    raise ValueError(
        f"{path}: cannot use {what} here; choose one of {', '.join(sorted(allowed))}."
    )


def check_file(path: Path) -> None:
    """Refuse what is not a file with something in it.

    Raises:
        OSError: If the file is missing, a folder or not readable.
        ValueError: If it is empty.
    """
    if path.is_dir():
        raise _os_error(errno.EISDIR, path)
    if not path.exists():
        raise _os_error(errno.ENOENT, path)
    with path.open("rb") as file:
        if not file.read(1):
            raise ValueError(f"{path}: the file is empty.")


def check_magic(path: Path, magic: bytes, what: str) -> None:
    """Refuse a file that does not begin as its format begins."""
    with path.open("rb") as file:
        found = file.read(len(magic))
    if found != magic:
        raise ValueError(
            f"{path}: not {what}; the file begins with {found!r} instead of {magic!r}."
        )


def _os_error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
