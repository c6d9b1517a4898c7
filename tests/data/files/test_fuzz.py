"""Files made by a grammar end in a graph or in one sentence; see `made_files.py`."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
from support.made_files import run

CASES = 375


MORE = [pytest.mark.slow, pytest.mark.promise]


# What such files have broken has tests of its own; slow tests try more of them.
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=MORE) for n in range(1, 8))]
)
def test_made_files_are_read_or_refused(part: int, tmp_path: Path) -> None:
    seeds = range(part * CASES, (part + 1) * CASES)
    found = collections.Counter(run(seed, tmp_path) for seed in seeds)
    assert found["graph: read"] > CASES // 25 and found["graph: refused"] > CASES // 10
    assert set(found) > {"settings: refused", "table: read"}
