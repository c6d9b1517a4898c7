"""Vectors of nodes on the GPU: padded to be read, and summed over pieces of rows.

A piece leaves the sum of its vectors in its row; pieces of split rows leave theirs
apart, to be added in their order. Every index that is multiplied by a width is widened
to 64 bits first.

Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.gpu.finish_rows import finish_rows_kernel
from sgat.ops.operators.pieces import RowPieces


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

    Attributes:
        row: Those of the targets, [N, S].
        column: Those of the sources, [N, S].
        rank: How many of the S columns count.
    """

    row: Tensor
    column: Tensor
    rank: int

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
