"""Triton kernels of the gradient of the gate pass.

Masked lanes hold 0 unless said otherwise. Sums run in the type of the scores, or in
integers.

Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

import triton
import triton.language as tl

from sgat.ops.gpu.vectors import load_vectors, place_of_vector


@triton.jit
def load_changes(
    p_dst,
    p_gate,
    p_edge,
    p_weight,
    p_grad_gate,
    p_grad_row_sum,
    o_slot,
    m_half,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
):
    """Target i and ∂log α_ij = (∂z_ij + A_ij ∂S_i) dz/dlog α of half-open slots."""
    gate = tl.load(p_gate + o_slot, mask=m_half, other=1)
    i = tl.load(p_dst + o_slot, mask=m_half, other=0)
    grad_gate = tl.load(p_grad_gate + o_slot, mask=m_half, other=0)
    grad_sum = tl.load(p_grad_row_sum + i, mask=m_half, other=0)
    if p_weight is not None:
        edge = tl.load(p_edge + o_slot, mask=m_half, other=0)
        grad_sum *= tl.load(p_weight + edge, mask=m_half, other=0)
    concrete = (gate - GAMMA) * (1 / (ZETA - GAMMA))
    slope = concrete * (1 - concrete) * ((ZETA - GAMMA) / TEMPERATURE)
    return i, tl.where(m_half, (grad_gate + grad_sum) * slope, 0)


@triton.jit
def open_rows_bwd_kernel_sources(
    p_bound,
    p_filled,
    p_dst,
    p_gate,
    p_edge,
    p_weight,
    p_grad_gate,
    p_grad_row_sum,
    p_grad_edge,
    p_part,
    p_size,
    p_row,
    p_query,
    p_piece_partial,
    p_grad_key,
    p_vector_partial,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
    PLACES: tl.constexpr,
    RANK: tl.constexpr,
    STRIDE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Σ ∂log α over the half-open edges of a piece of source j.

    One program covers one piece. With PLACES each ∂log α goes to the edge's place in
    the graph, otherwise Σ |∂log α| is written too. If RANK is not 0 also Σ ∂log α q_i.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = tl.load(p_filled + i_piece)
    if RANK > 0:
        o_rank = tl.arange(0, BLOCK_R)
        vector = tl.zeros([BLOCK, BLOCK_R], p_part.dtype.element_ty)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    size = tl.zeros([BLOCK], p_part.dtype.element_ty)
    for o_block in range(0, count, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_half = o_slot < count
        i, change = load_changes(
            p_dst,
            p_gate,
            p_edge,
            p_weight,
            p_grad_gate,
            p_grad_row_sum,
            begin + o_slot,
            m_half,
            TEMPERATURE,
            GAMMA,
            ZETA,
        )
        total += change
        if PLACES:
            edge = tl.load(p_edge + begin + o_slot, mask=m_half, other=0)
            tl.store(p_grad_edge + edge, change, mask=m_half)
        else:
            size += tl.abs(change)
        if RANK > 0:
            # Lanes past the end read row 0, times 0.
            b_query = load_vectors(
                p_query, i[:, None], o_rank[None, :], None, STRIDE, BLOCK_R
            )
            vector += change[:, None] * b_query.to(vector.dtype)
    tl.store(p_part + i_piece, tl.sum(total, 0))
    if RANK > 0:
        i_row = tl.load(p_row + i_piece)
        i_partial = tl.load(p_piece_partial + i_piece)
        place = place_of_vector(i_partial, i_row, p_grad_key, p_vector_partial, RANK)
        # -2 is a spare piece, which has no vector.
        m_rank = (o_rank < RANK) & (i_partial > -2)
        tl.store(place + o_rank, tl.sum(vector, 0), mask=m_rank)
    if not PLACES:
        tl.store(p_size + i_piece, tl.sum(size, 0))


@triton.jit
def open_rows_bwd_kernel_add(
    p_bound,
    p_filled,
    p_dst,
    p_gate,
    p_grad_gate,
    p_grad_row_sum,
    p_scale,
    p_sum,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add ∂log α_ij, times a scale and rounded to an integer, to the sum of target i.

    One program covers a piece of a source. Integers make the order of additions
    indifferent, and atomics spare the edges a second order.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = tl.load(p_filled + i_piece)
    scale = tl.load(p_scale)
    for o_block in range(0, count, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_half = o_slot < count
        i, change = load_changes(
            p_dst,
            p_gate,
            None,
            None,
            p_grad_gate,
            p_grad_row_sum,
            begin + o_slot,
            m_half,
            TEMPERATURE,
            GAMMA,
            ZETA,
        )
        amount = change.to(tl.float64) * scale
        amount = tl.where(amount >= 0, amount + 0.5, amount - 0.5).to(tl.int64)
        tl.atomic_add(p_sum + i, amount, mask=m_half, sem="relaxed")


@triton.jit
def open_rows_bwd_kernel_targets(
    p_bound,
    p_grad_edge,
    p_part,
    p_row,
    p_column,
    p_key,
    p_piece_partial,
    p_grad_query,
    p_vector_partial,
    RANK: tl.constexpr,
    STRIDE: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Σ_j ∂log α_ij over a piece of target i and, if RANK is not 0, Σ_j ∂log α_ij k_j.

    One program covers one piece. Most edges have no gradient; theirs are not read.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    o_lane = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    if RANK > 0:
        o_rank = tl.arange(0, BLOCK_R)
        vector = tl.zeros([BLOCK, BLOCK_R], p_part.dtype.element_ty)
    change_next = tl.load(p_grad_edge + begin + o_lane, mask=o_lane < count, other=0)
    for o_block in range(0, count, BLOCK):
        change = change_next
        o_edge = o_block + o_lane
        o_ahead = o_edge + BLOCK
        change_next = tl.load(
            p_grad_edge + begin + o_ahead, mask=o_ahead < count, other=0
        )
        total += change
        if RANK > 0:
            m_half = change != 0
            if tl.max(m_half.to(tl.int32), 0) > 0:
                j = tl.load(p_column + begin + o_edge, mask=m_half, other=0)
                b_key = load_vectors(
                    p_key, j[:, None], o_rank[None, :], m_half[:, None], STRIDE, BLOCK_R
                )
                vector += change[:, None] * b_key.to(vector.dtype)
    tl.store(p_part + i_piece, tl.sum(total, 0))
    if RANK > 0:
        i_row = tl.load(p_row + i_piece)
        i_partial = tl.load(p_piece_partial + i_piece)
        place = place_of_vector(i_partial, i_row, p_grad_query, p_vector_partial, RANK)
        # -2 is a spare piece, which has no vector.
        m_rank = (o_rank < RANK) & (i_partial > -2)
        tl.store(place + o_rank, tl.sum(vector, 0), mask=m_rank)
