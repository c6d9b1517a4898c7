"""Rows cut into pieces, worked out by hand, and who owns them."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from support.awkward import GRAPHS

from sgat import ops
from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops.operators import pieces as pieces_module
from sgat.ops.operators.pieces import SPLIT, RowPieces, cut_rows, unpacked


def cut(row_ptr: list[int]) -> RowPieces:
    packed = cut_rows(torch.tensor(row_ptr), row_ptr[-1], "gpu")
    return unpacked(packed, len(row_ptr) - 1)


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a compiler, which cannot wait for the number of pieces."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)


def test_rows_are_cut_and_even_an_empty_row_has_a_piece(short_pieces: None) -> None:
    pieces = cut([0, 0, 40, 41, 73])
    assert pieces.bound.tolist() == [0, 0, 16, 32, 40, 41, 57, 73]
    assert pieces.row.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert pieces.first.tolist() == [0, 1, 4, 5, 7]
    assert pieces.partial.tolist() == [-1, 0, 1, 2, -1, 3, 4]
    assert pieces.split_row.tolist() == [1, 3, -1]
    assert pieces.longest.tolist() == [40]
    assert pieces.most_partial >= 5


def test_a_compiler_gets_spare_pieces(short_pieces: None, compiling: None) -> None:
    pieces = cut([0, 0, 40, 41, 73])
    # 4 rows and 73 // 16 more have room for 8 pieces; the last is spare.
    assert pieces.bound.tolist() == [0, 0, 16, 32, 40, 41, 57, 73, 73]
    assert pieces.row.tolist() == [0, 1, 1, 1, 2, 3, 3, 3]
    assert pieces.first.tolist() == [0, 1, 4, 5, 7]
    assert pieces.partial.tolist() == [-1, 0, 1, 2, -1, 3, 4, -2]
    assert pieces.split_row.tolist() == [1, 3, -1, -1]
    assert pieces.longest.tolist() == [40]
    assert pieces.most_partial >= 5


def test_rows_that_need_no_cut_are_their_own_pieces(short_pieces: None) -> None:
    pieces = cut([0, 16, 16, 31])
    assert pieces.bound.tolist() == [0, 16, 16, 31]
    assert pieces.row.tolist() == [0, 1, 2]
    assert pieces.partial.tolist() == [-1, -1, -1]
    assert pieces.split_row.tolist() == []


@pytest.mark.parametrize("row_ptr", [[0], [0, 0], [0, 1]])
def test_few_rows_have_no_spare_pieces(row_ptr: list[int]) -> None:
    pieces = cut(row_ptr)
    assert pieces.bound.tolist() == row_ptr
    assert pieces.first.tolist() == list(range(len(row_ptr)))
    assert pieces.partial.tolist() == [-1] * (len(row_ptr) - 1)
    assert pieces.longest.tolist() == [1]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("split", [1, 2, 7, 16])
def test_there_is_room_whatever_the_lengths(
    split: int, compiled: bool, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(SPLIT, "gpu", split)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: compiled)
    length = torch.randint(40, (97,))
    row_ptr = [0, *length.cumsum(0).tolist()]
    pieces = cut(row_ptr)
    number = int(pieces.first[-1])
    assert number <= len(pieces.row) if compiled else number == len(pieces.row)
    covered = pieces.bound.diff()
    assert covered.max() <= split and not covered[number:].any()
    total = torch.zeros(97, dtype=torch.int64)
    assert torch.equal(total.index_add(0, pieces.row, covered), length)
    apart = pieces.partial[pieces.partial >= 0].tolist()
    assert apart == list(range(len(apart))) and len(apart) <= pieces.most_partial
    is_long = (length > split).nonzero().squeeze(1).tolist()
    assert pieces.split_row[: len(is_long)].tolist() == is_long
    assert (pieces.split_row[len(is_long) :] == -1).all()


def test_each_part_begins_at_a_multiple_of_16_bytes() -> None:
    for part in cut([0, 3, 5, 4000]):
        assert part.storage_offset() % 2 == 0


def scores_of(graph: Graph) -> torch.Tensor:
    return torch.zeros(graph.num_nodes, requires_grad=True)


def test_a_graph_is_cut_once_and_owns_what_was_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    monkeypatch.setattr(
        pieces_module, "cut_rows", lambda *given: calls.append(1) or cut_rows(*given)
    )
    graph = GRAPHS["random directed"]()
    for _ in range(3):
        opened = ops.open_edges(
            graph, scores_of(graph), scores_of(graph), backend="cpu"
        )
        ops.aggregate(opened, scores_of(graph)).sum().backward()
    assert len(calls) == 2  # by target and by source
    with torch.no_grad():
        other = GRAPHS["random directed"]()
        ops.open_edges(other, scores_of(other), scores_of(other), backend="cpu")
    assert len(calls) == 3  # by target alone
    assert graph.to("cpu") is graph
    owned = weakref.ref(graph.derived["targets in pieces of 8192"])
    del graph, opened
    gc.collect()
    assert owned() is None


def test_a_compiled_step_orders_the_entries_once() -> None:
    x = SparseFeatures.from_dense(torch.eye(7))
    weight = torch.randn(7, 3, requires_grad=True)
    project = torch.compile(
        lambda x, weight: ops.project(x, weight, backend="cpu"),
        backend="aot_eager",
        fullgraph=True,
    )
    project(x, weight).sum().backward()
    owned = dict(x.derived)
    names = ("by column", "rows in pieces of 8192", "columns in pieces of 8192")
    assert {*owned} == {*names}
    for _ in range(2):
        project(x, weight).sum().backward()
    assert all(x.derived[name] is owned[name] for name in names)


def test_a_fresh_graph_goes_through_a_compiled_model() -> None:
    graph, x = GRAPHS["random directed"](), torch.randn(31, 7)
    graph = Graph.from_edges(graph.edge_index, 31)
    model = SGAT(7, 3, 2, backend="cpu")
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    seed = torch.tensor([5])
    found = [compiled(x, graph, seed=seed) for _ in range(2)]
    other = Graph.from_edges(graph.edge_index, 31)
    for out in (*found, compiled(x, other, seed=seed)):
        torch.testing.assert_close(out, model(x, graph, seed=seed))
    assert "targets in pieces of 8192" in other.derived


def test_what_is_worked_out_in_inference_mode_can_be_trained_with() -> None:
    graph = GRAPHS["random directed"]()
    score = scores_of(graph)
    with torch.inference_mode():
        ops.open_edges(graph, score, score, backend="cpu")
    opened = ops.open_edges(graph, score, score, backend="cpu")
    opened.row_sum.sum().backward()
    assert score.grad.abs().max() > 0
