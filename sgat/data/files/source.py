"""Source: a table with the place it came from, so that a fault can be named.

Tested by tests/data/files/test_malformed.py.
"""

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TABLE_FORMATS = ("csv", "tsv", "parquet", "npz")
"""The formats of a single table."""
SUFFIXES = {f".{name}": name for name in (*TABLE_FORMATS, "mtx", "graphml", "gexf")}
"""The format each suffix stands for."""
SUFFIXES[".pq"] = "parquet"
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""How a text table is compressed, by its last suffix."""
UNNAMED = "Unnamed: "
"""Begins the name that pandas, and we, give a column that has none."""
MOST_LISTED = 20
MOST_COLUMNS = 100_000
"""Each column takes about a millisecond and a kilobyte, whatever it holds."""


def suffix_of(path: str | Path) -> str:
    """The suffix that says the format: `.csv` of `edges.csv.gz`."""
    suffix = Path(path).suffix.lower()
    inner = Path(Path(path).stem).suffix.lower()
    return inner if suffix in COMPRESSIONS and inner in (".csv", ".tsv") else suffix


def is_folder(path: Path) -> bool:
    """Whether a table at this path is a folder of Parquet files.

    Without a suffix it is, and as a folder that is there, but not as `edges.csv`.
    """
    is_parquet = SUFFIXES.get(suffix_of(path), "parquet") == "parquet"
    return path.suffix == "" or (is_parquet and path.is_dir())


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by its name."""
    return COMPRESSIONS.get(path.suffix.lower())


def row_name(row: int) -> str:
    """How a row of a binary table is called: by its index, the first being 0."""
    return f"row {row}"


def line_name(lines: Iterable[int], row: int) -> str:
    """How a row of a text file is called: by its line, of those that hold a row."""
    line = next(islice(lines, row, None), None)
    return row_name(row) if line is None else f"line {line}"


def listed(names: list[str]) -> str:
    """The names for a message, the first of them if they are many."""
    shown = ", ".join(map(repr, names[:MOST_LISTED])) or "none"
    more = len(names) - MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """A table as read, and how to name its rows in a message.

    `text_columns` are strings whose meaning is decided later, because the format gives
    them no type; the others have types of their own. A point is the decimal sign of
    text if none is given.
    """

    table: Any  # a `pyarrow.Table`
    name: str  # the file, as the user named it
    format: str
    text_columns: frozenset[str] = frozenset()
    decimal: str | None = None  # the sign in numbers of text columns
    locate: Callable[[int], str] = row_name

    def column(self, name: str, role: str) -> Any:
        """The column `name`; `role` says in the message what it was wanted for."""
        if self.table.schema.get_field_index(name) < 0:
            names = self.table.column_names
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}? The" if close else "the"
            if len(names) == 1 and self.text_columns:
                hint = "if another character stands between the cells, name it with"
                hint += " `delimiter`; the"
            if all(re.fullmatch(r"[0-9.]*|sep=|Unnamed: .*", each) for each in names):
                hint = "the first line must name the columns, and its"
            columns = f"{hint} columns are {listed(names)}."
            raise self.fault(f"no column {name!r} for {role}; {columns}")
        return self.table.column(name)

    def untaken(self, name: str, taken: Collection[str]) -> str | None:
        """The name of a column that is there and not among those taken, else None."""
        present = name in self.table.column_names and name not in taken
        return name if present else None

    def fault(
        self, problem: str, column: str | None = None, row: int | None = None
    ) -> ValueError:
        """The error that names the file, the row and the column, then the problem."""
        place = [self.name]
        if row is not None:
            place.append(self.locate(row))
        if column is not None:
            place.append(f"column {column!r}")
        return ValueError(f"{', '.join(place)}: {problem}")

    def refuse(self, bad: Any, column: str, problem: str) -> None:
        """Raise the fault of the first row that is bad; `{}` stands for its value.

        `bad` are truth values of NumPy or Arrow, [M]; without a true one all is well.
        """
        mask = pa.array(bad) if isinstance(bad, np.ndarray) else bad
        row = pc.index(mask, True).as_py()
        if row >= 0:
            value = self.table.column(column)[row].as_py()
            shown = "nothing" if value is None else repr(value)
            raise self.fault(problem.format(shown), column, row)


def format_of(path: Path, format: str | None, allowed: Collection[str]) -> str:
    """The format to use for `path`: the given one, or the one of its suffix."""
    chosen = format or SUFFIXES.get(suffix_of(path))
    if chosen is not None and chosen in allowed:
        return chosen
    what = f"format {chosen!r}" if chosen else f"suffix {path.suffix!r}"
    raise ValueError(
        f"{path}: cannot use {what} here; choose one of {', '.join(sorted(allowed))}."
    )


def check_file(path: Path) -> None:
    """Refuse what is not a file with something in it."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path}: must be a file, not a pipe or a device; save the table first."
        )
    with path.open("rb") as file:
        if not file.read(1):
            raise ValueError(f"{path}: the file is empty.")


def check_magic(path: Path, magic: bytes, what: str) -> None:
    """Refuse a file that does not begin as its format begins."""
    check_file(path)
    with path.open("rb") as file:
        found = file.read(len(magic))
    if found != magic:
        raise ValueError(
            f"{path}: not {what}; the file begins with {found!r} instead of {magic!r}."
        )


def check_names(path: Path, names: list[str], place: str = "") -> None:
    """Refuse too many columns, and some of one name; `place` says where they stand."""
    if len(names) > MOST_COLUMNS:
        raise ValueError(
            f"{path}: {len(names):,} columns are more than a table may have"
            f" ({MOST_COLUMNS:,}); store them as one matrix in NPZ, or as one column of"
            " vectors in Parquet."
        )
    name, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise ValueError(f"{path}{place}: column {name!r} occurs more than once.")


def in_memory(table: Any, name: str) -> Source:
    """A table of pandas or pyarrow, or columns by their names, as a source."""
    if isinstance(table, pa.Table):
        return Source(table, name, "table")
    is_pandas = hasattr(table, "iloc")
    try:
        if is_pandas:
            found = pa.Table.from_pandas(table, preserve_index=False)
        else:
            found = pa.table(table)
    except pa.ArrowException:
        for column in table:
            try:
                pa.array(table[column])
            except pa.ArrowException:
                problem = (
                    "must hold values of one type; `astype(str)` makes them words."
                )
                raise Source(None, name, "table").fault(problem, column) from None
        raise
    return Source(found.replace_schema_metadata(), name, "table")
