"""Exponentials, logarithms and sums in vector lanes against float64."""

from __future__ import annotations

import numpy as np
import pytest

from sgat.ops.cpu.lanes import compiled, lane_exp, lane_log


@compiled
def exp_of(x, out):
    for k in range(len(x)):
        out[k] = lane_exp(x[k])


@compiled
def log_of(x, out):
    for k in range(len(x)):
        out[k] = lane_log(x[k])


def apply(function, x: np.ndarray) -> np.ndarray:
    out = np.full_like(x, np.nan)
    function(x, out)
    return out.astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_are_right_to_three_roundings(dtype: type) -> None:
    x = np.linspace(-87, 88, 400_009).astype(dtype)
    exact = np.exp(x.astype(np.float64))
    error = np.abs(apply(exp_of, x) / exact - 1).max()
    assert error < 3 * np.finfo(dtype).eps


def test_exponentials_end_in_zero_and_infinity() -> None:
    x = np.array([-np.inf, -300, -88, 0, 89, 300, np.inf, np.nan], np.float32)
    expected = np.array([0, 0, 0, 1, np.inf, np.inf, np.inf, np.nan])
    assert np.array_equal(apply(exp_of, x), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithms_are_right_to_one_rounding(dtype: type) -> None:
    x = np.exp(np.linspace(-80, 80, 400_009)).astype(dtype)
    exact = np.log(x.astype(np.float64))
    error = np.abs(apply(log_of, x) - exact) / np.maximum(np.abs(exact), 1)
    assert error.max() < 1.5 * np.finfo(dtype).eps
    assert apply(log_of, np.ones(1, dtype))[0] == 0
