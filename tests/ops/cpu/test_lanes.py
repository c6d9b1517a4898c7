"""Exponentials, logarithms and sums in vector lanes against float64."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sgat.ops.cpu import lanes
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


def test_kernels_are_cached_until_a_source_they_may_call_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = "from sgat.ops.cpu.lanes import compiled, lane_exp\n"
    kernel += "@compiled\ndef kernel(x):\n    return lane_exp(x)\n"
    path = tmp_path / "kernel.py"
    path.write_text(kernel, encoding="utf-8")

    def comes_from_cache() -> bool:
        spec = importlib.util.spec_from_file_location("kernel", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.kernel(1.0)
        return bool(module.kernel.stats.cache_hits)

    assert not comes_from_cache()
    assert comes_from_cache()
    monkeypatch.setattr(lanes, "SOURCES", "changed")
    assert not comes_from_cache()


def test_the_digest_follows_every_source(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("b.py", "a.py")]
    for file in files:
        file.write_text("1", encoding="utf-8")
    before = lanes.digest(files)
    assert lanes.digest(reversed(files)) == before
    files[0].write_text("2", encoding="utf-8")
    assert lanes.digest(files) != before
