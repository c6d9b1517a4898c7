"""Rows cut into pieces, worked out by hand."""

from __future__ import annotations

import torch
from support.triton_device import needs_triton

pytestmark = needs_triton


def test_rows_are_cut_and_even_an_empty_row_has_a_piece(short_pieces: None) -> None:
    from sgat.ops.gpu.pieces import cut

    pieces = cut(torch.tensor([0, 0, 40, 41, 73]))
    assert pieces.bound.tolist() == [0, 0, 16, 32, 40, 41, 57, 73]
    assert pieces.row.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert pieces.first.tolist() == [0, 1, 4, 5, 7]
    assert pieces.partial.tolist() == [-1, 0, 1, 2, -1, 3, 4]
    assert pieces.split_row.tolist() == [1, 3]
    assert (pieces.num_partial, pieces.longest) == (5, 40)


def test_entries_of_a_column_stay_in_the_order_of_their_rows() -> None:
    from sgat.ops.gpu.pieces import order_of

    row_ptr, column = torch.tensor([0, 2, 3, 5]), torch.tensor([0, 2, 2, 0, 2])
    order = order_of(row_ptr, column, 3)
    assert order.entry.tolist() == [0, 3, 1, 2, 4]
    assert order.row.tolist() == [0, 2, 0, 1, 2]
    assert order.pieces.bound.tolist() == [0, 2, 2, 5]
    assert order_of(row_ptr, column, 3) is order
