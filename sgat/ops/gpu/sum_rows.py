"""Weighted sums of rows of features on the GPU, by pieces of rows."""

from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.operators.pieces import RowPieces
from sgat.ops.reference import wide_type

MAX_WIDTH = 256
"""Columns of x one program covers; wider x goes in slices."""

ALIGNED = 16
"""Columns to a multiple of which x is padded."""


@triton.jit
def load_entries(
    entries,
    o_entry,
    counts,
    acc_type: tl.constexpr,
    TWO_ENDS: tl.constexpr,
    WHOLE_VALUE: tl.constexpr,
):
    """Column and value of entries; those from `num_first` on stand `gap` further on.

    Their value is 1 unless WHOLE_VALUE. Masked lanes hold column 0 and value 0.
    """
    p_column, p_value, begin = entries
    num_first, num_entries, gap = counts
    m_entry = o_entry < num_entries
    o_slot = o_entry
    if TWO_ENDS:
        o_slot = tl.where(o_entry < num_first, o_entry, o_entry + gap)
    j = tl.load(p_column + begin + o_slot, mask=m_entry, other=0)
    if TWO_ENDS and not WHOLE_VALUE:
        value = tl.load(p_value + begin + o_slot, mask=o_entry < num_first, other=1)
        value = tl.where(m_entry, value, 0)
    else:
        value = tl.load(p_value + begin + o_slot, mask=m_entry, other=0)
    return j, value.to(acc_type)


@triton.jit
def store_row(total, i_row, o_column, factors, outputs, sizes):
    """Write scale_i · total + loop_i · own_i, in two types if `p_wide_out` is given."""
    p_own, p_scale, p_loop = factors
    p_out, p_wide_out = outputs
    width, stride = sizes
    m_column = o_column < width
    o_out = i_row.to(tl.int64) * width + o_column
    if p_scale is not None:
        total *= tl.load(p_scale + i_row).to(total.dtype)
    if p_loop is not None:
        o_own = i_row.to(tl.int64) * stride + o_column
        b_own = tl.load(p_own + o_own, mask=m_column, other=0).to(total.dtype)
        total += tl.load(p_loop + i_row).to(total.dtype) * b_own
    tl.store(p_out + o_out, total, mask=m_column)
    if p_wide_out is not None:
        tl.store(p_wide_out + o_out, total, mask=m_column)


@triton.jit
def sum_rows_kernel(
    p_bound,
    p_row,
    p_piece_partial,
    p_filled,
    p_whole,
    p_column,
    p_value,
    p_other,
    p_gate,
    p_grad_gate,
    p_x,
    p_scale,
    p_loop,
    p_out,
    p_wide_out,
    p_partial,
    width,
    stride,
    first_column,
    WHOLE_VALUE: tl.constexpr,
    SPARSE: tl.constexpr,
    IS_FIRST: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Σ_j value_ij x_j over a piece of row i; `store_row` finishes rows of one piece.

    One program covers one piece and BLOCK_D columns of x. `p_filled` says how many of
    its first entries count, `p_whole` how many of the last, which have the value 1
    unless WHOLE_VALUE; without, all count. Rows of x whose value is 0 are not read if
    SPARSE. With `p_grad_gate` also the share of these columns in x_j · other_i, times
    value / gate if `p_gate` is given, for the first entries alone: those are the
    half-open ones.
    """
    COMPACT: tl.constexpr = p_filled is not None
    TWO_ENDS: tl.constexpr = p_whole is not None
    DOTS: tl.constexpr = p_grad_gate is not None
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    num_entries = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    gap = 0
    num_first = num_entries
    if COMPACT:
        num_first = tl.load(p_filled + i_piece)
        gap = num_entries
        num_entries = num_first
        if TWO_ENDS:
            num_entries += tl.load(p_whole + i_piece)
        gap -= num_entries
    i_row = tl.load(p_row + i_piece)
    i_partial = tl.load(p_piece_partial + i_piece)
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    # Columns that pad x hold 0, and masking whole vectors lets them be read as such.
    m_padded = o_column < stride
    acc_type: tl.constexpr = (
        tl.float64 if p_x.dtype.element_ty == tl.float64 else tl.float32
    )
    if DOTS:
        o_other = i_row.to(tl.int64) * width + o_column
        b_other = tl.load(p_other + o_other, mask=m_column, other=0).to(acc_type)
    acc = tl.zeros([BLOCK_D], acc_type)
    o_lane = tl.arange(0, BLOCK_E)
    # The entries of a tile are on their way while the rows of the one before are read.
    entries = (p_column, p_value, begin)
    counts = (num_first, num_entries, gap)
    j_next, value_next = load_entries(
        entries, o_lane, counts, acc_type, TWO_ENDS, WHOLE_VALUE
    )
    for o_block in range(0, num_first, BLOCK_E):
        o_entry = o_block + o_lane
        j, value = j_next, value_next
        j_next, value_next = load_entries(
            entries, o_entry + BLOCK_E, counts, acc_type, TWO_ENDS, WHOLE_VALUE
        )
        m_read = value != 0 if SPARSE else o_entry < num_entries
        b_x = tl.load(
            p_x + j.to(tl.int64)[:, None] * stride + o_column[None, :],
            mask=m_read[:, None] & m_padded[None, :],
            other=0,
        ).to(acc_type)
        acc += tl.sum(value[:, None] * b_x, 0)
        if DOTS:
            m_first = o_entry < num_first
            dot = tl.sum(b_x * b_other[None, :], 1)
            if p_gate is not None:
                dot *= value / tl.load(p_gate + begin + o_entry, mask=m_first, other=1)
            p_change = p_grad_gate + begin + o_entry
            if not IS_FIRST:
                dot += tl.load(p_change, mask=m_first, other=0)
            tl.store(p_change, dot, mask=m_first)
    if TWO_ENDS:
        # The last tile above is filled up with the last entries; these are the rest.
        num_done = tl.cdiv(num_first, BLOCK_E) * BLOCK_E
        for o_block in range(num_done, num_entries, BLOCK_E):
            o_entry = o_block + o_lane
            m_read = o_entry < num_entries
            o_slot = begin + gap + o_entry
            j = tl.load(p_column + o_slot, mask=m_read, other=0)
            if WHOLE_VALUE:
                value = tl.load(p_value + o_slot, mask=m_read, other=0).to(acc_type)
                if SPARSE:
                    m_read = value != 0
            b_x = tl.load(
                p_x + j.to(tl.int64)[:, None] * stride + o_column[None, :],
                mask=m_read[:, None] & m_padded[None, :],
                other=0,
            ).to(acc_type)
            if WHOLE_VALUE:
                b_x *= value[:, None]
            acc += tl.sum(b_x, 0)
    if i_partial >= 0:
        o_partial = i_partial.to(tl.int64) * width + o_column
        tl.store(p_partial + o_partial, acc, mask=m_column)
    elif i_partial == -1:
        # -2 is a spare piece, which has no row.
        factors, outputs = (p_x, p_scale, p_loop), (p_out, p_wide_out)
        store_row(acc, i_row, o_column, factors, outputs, (width, stride))


@triton.jit
def finish_rows_kernel(
    p_split_row,
    p_first,
    p_piece_partial,
    p_x,
    p_scale,
    p_loop,
    p_out,
    p_wide_out,
    p_partial,
    width,
    stride,
    first_column,
    BLOCK_D: tl.constexpr,
):
    """Add the pieces of a split row in their order; one program covers one such row.

    Programs past the last split row find -1 and do nothing.
    """
    i_row = tl.load(p_split_row + tl.program_id(0))
    if i_row >= 0:
        o_column = first_column + tl.arange(0, BLOCK_D)
        m_column = o_column < width
        i_piece = tl.load(p_first + i_row)
        num_pieces = (tl.load(p_first + i_row + 1) - i_piece).to(tl.int32)
        i_partial = tl.load(p_piece_partial + i_piece).to(tl.int64)
        o_partial = i_partial * width + o_column
        total = tl.load(p_partial + o_partial, mask=m_column, other=0)
        for _ in range(1, num_pieces):
            o_partial += width
            total += tl.load(p_partial + o_partial, mask=m_column, other=0)
        factors, outputs = (p_x, p_scale, p_loop), (p_out, p_wide_out)
        store_row(total, i_row, o_column, factors, outputs, (width, stride))


def _tile(block_d: int, dtype: torch.dtype, with_dots: bool) -> dict[str, int]:
    """Neighbours of a tile and warps of a program, measured in `docs/kernels.md`."""
    is_tight = dtype.itemsize == 8 or (
        with_dots and dtype.itemsize == 4 and block_d > 64
    )
    size = 1024 if is_tight else 4096
    return {"BLOCK_E": min(max(size // block_d, 4), 32), "num_warps": 1}


def aligned_width(width: int) -> int:
    """Columns that let rows begin at multiples of 16 bytes and be read in vectors."""
    return width if width <= ALIGNED else width + -width % ALIGNED


def sum_rows(
    cut: RowPieces,
    filled: Tensor | None,
    column: Tensor,
    value: Tensor,
    x: Tensor,
    out: Tensor,
    wide_out: Tensor | None = None,
    *,
    scale: Tensor | None = None,
    loop: Tensor | None = None,
    sparse: bool = False,
    whole: Tensor | None = None,
    whole_value: bool = False,
    other: Tensor | None = None,
    gate: Tensor | None = None,
    grad_gate: Tensor | None = None,
) -> None:
    """Write scale_i Σ_j value_ij x_j + loop_i x_i for each row, and ∂z on request.

    Rows of x may be wider than those of `out`, which says how many columns count.
    """
    width = out.shape[1]
    padding = aligned_width(x.shape[1]) - x.shape[1]
    x = F.pad(x, (0, padding)) if padding else x
    block_d = min(max(triton.next_power_of_2(max(width, 1)), 16), MAX_WIDTH)
    options: dict[str, Any] = {
        "p_x": x,
        "p_scale": scale,
        "p_loop": loop,
        "p_out": out,
        "p_wide_out": wide_out,
        "p_partial": x.new_empty((cut.most_partial, width), dtype=wide_type(x.dtype)),
        "width": width,
        "stride": x.shape[1],
    }
    for first_column in range(0, max(width, 1), block_d):
        sum_rows_kernel[(len(cut.row),)](
            p_bound=cut.bound,
            p_row=cut.row,
            p_piece_partial=cut.partial,
            p_filled=filled,
            p_column=column,
            p_value=value,
            p_whole=whole,
            p_other=other,
            p_gate=gate,
            p_grad_gate=grad_gate,
            first_column=first_column,
            WHOLE_VALUE=whole_value,
            SPARSE=sparse,
            IS_FIRST=first_column == 0,
            BLOCK_D=block_d,
            **_tile(block_d, x.dtype, grad_gate is not None),
            **options,
        )
        if len(cut.split_row):
            finish_rows_kernel[(len(cut.split_row),)](
                p_split_row=cut.split_row,
                p_first=cut.first,
                p_piece_partial=cut.partial,
                first_column=first_column,
                BLOCK_D=block_d,
                num_warps=4,
                **options,
            )
