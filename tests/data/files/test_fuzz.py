"""Files made by a grammar end in a graph or in one sentence; see `made_files.py`."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
from support.made_files import run

CASES = 1500


@pytest.mark.parametrize("part", range(4))
def test_made_files_are_read_or_refused(part: int, tmp_path: Path) -> None:
    seeds = range(part * CASES // 4, (part + 1) * CASES // 4)
    found = collections.Counter(run(seed, tmp_path) for seed in seeds)
    assert found["graph: read"] > CASES // 100 and found["graph: refused"] > CASES // 40
    assert set(found) > {"settings: refused", "table: read"}
