"""The end of a sum over a row on the GPU: its pieces added, its total written.

Masked lanes hold 0. Every index that is multiplied by a width is widened to 64 bits
first.

Tested by tests/ops/test_gpu.py and tests/ops/gpu/test_sum_rows.py.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def store_row(
    total,
    i_row,
    o_column,
    m_column,
    p_own,
    p_scale,
    p_loop,
    p_out,
    p_wide_out,
    width,
    stride,
):
    """Write scale_i · total + loop_i · own_i, in two types if `p_wide_out` is given."""
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
        store_row(
            total,
            i_row,
            o_column,
            m_column,
            p_x,
            p_scale,
            p_loop,
            p_out,
            p_wide_out,
            width,
            stride,
        )
