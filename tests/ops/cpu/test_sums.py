"""Sums of rows in registers."""

from __future__ import annotations

import numpy as np
import pytest

from sgat.ops.cpu.sums import sum_row


@pytest.mark.parametrize("width", [1, 3, 4, 19, 64, 128, 127])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_rows_are_summed_with_their_coefficients(
    width: int, dtype: type, index: type
) -> None:
    random = np.random.default_rng(width)
    x = random.standard_normal((23, width)).astype(dtype)
    base = random.standard_normal((7, width)).astype(dtype)
    column = random.integers(23, size=31).astype(index)
    value, scale = random.random(31).astype(dtype), random.random(23).astype(dtype)
    out = np.full((5, width), np.nan, dtype)
    start, factor = dtype(0.5), dtype(3)
    sum_row(base, 4, start, x, column, value, scale, 2, 29, factor, out, 3)
    picked = column[2:29]
    weighted = (value[2:29] * scale[picked])[:, None].astype(np.float64) * x[picked]
    expected = 3 * (0.5 * base[4].astype(np.float64) + weighted.sum(0))
    np.testing.assert_allclose(out[3], expected, rtol=0, atol=99 * np.finfo(dtype).eps)
    assert np.isnan(out[[0, 1, 2, 4]]).all()


def test_without_a_start_nothing_is_read_before_the_first_row() -> None:
    x = np.full((2, 70), np.nan, np.float32)
    column, value = np.zeros(1, np.int32), np.ones(1, np.float32)
    out = x.copy()
    zero, one = np.float32(0), np.float32(1)
    sum_row(out, 0, zero, x, column, value, None, 0, 0, one, out, 0)
    assert (out[0] == 0).all()
    assert np.isnan(out[1]).all()
