"""Compressed rows: entries by column, on any device and for a compiler."""

from __future__ import annotations

import pytest
import torch
from support.awkward import GRAPHS
from torch import Tensor

from sgat.graph.compressed_rows import by_column, index_type, pointers


def by_hand(row_ptr: Tensor, column: Tensor, num_columns: int) -> list[list[int]]:
    """Pointers, rows and positions of the entries, sorted by column and row."""
    entries = [
        (column[k], row, k)
        for row in range(len(row_ptr) - 1)
        for k in range(row_ptr[row], row_ptr[row + 1])
    ]
    entries.sort()
    ptr = [sum(c < k for c, _, _ in entries) for k in range(num_columns + 1)]
    return [ptr, [row for _, row, _ in entries], [k for _, _, k in entries]]


def test_entries_of_a_column_stay_in_the_order_of_their_rows() -> None:
    row_ptr, column = torch.tensor([0, 2, 3, 5]), torch.tensor([0, 2, 2, 0, 2])
    ptr, row, entry = by_column(row_ptr, column, 3)
    assert ptr.tolist() == [0, 2, 2, 5] and ptr.dtype == torch.int64
    assert row.tolist() == [0, 2, 0, 1, 2] and row.dtype == torch.int32
    assert entry.tolist() == [0, 3, 1, 2, 4] and entry.dtype == torch.int32


@pytest.mark.parametrize("name", ["no edges", "one node", "loops in the input"])
@pytest.mark.parametrize("num_columns", [83, 101])
def test_awkward_rows(name: str, num_columns: int) -> None:
    graph = GRAPHS[name]()
    given = graph.row_ptr.tolist(), graph.src.tolist(), num_columns
    found = by_column(graph.row_ptr, graph.src, num_columns)
    assert [part.tolist() for part in found] == by_hand(*given)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_a_compiler_sees_one_operator(index: torch.dtype) -> None:
    given = (torch.tensor([0, 2, 3]), torch.tensor([1, 4, 1], dtype=index), 5)
    torch.library.opcheck(by_column, given)


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_gpu_finds_the_same_order(name: str) -> None:
    graph = GRAPHS[name]()
    expected = by_column(graph.row_ptr, graph.src, graph.num_nodes)
    moved = graph.to("cuda")
    found = by_column(moved.row_ptr, moved.src, graph.num_nodes)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and torch.equal(one.cpu(), other)


def test_pointers_count_the_entries_of_each_row() -> None:
    assert pointers(torch.tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3]


def test_positions_are_narrow_where_they_fit() -> None:
    assert index_type(2**31 - 1) == torch.int32
    assert index_type(2**31) == torch.int64
