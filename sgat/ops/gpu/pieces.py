"""Rows cut into pieces of one GPU program each, and sums over the pieces of a row.

Pieces of one row are added in their order by a second, small kernel; no atomics are
used, and results repeat bit for bit. What a graph needs for this is worked out at its
first use, with a wait for the device, and kept as long as the graph lives.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.cache import Kept
from sgat.ops.operators.passes import SPLIT


@triton.jit
def sum_pieces_kernel(
    p_first, p_part, p_base, p_out, num_rows, BASED: tl.constexpr, BLOCK: tl.constexpr
):
    """Row sums base_i + Σ part over the pieces of row i; one program, BLOCK rows."""
    o_row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m_row = o_row < num_rows
    o_part = tl.load(p_first + o_row, mask=m_row, other=0)
    o_end = tl.load(p_first + o_row + 1, mask=m_row, other=0)
    total = tl.zeros([BLOCK], p_out.dtype.element_ty)
    for _ in range(tl.max(o_end - o_part, 0).to(tl.int32)):
        total += tl.load(p_part + o_part, mask=o_part < o_end, other=0)
        o_part += 1
    if BASED:
        total += tl.load(p_base + o_row, mask=m_row, other=0)
    tl.store(p_out + o_row, total, mask=m_row)


class Pieces(NamedTuple):
    """Rows cut into pieces.

    Attributes:
        bound: Piece k covers the entries bound[k] to bound[k + 1], [P + 1].
        row: Row of each piece, [P] int32.
        first: Pieces of row i are first[i] to first[i + 1], [N + 1].
        partial: Where a piece of a split row leaves its sum, [P] int32; -1 for a row
            of one piece.
        split_row: The split rows.
        num_partial: Number of pieces of split rows.
        longest: Entries of the longest row, 1 at least.
    """

    bound: Tensor
    row: Tensor
    first: Tensor
    partial: Tensor
    split_row: Tensor
    num_partial: int
    longest: int


class Order(NamedTuple):
    """Entries of a sparse matrix by column, then by row.

    Attributes:
        pieces: Pieces of the columns.
        row: Row of each entry in this order.
        entry: Position of each entry in the order by row.
    """

    pieces: Pieces
    row: Tensor
    entry: Tensor


_pieces = Kept()
_orders = Kept()
_entry_rows = Kept()


def cut(row_ptr: Tensor) -> Pieces:
    """Cut rows into pieces of at most `SPLIT` entries, at least one for each row."""
    split, device = SPLIT["gpu"], row_ptr.device
    num_rows = len(row_ptr) - 1
    count = torch.div(row_ptr.diff() + split - 1, split, rounding_mode="floor")
    count = count.clamp(min=1)
    first = torch.cat([count.new_zeros(1), count.cumsum(0)])
    row = torch.repeat_interleave(torch.arange(num_rows, device=device), count)
    within = torch.arange(len(row), device=device) - first[row]
    bound = torch.cat([row_ptr[row] + within * split, row_ptr[-1:]])
    is_split = (count > 1)[row]
    partial = torch.where(is_split, is_split.cumsum(0) - 1, -1)
    return Pieces(
        bound,
        row.to(torch.int32),
        first,
        partial.to(torch.int32),
        (count > 1).nonzero().squeeze(1).to(torch.int32),
        int(is_split.sum()),
        max(int(row_ptr.diff().max()), 1) if num_rows else 1,
    )


def pieces_of(row_ptr: Tensor) -> Pieces:
    """The pieces of these rows, kept as long as the memory of `row_ptr`."""
    known = _pieces.get(row_ptr)
    if known is None:
        known = cut(row_ptr)
        _pieces.set(row_ptr, known)
    return known


def order_of(row_ptr: Tensor, column: Tensor, num_columns: int) -> Order:
    """The entries by column, kept as long as the memory of `column`."""
    known = _orders.get(column)
    if known is None:
        # Stable, so that entries of a column stay in the order of their rows.
        sorted_column, entry = torch.sort(column, stable=True)
        bounds = torch.arange(num_columns + 1, device=column.device)
        column_ptr = torch.searchsorted(sorted_column, bounds.to(column.dtype))
        row = entry_rows(row_ptr, column)[entry]
        index = torch.int32 if len(column) < 2**31 else torch.int64
        known = Order(cut(column_ptr), row, entry.to(index))
        _orders.set(column, known)
    return known


def entry_rows(row_ptr: Tensor, column: Tensor) -> Tensor:
    """Row of each entry in the type of `column`, kept as long as its memory."""
    known = _entry_rows.get(column)
    if known is None:
        row = torch.arange(len(row_ptr) - 1, device=column.device, dtype=column.dtype)
        known = torch.repeat_interleave(row, row_ptr.diff(), output_size=len(column))
        _entry_rows.set(column, known)
    return known


def sum_pieces(pieces: Pieces, part: Tensor, base: Tensor | None, out: Tensor) -> None:
    """Write out_i = base_i + Σ part over the pieces of row i; base is 0 if None."""
    num_rows = len(out)
    block = 128
    sum_pieces_kernel[(triton.cdiv(num_rows, block),)](
        p_first=pieces.first,
        p_part=part,
        p_base=base,
        p_out=out,
        num_rows=num_rows,
        BASED=base is not None,
        BLOCK=block,
        num_warps=4,
    )
