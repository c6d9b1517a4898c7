"""Sums over the pieces of rows, one GPU program for each piece.

Pieces of one row are added in their order by a second, small kernel; no atomics are
used, and results repeat bit for bit. Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.operators.pieces import RowPieces


@triton.jit
def sum_pieces_kernel(p_first, p_part, p_base, p_out, num_rows, BLOCK: tl.constexpr):
    """Row sums base_i + Σ part over the pieces of row i; one program, BLOCK rows."""
    o_row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m_row = o_row < num_rows
    o_part = tl.load(p_first + o_row, mask=m_row, other=0)
    o_end = tl.load(p_first + o_row + 1, mask=m_row, other=0)
    total = tl.zeros([BLOCK], p_out.dtype.element_ty)
    for _ in range(tl.max(o_end - o_part, 0).to(tl.int32)):
        total += tl.load(p_part + o_part, mask=o_part < o_end, other=0)
        o_part += 1
    if p_base is not None:
        total += tl.load(p_base + o_row, mask=m_row, other=0)
    tl.store(p_out + o_row, total, mask=m_row)


def sum_pieces(cut: RowPieces, part: Tensor, base: Tensor | None, out: Tensor) -> None:
    """Write out_i = base_i + Σ part over the pieces of row i; base is 0 if None."""
    num_rows = len(out)
    block = 128
    sum_pieces_kernel[(triton.cdiv(num_rows, block),)](
        p_first=cut.first,
        p_part=part,
        p_base=base,
        p_out=out,
        num_rows=num_rows,
        BLOCK=block,
        num_warps=4,
    )
