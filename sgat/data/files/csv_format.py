"""CSV and TSV tables: text with a header line, read without guessing at types."""

import codecs
import contextlib
import csv
import dataclasses
import io
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sgat.data.files.bounds import check_size
from sgat.data.files.columns import decimal_sign, decoded, is_string, with_nulls
from sgat.data.files.source import (
    UNNAMED,
    Source,
    check_names,
    compression_of,
    line_name,
    row_name,
)

DELIMITERS = {"csv": ",", "tsv": "\t"}
OTHER_DELIMITERS = ";\t|,"
"""Characters that are tried where a header has one column only."""
# A record has to fit into one block; the default of 1 MiB is too small for tables of
# some hundred thousand columns.
BLOCK_SIZE = 1 << 24
OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip or NPZ file",
    b"\x1f\x8b": "a gzip file, whose name must end in .gz",
    b"\x28\xb5\x2f\xfd": "a zstd file, whose name must end in .zst",
    b"\xff\xfe": "UTF-16 text, whose `encoding` is utf-16",
    b"\xfe\xff": "UTF-16 text, whose `encoding` is utf-16",
}

logger = logging.getLogger(__name__)


class Text(NamedTuple):
    """A text table, and how it is encoded."""

    path: Path
    encoding: str | None = None  # None for UTF-8

    def __str__(self) -> str:
        """The path."""
        return str(self.path)

    def stream(self) -> Any:
        """The bytes in UTF-8, unpacked where the name says that it is compressed."""
        stream = pa.input_stream(str(self), compression=compression_of(self.path))
        if self.encoding is None:
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def opened(self) -> BinaryIO:
        """The same as a file of Python."""
        return cast(BinaryIO, io.BufferedReader(self.stream(), BLOCK_SIZE))

    def blocks(self) -> Iterator[bytes]:
        """The same in pieces; a fault names the file."""
        size = 0
        with self.opened() as file:
            while block := _block(self, file):
                size += len(block)
                check_size(self.path, size, "unpack it first")
                yield block


def text_file(path: Path, encoding: str | None) -> Text:
    """A text table; one that is UTF-8 is taken for that, whatever the encoding."""
    plain, decoder = Text(path), codecs.getincrementaldecoder("utf-8")()
    if encoding is None:
        return plain
    with contextlib.suppress(UnicodeDecodeError):
        for block in plain.blocks():
            decoder.decode(block)
        decoder.decode(b"", True)
        return plain
    return Text(path, encoding)


class HeaderLine(NamedTuple):
    """The first line of a text table, and what follows from it."""

    names: list[str]
    delimiter: str
    line: int
    is_all: bool  # whether nothing follows


def read_csv(
    path: Text, *, format: str, delimiter: str | None = None, decimal: str | None = None
) -> Source:
    """Read a text table; every column holds strings, and an empty cell is null.

    A quoted empty cell is the empty string. A byte order mark and blank lines are
    skipped. The last suffix says how the file is compressed. A comma is the decimal
    sign where `decimal` says so, or cells have no comma between and numbers no doubt.
    """
    source, delimiter = open_csv(
        path, format=format, delimiter=delimiter, decimal=decimal
    )
    if delimiter is None:
        return source
    given = path, delimiter, source.table.column_names
    # Several threads parse what is read as a whole.
    batches = csv_batches(*given, lambda *how: pyarrow.csv.read_csv(*how).to_batches())
    table = pa.Table.from_batches(batches, source.table.schema)
    if decimal is None and delimiter != ",":
        decimal = decimal_sign(table)
    return dataclasses.replace(source, table=table, decimal=decimal)


def open_csv(
    path: Text, *, format: str, delimiter: str | None = None, decimal: str | None = None
) -> tuple[Source, str | None]:
    """A text table without its rows, and the delimiter; None if there are no rows."""
    has_odd_quotes = _check_text(path)
    header = read_header(path, format, delimiter)
    if has_odd_quotes:
        for _ in _records(path, header.delimiter):
            pass
    check_names(path.path, header.names, ", line 1")
    names = frozenset(header.names)

    def place(row: int) -> str:
        lines = (line for line, _ in _records(path, header.delimiter))
        return line_name(lines, row + 1)

    schema = pa.schema([(name, pa.string()) for name in header.names])
    source = Source(schema.empty_table(), str(path), format, names, decimal, place)
    return source, None if header.is_all else header.delimiter


def csv_batches(
    path: Text,
    delimiter: str,
    names: list[str],
    parsed: Callable[..., Any] = pyarrow.csv.open_csv,
) -> Iterator[Any]:
    """The rows of a text table with these columns, a block of the file at a time."""
    read = pyarrow.csv.ReadOptions(block_size=BLOCK_SIZE)
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in ("", *names)},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    try:
        for batch in parsed(path.stream(), read, parse, convert):
            yield pa.RecordBatch.from_arrays(batch.columns, names=names)
    except pa.ArrowException as error:
        _check_cells(path, delimiter, len(names))
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: not a readable text table ({reason}).") from error


def read_header(path: Text, format: str, delimiter: str | None = None) -> HeaderLine:
    """The column names, and the character between them.

    Where none is given and that of the format separates no columns, one of
    `OTHER_DELIMITERS` that does is taken, and a log message says so.
    """
    usual = delimiter or DELIMITERS[format]
    for other in (usual, *("" if delimiter else OTHER_DELIMITERS.replace(usual, ""))):
        with contextlib.suppress(ValueError):
            header = _header(path, other)
            if len(header.names) > 1:
                if other != usual:
                    logger.warning("%s: the cells are separated by %r.", path, other)
                return header
    return _header(path, usual)


def _header(path: Text, delimiter: str) -> HeaderLine:
    records = _records(path, delimiter)
    line, names = next(records, (0, None))
    if names is None:
        raise ValueError(f"{path}: the file has no header line.")
    names = [name or f"{UNNAMED}{place}" for place, name in enumerate(names)]
    return HeaderLine(names, delimiter, line, next(records, None) is None)


@contextlib.contextmanager
def csv_writer(
    path: Path, *, format: str, compression: str | None = None
) -> Iterator[Callable[[Any], None]]:
    """Writes a text table with a header, called with parts of it.

    Strings are quoted, null and NaN are empty.
    """
    options, rows = pyarrow.csv.WriteOptions(delimiter=DELIMITERS[format]), 0
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(pa.output_stream(str(path), compression=compression))
        writer: Any = None

        def write(table: Any) -> None:
            nonlocal writer, rows
            plain = _plain(table, rows)
            if writer is None:
                made = pyarrow.csv.CSVWriter(file, plain.schema, write_options=options)
                writer = stack.enter_context(made)
            writer.write_table(plain)
            rows += len(table)

        yield write


def _plain(table: Any, first: int) -> Any:
    """The rows, the first of which has this index, as a text table can hold them."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = decoded(column)
        if pa.types.is_floating(column.type):
            column = with_nulls(column)
        elif is_string(column.type):
            row = pc.index(pc.match_substring(column, "\0"), True).as_py()
            if row >= 0:
                raise ValueError(
                    f"Column {name!r}, {row_name(first + row)}: a text table cannot"
                    f" hold {column[row].as_py()!r}."
                )
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _check_text(path: Text) -> bool:
    """Refuse other formats and NUL bytes; whether the number of quotes is odd."""
    line, odd_quotes, is_first, end = 1, False, True, b""
    for block in path.blocks():
        for magic, what in OTHER_FORMATS.items():
            if is_first and block.startswith(magic):
                raise ValueError(f"{path}: not a UTF-8 text table but {what}.")
        is_first = False
        position = block.find(b"\0")
        if position >= 0:
            line += block.count(b"\n", 0, position)
            raise ValueError(f"{path}, line {line}: holds a NUL byte, so is not text.")
        text = end + block
        for mark in re.finditer(b"\n" + codecs.BOM_UTF8, text):
            before = max(0, mark.start() + 1 - len(end))
            if not odd_quotes ^ bool(block.count(b'"', 0, before) % 2):
                line += block.count(b"\n", 0, before)
                raise ValueError(
                    f"{path}, line {line}: begins with a byte order mark, as where"
                    " files were joined; leave it out, and a second header too."
                )
        end = text[-len(codecs.BOM_UTF8) :]
        line += block.count(b"\n")
        odd_quotes ^= bool(block.count(b'"') % 2)
    return odd_quotes


def _block(path: Text, file: BinaryIO) -> bytes:
    try:
        return file.read(BLOCK_SIZE)
    except UnicodeError as error:
        raise _encoding_fault(path, error) from error
    except OSError as error:
        kind = compression_of(path.path)
        if kind is None:
            raise
        raise ValueError(
            f"{path}: not a {kind} file, or one that is cut short ({error})."
        ) from error


def _records(path: Text, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The first line and the cells of each record that is not blank."""
    with io.TextIOWrapper(path.opened(), encoding="utf-8-sig", newline="") as file:
        # A line of zeros, compressed, could fill the memory.
        lines = iter(partial(file.readline, BLOCK_SIZE), "")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except UnicodeError as error:
            raise _encoding_fault(path, error) from error
        except csv.Error as error:
            is_open = "end of data" in str(error)
            reason = "a quote is opened and never closed" if is_open else str(error)
            raise ValueError(f"{path}, line {line}: {reason}.") from error


def _encoding_fault(path: Text, reason: UnicodeError) -> ValueError:
    if path.encoding is not None:
        return ValueError(f"{path}: not {path.encoding} ({reason}).")
    with path.opened() as file:
        for line, content in enumerate(file, start=1):
            try:
                content.decode("utf-8")
            except UnicodeDecodeError as error:
                return ValueError(
                    f"{path}, line {line}: not UTF-8, got the byte"
                    f" 0x{content[error.start]:02x}; save the file as UTF-8, or name"
                    " its `encoding`, such as cp1252."
                )
    return ValueError(f"{path}: not UTF-8 ({reason}).")


def _check_cells(path: Text, delimiter: str, width: int) -> None:
    for line, cells in _records(path, delimiter):
        if len(cells) != width:
            raise ValueError(
                f"{path}, line {line}: {len(cells)} cells where the header has"
                f" {width}, beginning with {cells[0]!r}."
            )
