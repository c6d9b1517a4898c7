"""Rows in pieces, and entries by column."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.awkward import GRAPHS

from sgat import ops
from sgat.features import SparseFeatures
from sgat.ops.cpu import order as order_module
from sgat.ops.cpu.order import columns, cut_rows, pieces
from sgat.ops.operators import passes as fused_passes


def test_long_rows_are_cut_and_short_ones_kept_whole() -> None:
    cut = cut_rows(np.array([0, 3, 3, 10, 12]), 3)
    assert cut.ptr.tolist() == [0, 3, 3, 6, 9, 10, 12]
    assert cut.row.tolist() == [0, 1, 2, 2, 2, 3]
    assert cut.first.tolist() == [0, 1, 2, 5, 6]
    assert cut.extra.tolist() == [-1, -1, -1, 0, 1, -1]
    assert cut.num_extra == 2


def test_rows_that_need_no_cut_keep_their_pointers() -> None:
    row_ptr = np.array([0, 3, 3, 10, 12])
    cut = cut_rows(row_ptr, 7)
    assert cut.ptr is row_ptr
    assert cut.num_extra == 0


def test_pieces_follow_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    row_ptr = torch.tensor([0, 50])
    assert pieces(row_ptr).num_extra == 0
    monkeypatch.setitem(fused_passes.SPLIT, "cpu", 16)
    assert pieces(row_ptr).num_extra == 3
    assert pieces(row_ptr) is pieces(row_ptr)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_entries_by_column_are_those_sorted_by_source(name: str) -> None:
    graph = GRAPHS[name]()
    order = columns(graph.row_ptr, graph.src, graph.num_nodes)
    expected = graph.by_source
    assert order.pieces.ptr.tolist() == expected.ptr.tolist()
    assert order.row.tolist() == expected.dst.tolist()
    assert order.entry.tolist() == expected.edge.tolist()


def test_what_is_kept_goes_with_the_graph() -> None:
    graph = GRAPHS["random directed"]()
    kept = (order_module._pieces, order_module._columns)
    before = [len(results) for results in kept]
    pieces(graph.row_ptr)
    columns(graph.row_ptr, graph.src, graph.num_nodes)
    assert [len(results) for results in kept] == [count + 1 for count in before]
    del graph
    assert [len(results) for results in kept] == before


def test_a_compiled_step_orders_the_entries_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    place = order_module.place_kernel
    monkeypatch.setattr(
        order_module, "place_kernel", lambda *args: calls.append(place(*args))
    )
    x = SparseFeatures.from_dense(torch.eye(7))
    weight = torch.randn(7, 3, requires_grad=True)
    project = torch.compile(
        lambda weight: ops.project(x, weight, backend="cpu"), backend="aot_eager"
    )
    for _ in range(3):
        project(weight).sum().backward()
    assert len(calls) == 1
