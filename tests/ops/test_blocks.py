"""Blocks of rows on threads, and arrays on disk."""

import errno
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

from sgat.ops.blocks import (
    ROWS,
    SHORT,
    by_rows,
    empty,
    in_blocks,
    in_threads,
    on_disk,
    sum_of_rows,
    where,
)


@pytest.mark.parametrize("length", [0, 1, ROWS, 3 * ROWS + 7])
def test_every_row_is_in_one_block(length: int):
    found = np.zeros(length, dtype=int)

    def work(rows: slice) -> None:
        found[rows] += np.arange(rows.start, rows.stop)

    in_blocks(work, length)
    assert np.array_equal(found, np.arange(length))


def test_a_failure_in_a_block_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_blocks(lambda rows: 1 // 0, 2 * ROWS)


@pytest.mark.parametrize("length", [0, 5, 2 * ROWS + 3])
def test_a_function_of_rows_is_that_of_all(length: int, seed: int):
    one, other = np.random.default_rng(seed).random((2, length))
    wanted = np.hypot(one, other)
    found = by_rows(np.hypot, one, other)
    assert found.dtype == np.float32 and np.array_equal(found, wanted.astype("f4"))
    assert sum_of_rows(np.hypot, one, other) == pytest.approx(wanted.sum())


def is_mapped(array: np.ndarray) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(getattr(array, "obj", array), mmap.mmap)


def test_a_function_may_keep_its_type(seed: int):
    one = np.random.default_rng(seed).random(2 * ROWS + 3)
    for wanted in (one > 0.5, np.sqrt(one)):
        function = np.sqrt if wanted.dtype == float else lambda part: part > 0.5
        found = by_rows(function, one, dtype=None)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_arrays_on_disk_hold_what_others_do_and_leave_no_file(tmp_path, seed: int):
    one = np.random.default_rng(seed).random(2 * ROWS + 3)
    with on_disk(tmp_path):
        found, chosen = by_rows(np.sqrt, one, dtype=float), where(one > 0.5, one)
        pair = empty((2, len(one)), np.int32)
        short = empty(SHORT // 8, float)
        assert not any(tmp_path.iterdir())
    with on_disk(None):
        assert not is_mapped(empty(len(one), float))
    assert all(map(is_mapped, (found, chosen, pair))) and not is_mapped(short)
    assert np.array_equal(found, np.sqrt(one)) and found.flags.writeable
    assert np.array_equal(chosen, one[one > 0.5])
    assert pair.shape == (2, len(one)) and pair.dtype == np.int32


@pytest.mark.skipif(sys.platform != "linux", reason="asks for the room of a file")
def test_a_full_disk_is_an_error_of_the_folder(tmp_path, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with on_disk(tmp_path), pytest.raises(OSError, match=r"No space.*'.*test_a_full"):
        empty(SHORT, float)
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="kills itself")
def test_a_killed_process_leaves_no_array_behind(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path;"
        " from sgat.ops.blocks import empty, on_disk;"
        " stack = on_disk(Path(sys.argv[1])); stack.__enter__();"
        " kept = empty(1 << 20, float); kept[:] = 1;"
        " os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9 and not any(tmp_path.iterdir())


@pytest.mark.parametrize("length", [0, 1, 23])
def test_what_threads_find_comes_in_order(length: int):
    found = in_threads(lambda rows: list(range(rows.start, rows.stop)), length, 5)
    assert [row for part in found for row in part] == list(range(length))
    assert all(len(part) <= 5 for part in found)
