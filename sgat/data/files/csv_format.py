"""CSV and TSV tables: text with a header line, read without guessing at types."""

import csv
import mmap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sgat.data.files.columns import decoded, is_string, with_nulls
from sgat.data.files.source import Source, check_names, line_name, row_name

DELIMITERS = {"csv": ",", "tsv": "\t"}
# A record has to fit into one block; the default of 1 MiB is too small for tables of
# some hundred thousand columns.
BLOCK_SIZE = 1 << 24
OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip or NPZ file",
    b"\x1f\x8b": "a gzip file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def read_csv(path: Path, *, format: str, delimiter: str | None = None) -> Source:
    """Read a text table; every column holds strings, and an empty cell is null.

    A quoted empty cell is the empty string. A byte order mark is skipped, and so are
    blank lines.
    """
    delimiter = delimiter or DELIMITERS[format]
    _check_text(path, delimiter)
    header, is_all = _header(path, delimiter)
    place = partial(_line, path, delimiter)
    names = frozenset(header)
    if is_all:
        schema = pa.schema([(name, pa.string()) for name in header])
        return Source(schema.empty_table(), str(path), format, names, place)
    try:
        table = pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_SIZE),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in header},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
    except pa.ArrowException as error:
        _check_cells(path, delimiter, len(header))
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: not a readable text table ({reason}).") from error
    return Source(table, str(path), format, names, place)


def write_csv(table: Any, path: Path, *, format: str) -> None:
    """Write a text table with a header; strings are quoted, null and NaN are empty."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = decoded(column)
        if pa.types.is_floating(column.type):
            column = with_nulls(column)
        elif is_string(column.type):
            row = pc.index(pc.match_substring(column, "\0"), True).as_py()
            if row >= 0:
                raise ValueError(
                    f"Column {name!r}, {row_name(row)}: a text table cannot hold"
                    f" {column[row].as_py()!r}."
                )
        columns.append(column)
    pyarrow.csv.write_csv(
        pa.table(columns, names=table.column_names),
        path,
        pyarrow.csv.WriteOptions(delimiter=DELIMITERS[format]),
    )


def _check_text(path: Path, delimiter: str) -> None:
    """Refuse other formats and NUL bytes, and quotes that are never closed."""
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        for magic, what in OTHER_FORMATS.items():
            if content[: len(magic)] == magic:
                raise ValueError(f"{path}: not a UTF-8 text table but {what}.")
        position = content.find(b"\0")
        if position >= 0:
            line = _count(content, b"\n", position) + 1
            raise ValueError(f"{path}, line {line}: holds a NUL byte, so is not text.")
        odd_quotes = _count(content, b'"', len(content)) % 2
    if odd_quotes:
        for _ in _records(path, delimiter):
            pass


def _count(content: mmap.mmap, byte: bytes, stop: int) -> int:
    step = 1 << 24
    return sum(
        content[start : min(start + step, stop)].count(byte)
        for start in range(0, stop, step)
    )


def _header(path: Path, delimiter: str) -> tuple[list[str], bool]:
    """The column names, and whether nothing follows them."""
    records = _records(path, delimiter)
    header = next((cells for _, cells in records), None)
    if header is None:
        raise ValueError(f"{path}: the file has no header line.")
    check_names(path, header, ", line 1")
    return header, next(records, None) is None


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The first line and the cells of each record that is not blank."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise _encoding_fault(path) from error
        except csv.Error as error:
            reason = (
                "a quote is opened and never closed"
                if "end of data" in str(error)
                else str(error)
            )
            raise ValueError(f"{path}, line {line}: {reason}.") from error


def _encoding_fault(path: Path) -> ValueError:
    with path.open("rb") as file:
        for line, content in enumerate(file, start=1):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                return ValueError(
                    f"{path}, line {line}: not UTF-8, got the byte"
                    f" 0x{content[error.start]:02x}; save the file as UTF-8."
                )
    return ValueError(f"{path}: not UTF-8; save the file as UTF-8.")


def _check_cells(path: Path, delimiter: str, width: int) -> None:
    for line, cells in _records(path, delimiter):
        if len(cells) != width:
            raise ValueError(
                f"{path}, line {line}: {len(cells)} cells where the header has"
                f" {width}, beginning with {cells[0]!r}."
            )


def _line(path: Path, delimiter: str, row: int) -> str:
    return line_name((line for line, _ in _records(path, delimiter)), row + 1)
