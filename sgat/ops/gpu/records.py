"""Records of nodes: what the gate pass needs of the far end of an edge, in one piece.

The gate pass waits for requests to the cache, not for bytes: a score and a vector that
lie apart are two requests, and a record of both is one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor


def shape_of(rank: int, dtype: torch.dtype) -> tuple[int, int]:
    """Lanes of a record, and words of the vector in each of them.

    A lane has four words: up to three of the vector, then the score, or 0 but in the
    first. Where eight lanes are not enough, all four are of the vector and the score
    stays apart.
    """
    words = rank if dtype == torch.float64 else triton.cdiv(rank, 2)
    lanes = triton.next_power_of_2(triton.cdiv(words, 3))
    if lanes > 8:
        return triton.next_power_of_2(triton.cdiv(words, 4)), 4
    return lanes, max(2, triton.cdiv(words, lanes))


class Records(NamedTuple):
    """Vectors and scores of the nodes, [N, 4 lanes].

    A word is a pair of columns in bfloat16, in int32, or one column in float64.
    """

    row: Tensor  # records of the rows of a pass
    column: Tensor  # those of the columns
    shape: dict[str, int]  # RANK, LANES, WORDS and HALVES as the kernels want them

    @classmethod
    def packed(
        cls,
        dst_score: Tensor,
        src_score: Tensor,
        query: Tensor | None,
        key: Tensor | None,
    ) -> Records | None:
        """The records of a pass by target; None without vectors."""
        if query is None or key is None:
            return None
        num_nodes, rank = query.shape
        is_double = query.dtype == torch.float64
        lanes, words = shape_of(rank, query.dtype)
        shape = {"RANK": rank, "LANES": lanes, "WORDS": words}
        shape["HALVES"] = 1 if is_double else 2
        word_type = torch.float64 if is_double else torch.int32
        records = query.new_empty((2, num_nodes, 4 * lanes), dtype=word_type)
        block = 32
        pack_records_kernel[(triton.cdiv(num_nodes, block), 2)](
            p_query=query,
            p_key=key,
            p_dst_score=dst_score,
            p_src_score=src_score,
            p_record=records,
            num_nodes=num_nodes,
            BLOCK=block,
            num_warps=4,
            **shape,
        )
        return cls(records[0], records[1], shape)

    def transposed(self) -> Records:
        """The records of a pass by source."""
        return Records(self.column, self.row, self.shape)


@triton.jit
def pack_records_kernel(
    p_query,
    p_key,
    p_dst_score,
    p_src_score,
    p_record,
    num_nodes,
    RANK: tl.constexpr,
    LANES: tl.constexpr,
    WORDS: tl.constexpr,
    HALVES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Records of BLOCK nodes, as targets or as sources.

    The words of a lane stand in the order 0, 2, 1, 3, so that the first two come out
    of `load_records` in one tile. Words without columns hold 0.
    """
    p_vector = p_query
    p_score = p_dst_score
    if tl.program_id(1) == 1:
        p_vector = p_key
        p_score = p_src_score
    i_node = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)[:, None]
    m_node = i_node < num_nodes
    o_word = tl.arange(0, 4 * LANES)[None, :]
    word_of_lane = o_word % 2 * 2 + o_word % 4 // 2
    o_column = (o_word // 4 * WORDS + word_of_lane) * HALVES
    m_word = m_node & (word_of_lane < WORDS)
    p_entry = p_vector + i_node * RANK + o_column
    word = tl.load(p_entry, mask=m_word & (o_column < RANK), other=0)
    if HALVES == 2:
        high = tl.load(p_entry + 1, mask=m_word & (o_column + 1 < RANK), other=0)
        word = bits_of(word) | (bits_of(high) << 16)
    if WORDS < 4:
        score = tl.load(p_score + i_node, mask=m_node & (o_word < 4), other=0)
        word = tl.where(word_of_lane == 3, score.to(word.dtype, bitcast=True), word)
    o_record = (tl.program_id(1) * num_nodes + i_node) * (4 * LANES) + o_word
    tl.store(p_record + o_record, word, mask=m_node)


@triton.jit
def bits_of(x):
    """The bits of the nearest number of bfloat16, in the low half of an int32."""
    # By hand, for Triton's interpreter cuts digits off.
    bits = x.to(tl.int32, bitcast=True)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return tl.where(x == x, nearest, 0x7FC0) & 0xFFFF


@triton.jit
def low_of(word):
    """The first column of a word, or its only one."""
    if word.dtype == tl.int32:
        column = (word << 16).to(tl.float32, bitcast=True)
    else:
        column = word
    return column


@triton.jit
def high_of(word):
    """The second column of a word."""
    return (word & -65536).to(tl.float32, bitcast=True)


@triton.jit
def load_records(p_record, i_node, LANES: tl.constexpr, WORDS: tl.constexpr):
    """Words 0 and 1 of each lane, words 2 and 3, and the score, by one read.

    Returns:
        Two tiles [nodes, LANES, 2] of words, without the score, and the score,
        [nodes, LANES], 0 but in the first lane; all 0 if it is apart.
    """
    o_word = tl.arange(0, 4 * LANES)
    p_word = p_record + i_node.to(tl.int64)[:, None] * (4 * LANES) + o_word[None, :]
    words = tl.load(p_word).reshape(i_node.shape[0], LANES, 2, 2)
    first, second = tl.split(words)
    third, fourth = tl.split(second)
    if WORDS < 4:
        score = fourth
        # Read as two numbers the score could be anything.
        second = tl.join(third, tl.zeros_like(third))
    else:
        score = tl.zeros_like(fourth)
    if words.dtype == tl.int32:
        score = score.to(tl.float32, bitcast=True)
    return first, second, score


@triton.jit
def add_products(total, word, row_word, HALVES: tl.constexpr):
    """Add to each word's total its columns times those of a row, [1, LANES, 2].

    Fused products are named, not left to the compiler: both directions must round
    alike.
    """
    low = tl.broadcast_to(low_of(row_word), total.shape)
    total = tl.fma(low_of(word), low, total)
    if HALVES == 2:
        high = tl.broadcast_to(high_of(row_word), total.shape)
        total = tl.fma(high_of(word), high, total)
    return total


@triton.jit
def weighted_sum(weight, column, FOLD: tl.constexpr):
    """Σ weight times columns over every (nodes / FOLD)-th node.

    The nodes of one sum are in the registers of one thread: nothing moves, and the sum
    takes few registers.
    """
    num_nodes: tl.constexpr = column.shape[0]
    product = weight[:, None, None] * column
    folded = product.reshape(FOLD, num_nodes // FOLD, column.shape[1], 2)
    return tl.sum(folded, 0)


@triton.jit
def store_columns(
    p_out,
    total,
    FIRST_WORD: tl.constexpr,
    HALF: tl.constexpr,
    RANK: tl.constexpr,
    WORDS: tl.constexpr,
    HALVES: tl.constexpr,
):
    """Add sums of columns, [nodes, LANES, 2], over the nodes and write them."""
    total = tl.sum(total, 0)
    word = FIRST_WORD + tl.arange(0, 2)[None, :]
    lane = tl.arange(0, total.shape[0])[:, None]
    o_column = (lane * WORDS + word) * HALVES + HALF
    tl.store(p_out + o_column, total, mask=(word < WORDS) & (o_column < RANK))
