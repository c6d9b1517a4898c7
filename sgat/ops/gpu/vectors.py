"""Numbers and vectors of nodes on the GPU, summed over pieces of rows.

A piece leaves the sum of its vectors in its row; pieces of split rows leave theirs
apart. A small kernel then adds the pieces of a row in their order; no atomics are used,
and results repeat bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.gpu.sum_rows import finish_rows_kernel
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


@triton.jit
def load_vectors(
    p_vector, i_node, o_rank, m_node, STRIDE: tl.constexpr, BLOCK_R: tl.constexpr
):
    """Vectors of nodes; columns that pad them, and rows that are masked, hold 0."""
    p_entry = p_vector + i_node.to(tl.int64) * STRIDE + o_rank
    m_entry = m_node
    if STRIDE != BLOCK_R:
        m_entry = o_rank < STRIDE
        if m_node is not None:
            m_entry = m_entry & m_node
    if m_entry is None:
        b_vector = tl.load(p_entry)
    else:
        b_vector = tl.load(p_entry, mask=m_entry, other=0)
    return b_vector


@triton.jit
def place_of_vector(i_partial, i_row, p_out, p_partial, RANK: tl.constexpr):
    """Where a piece leaves its vector: in its row or, if that is split, apart."""
    place = p_out + i_row.to(tl.int64) * RANK
    if i_partial >= 0:
        place = p_partial + i_partial.to(tl.int64) * RANK
    return place


class Vectors(NamedTuple):
    """Vectors of the nodes for the backward, in bfloat16, or in float64 if they are so.

    Padded, so that they can be read 16 bytes at a time.
    """

    row: Tensor  # those of the targets, [N, S]
    column: Tensor  # those of the sources, [N, S]
    rank: int  # how many of the S columns count

    @classmethod
    def padded(cls, query: Tensor | None, key: Tensor | None) -> Vectors | None:
        """The vectors of a call; None without."""
        if query is None or key is None:
            return None
        rank = query.shape[1]
        padding = -rank % 8
        if query.dtype != torch.float64:
            query, key = query.to(torch.bfloat16), key.to(torch.bfloat16)
        if padding:
            query, key = F.pad(query, (0, padding)), F.pad(key, (0, padding))
        return cls(query, key, rank)

    @property
    def shape(self) -> dict[str, int]:
        """The numbers of columns as the kernels want them."""
        stride = self.row.shape[1]
        width = triton.next_power_of_2(stride)
        return {"RANK": self.rank, "STRIDE": stride, "BLOCK_R": width}


NO_VECTORS = {"RANK": 0, "STRIDE": 0, "BLOCK_R": 1}
"""What the kernels want where gates see no pairs."""


def partial_vectors(cut: RowPieces, out: Tensor) -> Tensor:
    """Room for the vectors of pieces of split rows."""
    return out.new_empty((cut.most_partial, out.shape[1]))


def add_partial(cut: RowPieces, partial: Tensor, out: Tensor) -> None:
    """Add the vectors of pieces of split rows in their order."""
    if not len(cut.split_row):
        return
    rank = out.shape[1]
    finish_rows_kernel[(len(cut.split_row),)](
        p_split_row=cut.split_row,
        p_first=cut.first,
        p_piece_partial=cut.partial,
        p_x=None,
        p_scale=None,
        p_loop=None,
        p_out=out,
        p_wide_out=None,
        p_partial=partial,
        width=rank,
        stride=rank,
        first_column=0,
        BLOCK_D=triton.next_power_of_2(rank),
        num_warps=1,
    )
