"""Parquet and NPZ tables, opened without pickle and within bounds."""

import contextlib
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sgat.data.files.bounds import CELL, check_size, largest_size
from sgat.data.files.parquet_pages import chunks
from sgat.data.files.source import Source, check_file, check_magic, check_names

UNPACK = "save it without compression and dictionaries"
PARQUET = b"PAR1"
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}
"""Bytes of a value of each physical type of Parquet; of others a `CELL` at least."""
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Those that NumPy writes; others can ask for gigabytes to unpack anything."""
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(LookupError, OSError, OverflowError, RuntimeError),
)
"""Errors that opening or unpacking a damaged archive can raise."""
PART = 1 << 22
"""Rows of a Parquet file in a folder of them, about."""
MISSING = "missing/"
"""Prefix of the array that marks the missing values of a column without NaN."""


def check_parquet(path: Path) -> None:
    """Refuse a file that does not begin and end as a Parquet file does."""
    check_magic(path, PARQUET, "a Parquet file")
    with path.open("rb") as file:
        file.seek(-len(PARQUET), 2)
        if file.read() != PARQUET:
            raise ValueError(f"{path}: the Parquet file is cut short or damaged.")


def parquet_files(folder: Path) -> dict[Path, dict[str, str]]:
    """The Parquet files of a folder, with the partition columns of each."""

    def is_meant(file: Path) -> bool:
        parts = file.relative_to(folder).parts
        is_hidden = any(part.startswith((".", "_")) for part in parts)
        is_parquet = file.suffix.lower() in (".parquet", ".pq")
        # Some programs write a folder of this name, and the files in it.
        return is_parquet and not is_hidden and not file.is_dir()

    files = sorted(filter(is_meant, folder.rglob("*")))
    if not files:
        raise ValueError(
            f"{folder}: the folder holds no Parquet file; give one file, or a folder of"
            " Parquet files."
        )
    found = {}
    for file in files:
        check_file(file)
        parts = file.relative_to(folder).parent.parts
        found[file] = dict(part.split("=", 1) for part in parts if "=" in part)
    return found


@contextlib.contextmanager
def opened_parquet(path: Path, **options: Any) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`; a sentence names it if it is damaged."""
    try:
        # A path alone would also accept a folder of files and partition columns.
        with pyarrow.parquet.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path}: the Parquet file is cut short or damaged ({reason})."
        ) from error


@contextlib.contextmanager
def parquet_writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """Writes a table with its types, called with parts of it."""
    with contextlib.ExitStack() as stack:
        writer: Any = None

        def write(table: Any) -> None:
            nonlocal writer
            if writer is None:
                # Numbers with a point repeat too seldom to be worth a dictionary.
                whole = [
                    f.name for f in table.schema if not pa.types.is_floating(f.type)
                ]
                is_flat = not any(pa.types.is_nested(f.type) for f in table.schema)
                made = pyarrow.parquet.ParquetWriter(
                    path,
                    table.schema,
                    compression="zstd",
                    use_dictionary=whole if is_flat and whole else not is_flat,
                )
                writer = stack.enter_context(made)
            writer.write_table(table)

        yield write


@contextlib.contextmanager
def parts_writer(folder: Path) -> Iterator[Callable[[Any], None]]:
    """Writes a table as Parquet files in a new folder, called with parts of it."""
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        number, rows, write_part = 0, 0, None

        def write(table: Any) -> None:
            nonlocal number, rows, write_part
            if write_part is None or rows >= PART:
                stack.close()
                part = parquet_writer(folder / f"part-{number:05}.parquet")
                number, rows, write_part = number + 1, 0, stack.enter_context(part)
            write_part(table)
            rows += len(table)

        yield write


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an NPZ file by their names."""
    check_magic(path, b"PK", "an NPZ file")
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            check_size(path, sum(info.file_size for info in infos), UNPACK)
            names = [info.filename.removesuffix(".npy") for info in infos]
            check_names(path, names)
            arrays = (_read_array(path, archive, info) for info in infos)
            return dict(zip(names, arrays, strict=True))
    except DAMAGE as error:
        raise ValueError(f"{path}: the NPZ file is damaged ({error}).") from error


def read_npz(path: Path) -> Source:
    """Read each array as a column; a matrix [N, K] is one column of K numbers."""
    arrays = read_arrays(path)
    columns, length, first = {}, None, ""
    for name, array in arrays.items():
        if name.startswith(MISSING):
            continue
        if array.ndim not in (1, 2):
            raise ValueError(
                f"{path}, array {name!r}: must have one entry or one row per table"
                f" row, got shape {list(array.shape)}."
            )
        if name == "edge_index" and array.ndim == 2 and len(array) == 2:
            array = array.T
        if length is None:
            length, first = len(array), name
        if len(array) != length:
            raise ValueError(
                f"{path}, array {name!r}: must have {length} entries like {first!r},"
                f" got {len(array)}."
            )
        columns[name] = _column(path, name, array, arrays.get(MISSING + name))
    return Source(pa.table(columns), str(path), "npz")


def split_edge_index(source: Source, src: str, dst: str) -> Source:
    """The same edges with PyG's `edge_index` as the columns `src` and `dst`."""
    names = source.table.column_names
    if "edge_index" not in names or src in names or dst in names:
        return source
    column = source.table.column("edge_index").combine_chunks()
    if getattr(column.type, "list_size", 0) != 2:
        raise source.fault(f"must have shape [2, E], got {column.type}.", "edge_index")
    table = source.table.drop_columns(["edge_index"])
    for place, name in enumerate((src, dst)):
        table = table.add_column(place, name, pc.list_element(column, place))
    return Source(table, source.name, source.format)


def write_npz(table: Any, path: Path) -> None:
    """Write each column as an array; see `MISSING` for values that are missing."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in table.column_names:
            for key, array in _arrays(name, table.column(name)):
                # A fixed date makes equal tables equal files.
                info = zipfile.ZipInfo(f"{key}.npy")
                with archive.open(info, "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)


def batches_within_bounds(
    path: Path, file: Any, columns: Any = None, at_once: int | None = None
) -> Iterator[Any]:
    """The rows of a table, so many at once; None for all. Fewer if strings are long."""
    size, longest = 0, 1
    for place, kind, values, rows, stored in chunks(path):
        width = file.schema.column(place).length or WIDTHS.get(kind, CELL)
        size += max(max(values, rows) * width, stored)
        if kind == "BYTE_ARRAY":
            # No string is longer than what all of them are stored in.
            longest = max(longest, stored)
    check_size(path, size, UNPACK)
    rows, size = file.metadata.num_rows, 0
    most = min(at_once or rows, rows, largest_size(path) // longest)
    for batch in file.iter_batches(max(1, most), columns=columns):
        batch.validate(full=True)  # text that is no UTF-8, indices out of range
        size += sum(map(_decoded_size, batch.columns))
        check_size(path, size, UNPACK)
        yield batch


def _decoded_size(column: Any) -> int:
    """Bytes of a column without a dictionary, so that each row has its own value."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    if pa.types.is_primitive(column.type.value_type):
        return len(column) * CELL
    length = pc.take(pc.binary_length(column.dictionary), column.indices)
    return int(pc.sum(length).as_py() or 0)


def _read_array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    where = f"{path}, array {info.filename.removesuffix('.npy')!r}"
    if info.compress_type not in ZIP_METHODS:
        raise ValueError(f"{where}: compressed as NumPy never does; save it again.")
    with archive.open(info) as file:
        try:
            version = np.lib.format.read_magic(file)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_column, dtype = read_header(file)
        except Exception as error:
            # NumPy reads the header with Python's tokenizer, which raises many kinds.
            raise ValueError(f"{where}: not a NumPy array.") from error
        if dtype.hasobject:
            raise ValueError(
                f"{where}: holds Python objects (pickle), which are never opened; save"
                " it as numbers or fixed-width strings."
            )
        # Also what holds nothing, as strings of no length do, takes room in a table.
        cells = shape[0] if shape and not all(shape) else math.prod(shape)
        check_size(path, cells * max(dtype.itemsize, CELL), UNPACK)
        if math.prod(shape) * dtype.itemsize != info.file_size - file.tell():
            raise ValueError(
                f"{where}: declares shape {list(shape)} of {dtype}, but holds"
                f" {info.file_size - file.tell()} bytes."
            )
        if dtype.itemsize == 0:
            return np.zeros(shape, dtype)
        array = np.frombuffer(file.read(), dtype)
    return array.reshape(shape, order="F" if by_column else "C")


def _column(path: Path, name: str, array: Any, missing: Any) -> Any:
    where = f"{path}, array {name!r}"
    if array.dtype.kind not in "biufUSM":
        raise ValueError(f"{where}: cannot be read as a column of {array.dtype}.")
    if array.dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{where}: not UTF-8 ({error}).") from error
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    if array.dtype.kind == "U" and array.nbytes:
        _check_nul(where, array.ravel())
    if array.ndim == 2:
        flat, width = pa.array(array.ravel()), array.shape[1]
        return pa.FixedSizeListArray.from_arrays(flat, width)
    if missing is not None and (missing.dtype != bool or missing.shape != array.shape):
        raise ValueError(
            f"{path}, array {MISSING + name!r}: must be {len(array)} booleans, got"
            f" {missing.dtype} of shape {list(missing.shape)}."
        )
    try:
        return pa.array(array, mask=missing)
    except pa.ArrowException as error:
        raise ValueError(f"{where}: cannot be read ({error}).") from error


def _check_nul(where: str, array: Any) -> None:
    """Refuse a NUL before another character, where Arrow would cut the string."""
    is_nul = array.view(np.uint32).reshape(len(array), -1) == 0
    cut = (is_nul[:, :-1] & ~is_nul[:, 1:]).any(axis=1)
    if cut.any():
        row = int(cut.argmax())
        raise ValueError(
            f"{where}: row {row} holds a NUL within a string, {str(array[row])!r}."
        )


def _arrays(name: str, column: Any) -> list[tuple[str, Any]]:
    column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_fixed_size_list(kind) and not column.null_count:
        values = column.flatten().to_numpy(zero_copy_only=False)
        return [(name, values.reshape(len(column), kind.list_size))]
    missing = [(MISSING + name, column.is_null().to_numpy(zero_copy_only=False))]
    if pa.types.is_floating(kind):
        return [(name, column.to_numpy(zero_copy_only=False))]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        array = values.to_numpy(zero_copy_only=False)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = column.fill_null("").to_pylist()
        if any(value.endswith("\0") for value in values):
            raise ValueError(
                f"Column {name!r}: NPZ cannot hold strings that end in NUL."
            )
        array = np.array(values, dtype=np.str_)
    else:
        raise ValueError(
            f"Column {name!r}: NPZ cannot hold {kind} without pickle; choose parquet."
        )
    return [(name, array)] + (missing if column.null_count else [])
