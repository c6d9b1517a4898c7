"""Blocks of rows on threads."""

import numpy as np
import pytest

from sgat.ops.blocks import ROWS, by_rows, in_blocks, sum_of_rows


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
