"""StoredEdges: rows of an edge table, read in batches as often as they are needed.

Tested by tests/judging/test_judged_rows.py.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgat.data.files.binary_format import (
    batches_within_bounds,
    check_parquet,
    opened_parquet,
    parquet_files,
)
from sgat.data.files.columns import TextKind, decoded, is_string
from sgat.data.files.csv_format import Text, csv_batches, open_csv
from sgat.data.files.ids import Place, positions
from sgat.data.files.source import Source, check_names

Array = np.ndarray[Any, Any]

ROWS = 1 << 20
"""Rows that are read at once."""
GAPS = 8
"""Whole numbers for each id, at most, of which a list of all is made to look ids up."""


@dataclasses.dataclass(eq=False)
class StoredEdges:
    """An edge table of which no rows are held, if it is a file of rows.

    Attributes:
        head: The table without rows, how to name them in a message, and types.
        read: Reads the rows, columns by name or all.
        path: The file, or the folder of `files`; None for a table in memory.
        types: Of text columns that hold numbers, by name, once `survey` was called.
        number: Of rows, once all were read; None before.
        may_have_commas: Whether a comma may be the decimal sign of a text table.
    """

    head: Source
    read: Callable[[list[str] | None], Iterator[Any]]
    path: Path | None = None
    types: dict[str, Any] = dataclasses.field(default_factory=dict)
    files: tuple[Path, ...] = ()
    number: int | None = None
    may_have_commas: bool = False
    _state: Any = None

    def __post_init__(self) -> None:
        """Remember the file as it is."""
        self._state = self._look()

    @classmethod
    def of_table(cls, source: Source) -> StoredEdges:
        """The rows of a table in memory."""

        def read(columns: list[str] | None) -> Iterator[Any]:
            table = source.table if columns is None else source.table.select(columns)
            return (table.slice(k, ROWS) for k in range(0, len(table), ROWS))

        empty = dataclasses.replace(source, table=source.table.slice(0, 0))
        return cls(empty, read, number=len(source.table))

    @classmethod
    def of_parquet(cls, path: Path) -> StoredEdges:
        """The rows of a Parquet file, or of a folder of such files."""
        files = parquet_files(path) if path.is_dir() else {path: {}}
        heads = [_empty(file, more) for file, more in files.items()]
        names, types = heads[0].column_names, heads[0].schema.types
        for file, head in zip(files, heads, strict=True):
            if (head.column_names, head.schema.types) != (names, types):
                raise ValueError(
                    f"{file}: other columns, or columns of other types, than"
                    f" {next(iter(files))}; write both alike."
                )

        def read(columns: list[str] | None) -> Iterator[Any]:
            for file, more in files.items():
                own = columns and [name for name in columns if name not in more]
                with opened_parquet(file) as opened:
                    for batch in batches_within_bounds(file, opened, own, ROWS):
                        part = _with_partitions(pa.Table.from_batches([batch]), more)
                        part = part if columns is None else part.select(columns)
                        yield part.cast(heads[0].select(part.column_names).schema)

        head = Source(heads[0], str(path), "parquet")
        return cls(head, read, path, files=tuple(files))

    @classmethod
    def of_csv(cls, text: Text, **how: Any) -> StoredEdges:
        """The rows of a text table; `how` as for `read_csv`."""
        head, delimiter = open_csv(text, **how)
        names = head.table.column_names

        def read(columns: list[str] | None) -> Iterator[Any]:
            if delimiter is not None:
                for batch in csv_batches(text, delimiter, names):
                    part = pa.Table.from_batches([batch])
                    yield part if columns is None else part.select(columns)

        is_open = head.decimal is None and delimiter != ","
        return cls(head, read, text.path, may_have_commas=is_open)

    def all_rows(self, *columns: str) -> Source:
        """The whole table, or these columns of it, read at once."""
        head = self.head.table.select(columns) if columns else self.head.table
        parts = self.read([*columns] or None)
        return dataclasses.replace(self.head, table=pa.concat_tables([head, *parts]))

    def batches(self, *columns: str) -> Iterator[tuple[Source, int]]:
        """The rows in parts, each with the index of its first row; all columns if none.

        Raises:
            ValueError: If the file is another one than it was.
        """
        start = 0
        for part in self.read([*dict.fromkeys(columns)] or None):
            self._check()
            where = lambda row, start=start: self.head.locate(start + row)  # noqa: E731
            yield dataclasses.replace(self.head, table=part, locate=where), start
            start += len(part)
        self._check()
        self.number = start

    def _look(self) -> Any:
        files = self.files or ((self.path,) if self.path else ())
        return [(f.stat().st_size, f.stat().st_mtime_ns) for f in files]

    def _check(self) -> None:
        if self._look() != self._state:
            raise ValueError(
                f"{self.path}: the file was changed while it was read; start again when"
                " nothing writes to it."
            )

    def survey(self, src: str, dst: str) -> list[Place]:
        """Every id that occurs in both columns, once; takes note of types.

        Where a message names a row of these, it is the first row with the id.
        """
        known, others = [src, dst], self.head.text_columns - {src, dst}
        wanted = self.head.table.column_names if others else known
        kinds = {name: TextKind() for name in self.head.text_columns}
        found: dict[str, list[Any]] = {name: [] for name in known}
        for source, _ in self.batches(*wanted):
            for name, parts in found.items():
                parts.append(pc.unique(decoded(source.table.column(name))))
                sizes = [len(part) for part in parts]
                # Merged when half of them may be new: each takes a pass over all.
                if sum(sizes) > 2 * sizes[0] + ROWS:
                    parts[:] = [pc.unique(pa.chunked_array(parts))]
            for name, kind in kinds.items():
                if name in others:
                    kind.look(source.table.column(name))
                if self.may_have_commas:
                    kind.look_for_commas(source.table.column(name))
        if any(kind.has_decimal_commas for kind in kinds.values()):
            self.head = dataclasses.replace(self.head, decimal=",")
        self.types = {name: kinds[name].type for name in others if kinds[name].type}
        return [(self._ids(name, found[name]), name) for name in known]

    def _ids(self, name: str, parts: list[Any]) -> Source:
        none = decoded(self.head.table.column(name))
        ids = pc.unique(pa.chunked_array(parts)) if parts else none
        table = pa.table({name: ids})

        def where(row: int) -> str:
            wanted, start = table.column(name).slice(row, 1), 0
            for source, start in self.batches(name):
                column = decoded(source.table.column(name))
                place = pc.index_in(wanted, value_set=column.combine_chunks())
                if place[0].is_valid:
                    return self.head.locate(start + place[0].as_py())
            return self.head.locate(start)

        return dataclasses.replace(self.head, table=table, locate=where)


def _empty(file: Path, partitions: dict[str, str]) -> Any:
    """The table of a Parquet file without its rows."""
    check_parquet(file)
    with opened_parquet(file) as opened:
        check_names(file, opened.schema_arrow.names)
        empty = opened.schema_arrow.remove_metadata().empty_table()
    return _with_partitions(empty, partitions)


def _with_partitions(table: Any, partitions: dict[str, str]) -> Any:
    for name, value in partitions.items():
        if name not in table.column_names:
            table = table.append_column(name, pa.repeat(value, len(table)))
    return table.replace_schema_metadata(None)


def as_ids(column: Any, kind: Any) -> Any:
    """A column of `checked_ids` in the type that `common_ids` found for all."""
    if pa.types.is_integer(kind) and is_string(column.type):
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(kind)
        column = pc.replace_substring_regex(column, r"\.0+$", "")
    return column.cast(kind)


class IdNumbers:
    """Where ids stand among all of them: ids in order are looked up in a list."""

    def __init__(self, ids: Any) -> None:
        self.ids = ids
        self._places: Array | None = None
        if pa.types.is_integer(ids.type) and len(ids):
            value = ids.to_numpy()
            self._first, last = int(value.min()), int(value.max())
            if last - self._first < GAPS * len(ids):
                self._places = np.full(last - self._first + 1, -1, dtype=np.int32)
                self._places[value - self._first] = np.arange(len(ids), dtype=np.int32)

    def of(self, column: Any) -> Array:
        """The places of ids, -1 for one that is none, [rows]."""
        if self._places is None:
            return positions(column, self.ids)
        value = column.to_numpy()
        inside = (value >= self._first) & (value < self._first + len(self._places))
        place = np.where(inside, value, self._first) - self._first
        return np.where(inside, self._places[place], -1)
