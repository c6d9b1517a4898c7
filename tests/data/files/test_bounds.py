"""Peak memory of small files that stand for large tables; see `test_malformed.py`."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from sgat.cli import main
from sgat.data.files import binary_format, read_graph, write_table
from sgat.data.files.bounds import (
    LARGEST_RATIO,
    SMALL_SIZE,
    is_out_of_memory,
    largest_size,
)

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


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the size")
@pytest.mark.parametrize(
    ("suffix", "error"),
    [
        ("npz", MemoryError()),
        ("parquet", pa.ArrowMemoryError("malloc of size 32000000 failed")),
    ],
)
def test_a_file_is_not_blamed_where_memory_runs_out(
    suffix: str,
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Under a real limit native code now and then ends the process instead.
    path = tmp_path / f"e.{suffix}"
    write_table(pa.table({"src": [1, 2], "dst": [2, 3]}), path)
    reader = {"npz": "_read_array", "parquet": "_decoded_size"}[suffix]

    def fails(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(binary_format, reader, fails)
    assert main(["data", "info", "--edges", str(path), "--quiet"]) == 1
    assert capsys.readouterr().err == (
        f"error: Memory ran out while reading {path}; free some, or leave out"
        " columns or rows.\n"
    )


def test_what_a_file_says_of_memory_is_no_lack_of_it(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("src,dst,weight\na,b,out of memory\n")
    with pytest.raises(ValueError, match="must be a number, got 'out of memory'"):
        read_graph(path)
    try:
        raise OSError(errno.ENOENT, "No such file", "out of memory.csv")
    except OSError as error:
        assert not is_out_of_memory(error)
