"""Parquet and NPZ tables, opened without pickle and within bounds."""

import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sgat.data.files.source import Source, check_magic, check_names

SMALL_SIZE = 1 << 28
"""Unpacked bytes below which no ratio is suspicious."""
LARGEST_PARQUET_RATIO, LARGEST_NPZ_RATIO = 1000, 200
"""How many times its own size a larger file may unpack to."""
PARQUET = b"PAR1"
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
)
"""Errors that opening or unpacking a damaged archive can raise."""
MISSING = "missing/"
"""Prefix of the array that marks the missing values of a column without NaN."""


def read_parquet(path: Path) -> Source:
    """Read a table with its types."""
    check_magic(path, PARQUET, "a Parquet file")
    with path.open("rb") as file:
        file.seek(-len(PARQUET), 2)
        if file.read() != PARQUET:
            raise ValueError(f"{path}: the Parquet file is cut short or damaged.")
    try:
        # A path alone would also accept a folder of files and partition columns.
        with pyarrow.parquet.ParquetFile(path, memory_map=True) as file:
            names = file.schema_arrow.names
            rows, columns = file.metadata.num_rows, file.metadata.num_columns
            what = f"{rows} rows of {columns} columns"
            size = rows * columns * 8
            _check_unpacked(path, size, LARGEST_PARQUET_RATIO, what)
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"{path}: the Parquet file is cut short or damaged ({reason})."
        ) from error
    check_names(path, names)
    return Source(table.replace_schema_metadata(None), str(path), "parquet")


def write_parquet(table: Any, path: Path) -> None:
    """Write a table with its types."""
    pyarrow.parquet.write_table(table, path, compression="zstd")


def read_npz(path: Path) -> Source:
    """Read each array as a column; a matrix [N, K] is one column of K numbers."""
    check_magic(path, b"PK", "an NPZ file")
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            _check_unpacked(path, unpacked, LARGEST_NPZ_RATIO, f"{unpacked}")
            arrays = {
                info.filename.removesuffix(".npy"): _read_array(path, archive, info)
                for info in archive.infolist()
            }
    except DAMAGE as error:
        raise ValueError(f"{path}: the NPZ file is damaged ({error}).") from error
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


def _check_unpacked(path: Path, unpacked: int, ratio: int, of: str) -> None:
    """Refuse a large file that unpacks to over `ratio` times its size."""
    size = path.stat().st_size
    if unpacked > max(SMALL_SIZE, ratio * size):
        raise ValueError(
            f"{path}: {size} bytes would unpack to {of}, more than {ratio} times as"
            " many bytes; the file is refused as a bomb."
        )


def _read_array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    where = f"{path}, array {info.filename.removesuffix('.npy')!r}"
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
    if array.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(
            pa.array(array.ravel()), array.shape[1]
        )
    if missing is not None and (missing.dtype != bool or missing.shape != array.shape):
        raise ValueError(
            f"{path}, array {MISSING + name!r}: must be {len(array)} booleans, got"
            f" {missing.dtype} of shape {list(missing.shape)}."
        )
    try:
        return pa.array(array, mask=missing)
    except pa.ArrowException as error:
        raise ValueError(f"{where}: cannot be read ({error}).") from error


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
