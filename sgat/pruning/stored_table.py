"""StoredTable: a table on disk that is never read as a whole, and where one goes."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa

from sgat.data.files.binary_format import (
    batches_within_bounds,
    opened_parquet,
    parquet_files,
)
from sgat.data.files.columns import is_string
from sgat.data.files.csv_format import DELIMITERS, Text, read_header, text_file
from sgat.data.files.source import (
    SUFFIXES,
    check_file,
    check_names,
    compression_of,
    is_folder,
    listed,
    suffix_of,
)

MOST_COLUMNS = 10_000
"""An engine takes a third of a millisecond for each, and 90 kB of memory."""
Kind = Literal["integer", "string", "text"]
"""Type of the ids of a column; the cells of a text file have no type of their own."""


@dataclasses.dataclass(frozen=True)
class StoredTable:
    """A file, or a folder of Parquet files, and its columns."""

    path: Path
    files: tuple[Path, ...]  # to read, in order
    format: str  # `parquet`, `csv` or `tsv`, maybe compressed
    columns: tuple[str, ...]  # those of the partitions last
    partitions: tuple[str, ...] = ()  # named by subfolders, as in `year=2024`
    delimiter: str = ","
    encoding: str | None = None  # of a text file that is not UTF-8
    types: dict[str, Any] = dataclasses.field(default_factory=dict)  # Arrow types

    def position(self, name: str, role: str) -> int:
        """Place of a column; `role` says in the message what it was wanted for."""
        if name not in self.columns:
            raise ValueError(
                f"{self.path}: no column {name!r} for {role}; the columns are"
                f" {listed(list(self.columns))}."
            )
        return self.columns.index(name)

    def kind(self, name: str) -> Kind:
        """The type of the ids in a column; an error if they can be no ids."""
        if self.format != "parquet" or name in self.partitions:
            return "text"
        found = self.types[name]
        if pa.types.is_dictionary(found):
            found = found.value_type
        if pa.types.is_integer(found):
            return "integer"
        if is_string(found):
            return "string"
        raise ValueError(
            f"{self.path}, column {name!r}: ids must be integers or strings, got"
            f" {found}."
        )


@dataclasses.dataclass(frozen=True)
class Destination:
    """Where a table goes: one file by its suffix, or a folder of Parquet files."""

    path: Path
    format: str  # `parquet`, `csv` or `tsv`
    is_folder: bool
    compression: str | None  # of a text file: gzip, zstd or none
    delimiter: str = ","

    @classmethod
    def from_path(cls, path: Path, *, delimiter: str | None = None) -> Self:
        """The destination a path names; without a suffix it is a folder."""
        if is_folder(path):
            return cls(path, "parquet", True, None)
        format = _format(path)
        between = delimiter or DELIMITERS.get(format, ",")
        return cls(path, format, False, compression_of(path), between)


def open_table(
    path: Path, *, delimiter: str | None = None, encoding: str | None = None
) -> StoredTable:
    """The files and columns of a table; no rows are read.

    It is a Parquet, CSV or TSV file (text also as .gz or .zst), or a folder of Parquet
    files, partitioned or not. `read_header` finds the delimiter, where none is given.
    """
    if path.is_dir():
        return _open_parquet(path, parquet_files(path))
    check_file(path)
    format = _format(path)
    if format == "parquet":
        return _open_parquet(path, {path: {}})
    try:
        text = text_file(path, encoding)
        header = read_header(text, format, delimiter)
    except OSError as error:
        raise ValueError(f"{path}: not a readable text table ({error}).") from error
    if header.line > 1:
        raise ValueError(
            f"{path}: the file has no header line; the first line must name the"
            " columns."
        )
    _check_columns(path, header.names)
    names, how = tuple(header.names), (header.delimiter, text.encoding)
    return StoredTable(path, (path,), format, names, (), *how)


def in_utf8(table: StoredTable, folder: Path) -> StoredTable:
    """The table, with a copy in the folder to read where it is not UTF-8."""
    if table.encoding is None:
        return table
    copy = Path(tempfile.mkdtemp(dir=folder)) / f"copy.{table.format}"
    with copy.open("wb") as file:
        file.writelines(Text(table.path, table.encoding).blocks())
    return dataclasses.replace(table, files=(copy,))


def _format(path: Path) -> str:
    format = SUFFIXES.get(suffix_of(path))
    if format not in ("parquet", "csv", "tsv"):
        raise ValueError(
            f"{path}: cannot use the suffix {path.suffix!r} here; choose .parquet, .csv"
            " or .tsv, text also with .gz or .zst after it, or a folder of Parquet"
            " files."
        )
    return format


def _open_parquet(path: Path, files: dict[Path, dict[str, str]]) -> StoredTable:
    first, partitions = next(iter(files.items()))
    with opened_parquet(first) as file:
        schema = file.schema_arrow
    check_names(first, schema.names)
    types = dict(zip(schema.names, schema.types, strict=True))
    for name in types.keys() & partitions:
        raise ValueError(
            f"{path}: the column {name!r} is in the files and in the names of their"
            " folders, and may differ; leave it out of one."
        )
    columns = [*types, *partitions]
    _check_columns(path, columns)
    # What the rest unpacks to follows from the number of its values.
    longer = [name for name, kind in types.items() if not pa.types.is_primitive(kind)]
    for part in files:
        with opened_parquet(part) as file:
            for _ in batches_within_bounds(part, file, longer, 1 << 16):
                pass
    given = tuple(files), "parquet", tuple(columns), tuple(partitions)
    return StoredTable(path, *given, types=types)


def _check_columns(path: Path, names: list[str]) -> None:
    """Refuse names that an engine cannot tell apart."""
    check_names(path, names)
    if not all(names) or not 1 <= len(names) <= MOST_COLUMNS:
        raise ValueError(
            f"{path}: must have 1 to {MOST_COLUMNS:,} columns, each with a name, got"
            f" {listed(names)}."
        )
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(
                f"{path}: the columns {other!r} and {name!r} differ by case alone;"
                " rename one."
            )
