"""Peak memory of small files that stand for large tables; see `test_malformed.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sgat.data.files.bounds import LARGEST_RATIO, SMALL_SIZE, largest_size

PEAK = """
import resource, sys
from sgat.data.files import read_graph
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_graph(sys.argv[1])
except ValueError as error:
    print(error, file=sys.stderr)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown if sys.platform == "darwin" else grown * 1024)
"""


def ramp(path: Path) -> None:
    """As many edges as so small a file may have, with as many nodes."""
    ids = np.arange(SMALL_SIZE // 16)
    pyarrow.parquet.write_table(
        pa.table({"src": ids, "dst": ids[::-1]}),
        path.with_suffix(".parquet"),
        use_dictionary=False,
        column_encoding=dict.fromkeys(("src", "dst"), "DELTA_BINARY_PACKED"),
    )


def text(path: Path) -> None:
    """One string, as its own prefix in every row."""
    column = pa.array(["x" * 130_000] * 30_000).dictionary_encode()
    pyarrow.parquet.write_table(
        pa.table({"src": column, "dst": column}), path.with_suffix(".parquet")
    )


@pytest.mark.slow
@pytest.mark.parametrize("write", [ramp, text])
def test_small_file_takes_less_than_a_gibibyte(write, tmp_path: Path) -> None:
    write(tmp_path / "e")
    [path] = tmp_path.iterdir()
    found = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(found.stdout) < 2**30


def test_large_file_may_take_more_memory_than_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "e.npz"
    path.write_bytes(b"x")
    assert largest_size(path) == SMALL_SIZE
    path.write_bytes(bytes(SMALL_SIZE // 100))
    assert largest_size(path) == SMALL_SIZE // 100 * LARGEST_RATIO
