"""Parquet tables.

Tested by tests/data/files/test_malformed.py and test_round_trip.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from sgat.data.files.source import Source, check_magic, check_names, check_unpacked

MAGIC = b"PAR1"
SMALL_SIZE = 1 << 28
"""Bytes in memory below which no ratio is suspicious."""
LARGEST_RATIO = 1000
"""How many times its own size a larger file may take in memory."""


def read_parquet(path: Path) -> Source:
    """Read a table with its types."""
    check_magic(path, MAGIC, "a Parquet file")
    with path.open("rb") as file:
        file.seek(-len(MAGIC), 2)
        if file.read() != MAGIC:
            raise ValueError(f"{path}: the Parquet file is cut short or damaged.")
    try:
        # A path alone would also accept a folder of files and partition columns.
        with pyarrow.parquet.ParquetFile(path, memory_map=True) as file:
            names = file.schema_arrow.names
            rows, columns = file.metadata.num_rows, file.metadata.num_columns
            what = f"{rows} rows of {columns} columns"
            limits = SMALL_SIZE, LARGEST_RATIO
            check_unpacked(path, rows * columns * 8, *limits, what)
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
