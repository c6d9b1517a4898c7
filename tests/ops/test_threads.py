"""Ranges of rows, and the threads that take them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from sgat.ops import threads


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    count = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(count)


@pytest.fixture(params=["openmp", "pool"])
def crew(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pool":
        monkeypatch.setattr(threads, "_openmp", None)
    elif threads._openmp is None:
        pytest.skip("torch has loaded no OpenMP library")


def test_ranges_cover_all_rows_once_with_about_as_many_entries() -> None:
    row_ptr = np.concatenate([[0], np.cumsum(np.arange(1000) % 7)])
    cuts = threads.cut(row_ptr, 5)
    assert [row for first, last in cuts for row in range(first, last)] == [*range(1000)]
    sizes = [row_ptr[last] - row_ptr[first] for first, last in cuts]
    assert max(sizes) < 1.1 * min(sizes)


def test_blocks_do_not_depend_on_the_threads() -> None:
    row_ptr = np.arange(0, 50 * 4001, 50)
    cuts = threads.blocks(row_ptr)
    assert len(cuts) == 200_000 // threads.ENTRIES_PER_BLOCK
    torch.set_num_threads(1)
    assert threads.blocks(row_ptr) == cuts


def test_little_work_is_one_range() -> None:
    assert threads.ranges(np.arange(100), 8) == [(0, 99)]
    assert len(threads.ranges(np.arange(1 << 20), 8)) == 12


@pytest.mark.usefixtures("crew")
def test_every_range_is_taken_once_by_several_threads() -> None:
    taken, names = [], set()
    together = threading.Barrier(3, timeout=60)

    def kernel(first: int, last: int, argument: str) -> None:
        if first < 3:
            together.wait()
        taken.append((first, last, argument))
        names.add(threading.get_ident())

    ranges = [(k, k + 1) for k in range(20)]
    threads.run(kernel, ranges, "x")
    assert sorted(taken) == [(*bounds, "x") for bounds in ranges]
    assert len(names) == 3


@pytest.mark.usefixtures("crew")
def test_a_failure_in_a_thread_is_raised() -> None:
    def kernel(first: int, last: int) -> None:
        if first == 7:
            raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        threads.run(kernel, [(k, k + 1) for k in range(20)])
