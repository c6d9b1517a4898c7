"""Blocks of rows on threads."""

import numpy as np
import pytest

from sgat.ops.blocks import ROWS, in_blocks


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
