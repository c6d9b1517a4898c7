"""Triton kernels of `gpu.py`: gates, dropout of coefficients, and their gradients.

Masked lanes hold 0 unless said otherwise. Every index that is multiplied by a width is
widened to 64 bits first. Sums run in float32, or float64 if the features are float64.
"""

from __future__ import annotations

import os

import triton
import triton.language as tl

from sgat.ops.gpu_noise import node_name, split_key, uniform
from sgat.ops.gpu_records import (
    high_of,
    load_records,
    low_of,
    multiply_records,
    store_columns,
    weighted_sum,
)

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Triton's interpreter knows no instructions of a GPU."""


@triton.jit
def log2(x):
    """Logarithm by one instruction in float32, to 2^-22 of itself or, near 1, of 1.

    The general one takes about 20, and the gate pass is bound by its instructions. Of
    what it and the two below are given or give, nothing that matters is subnormal, and
    to care for that would take three more each.
    """
    if INTERPRETED or x.dtype != tl.float32:
        y = tl.log2(x)
    else:
        y = tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y


@triton.jit
def reciprocal(x):
    """1 / x by one instruction in float32, to the last bit but one."""
    if INTERPRETED or x.dtype != tl.float32:
        y = 1 / x
    else:
        y = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y


@triton.jit
def exp2(x):
    """2^x by one instruction in float32, to 2 eps."""
    if INTERPRETED or x.dtype != tl.float32:
        y = tl.exp2(x)
    else:
        y = tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y


LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def stretched(
    logit, TEMPERATURE: tl.constexpr, GAMMA: tl.constexpr, ZETA: tl.constexpr
):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1)."""
    concrete = reciprocal(1 + exp2(logit * (-LOG2E / TEMPERATURE)))
    gate = concrete * (ZETA - GAMMA) + GAMMA
    return tl.minimum(tl.maximum(gate, 0), 1)


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
def place_of_vector(
    i_piece, i_row, p_piece_partial, p_out, p_partial, RANK: tl.constexpr
):
    """Where a piece leaves its vector: in its row or, if that is split, apart."""
    i_partial = tl.load(p_piece_partial + i_piece).to(tl.int64)
    place = p_out + i_row.to(tl.int64) * RANK
    if i_partial >= 0:
        place = p_partial + i_partial * RANK
    return place


@triton.jit
def open_rows_kernel(
    p_bound,
    p_row,
    p_column,
    p_entry,
    p_row_score,
    p_column_score,
    p_edge_score,
    p_row_record,
    p_column_record,
    p_weight,
    p_node_id,
    p_seed,
    p_open_column,
    p_gate,
    p_scaled,
    p_open_edge,
    p_filled,
    p_whole,
    p_total,
    p_probability,
    p_slope,
    p_piece_partial,
    p_vector_slope,
    p_vector_partial,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
    THRESHOLD: tl.constexpr,
    BY_SOURCE: tl.constexpr,
    DRAWS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SCORED: tl.constexpr,
    NAMED: tl.constexpr,
    PLACES: tl.constexpr,
    RANK: tl.constexpr,
    LANES: tl.constexpr,
    WORDS: tl.constexpr,
    HALVES: tl.constexpr,
    SLOPES: tl.constexpr,
    FOLD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Gates of a piece, the open ones at its front, and Σ A z, Σπ and Σπ(1-π) over it.

    One program covers one piece of a row: of a target, or of a source if BY_SOURCE.
    Then `p_entry` says which edge of the graph stands where, only the last sum is
    written, and edges with gate 1 go to the end of the piece instead, without gate,
    which only half-open ones need, and, with PLACES, without edge.

    If RANK is not 0, the product of the vectors of both ends is part of log α, and a
    record holds the vector and, if there is room, the score of a node. All is added in
    the same order in both directions, for both must open the same edges. With SLOPES
    also Σπ(1-π) times the vectors of the columns, FOLD edges of a block at a time.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    i_row = tl.load(p_row + i_piece)
    row_score = tl.load(p_row_score + i_row)
    row_name = node_name(i_row, p_node_id, None, NAMED)
    if DRAWS:
        key0, key1 = split_key(p_seed)
    total = tl.zeros([BLOCK], row_score.dtype)
    probability = tl.zeros([BLOCK], row_score.dtype)
    slope = tl.zeros([BLOCK], row_score.dtype)
    # Without records, or where vectors fill all four words of their lanes.
    SCORE_APART: tl.constexpr = WORDS == 4
    if RANK > 0:
        row_first, row_second, row_lane_score = load_records(
            p_row_record, i_row + tl.arange(0, 1), LANES, WORDS
        )
    if SLOPES:
        first_low = tl.zeros([BLOCK // FOLD, LANES, 2], row_score.dtype)
        first_high = tl.zeros([BLOCK // FOLD, LANES, 2], row_score.dtype)
        second_low = tl.zeros([BLOCK // FOLD, LANES, 2], row_score.dtype)
        second_high = tl.zeros([BLOCK // FOLD, LANES, 2], row_score.dtype)
    filled = 0
    whole = 0
    o_lane = tl.arange(0, BLOCK)
    # Columns are read two blocks ahead and their scores one, for the pass would wait
    # for one after the other.
    column_next = tl.load(p_column + begin + o_lane, mask=o_lane < count, other=0)
    if SCORE_APART:
        score_next = tl.load(p_column_score + column_next)
    o_ahead = o_lane + BLOCK
    column_ahead = tl.load(p_column + begin + o_ahead, mask=o_ahead < count, other=0)
    for o_block in range(0, count, BLOCK):
        o_edge = o_block + o_lane
        m_edge = o_edge < count
        column = column_next
        if RANK > 0:
            # On its way while the noise is computed. Lanes past the end read row 0.
            first, second, lane_score = load_records(
                p_column_record, column, LANES, WORDS
            )
        if SCORE_APART:
            log_alpha = row_score + score_next
            score_next = tl.load(p_column_score + column_ahead)
        column_next = column_ahead
        o_ahead = o_edge + 2 * BLOCK
        column_ahead = tl.load(
            p_column + begin + o_ahead, mask=o_ahead < count, other=0
        )
        if SCORED or WEIGHTED or PLACES:
            edge = begin + o_edge
            if BY_SOURCE:
                edge = tl.load(p_entry + edge, mask=m_edge, other=0)
        if DRAWS:
            column_name = node_name(column, p_node_id, m_edge, NAMED)
            if BY_SOURCE:
                u = uniform(column_name, row_name, 0, key0, key1)
            else:
                u = uniform(row_name, column_name, 0, key0, key1)
            u = u.to(row_score.dtype)
        if RANK > 0:
            product = multiply_records(
                row_lane_score + lane_score,
                first,
                second,
                row_first,
                row_second,
                WORDS,
                HALVES,
            )
            if SCORE_APART:
                log_alpha += product
            else:
                # Always so. Beside the columns, which were read one edge a thread, what
                # follows is computed once for each edge and not in every lane.
                log_alpha = tl.where(column >= 0, product, 0)
        if SCORED:
            log_alpha += tl.load(p_edge_score + edge, mask=m_edge, other=0)
        pi = reciprocal(1 + exp2((THRESHOLD - log_alpha) * LOG2E))
        probability += tl.where(m_edge, pi, 0)
        steep = tl.where(m_edge, pi * (1 - pi), 0)
        slope += steep
        if SLOPES:
            first_low += weighted_sum(steep, low_of(first), FOLD)
            if HALVES == 2:
                first_high += weighted_sum(steep, high_of(first), FOLD)
            if WORDS > 2:
                second_low += weighted_sum(steep, low_of(second), FOLD)
                if HALVES == 2:
                    second_high += weighted_sum(steep, high_of(second), FOLD)
        if DRAWS:
            logit = (log2(u) - log2(1 - u)) * 0.6931471805599453 + log_alpha
        else:
            logit = log_alpha
        gate = stretched(logit, TEMPERATURE, GAMMA, ZETA)
        m_open = m_edge & (gate > 0)
        scaled = gate
        if WEIGHTED:
            scaled = gate * tl.load(p_weight + edge, mask=m_open, other=0)
        if BY_SOURCE:
            # Two counts in one scan: half-open edges in the low 16 bits, whole ones
            # in the high.
            m_half = m_open & (gate < 1)
            is_open = tl.where(m_open, tl.where(m_half, 1, 65536), 0)
            scan = tl.cumsum(is_open, 0)
            o_half = filled + (scan & 0xFFFF) - 1
            o_whole = count - whole - (scan >> 16)
            o_slot = tl.where(m_half, o_half, o_whole)
            num_open = tl.sum(is_open, 0)
            filled += num_open & 0xFFFF
            whole += num_open >> 16
            tl.store(p_open_column + begin + o_slot, column, mask=m_open)
            if WEIGHTED:
                tl.store(p_scaled + begin + o_slot, scaled, mask=m_open)
            tl.store(p_gate + begin + o_slot, gate, mask=m_half)
            if PLACES:
                tl.store(p_open_edge + begin + o_slot, edge, mask=m_half)
        else:
            is_open = m_open.to(tl.int32)
            o_slot = filled + tl.cumsum(is_open, 0) - 1
            filled += tl.sum(is_open, 0)
            total += tl.where(m_open, scaled, 0)
            tl.store(p_open_column + begin + o_slot, column, mask=m_open)
            tl.store(p_gate + begin + o_slot, gate, mask=m_open)
            if WEIGHTED:
                tl.store(p_scaled + begin + o_slot, scaled, mask=m_open)
    tl.store(p_filled + i_piece, filled)
    tl.store(p_slope + i_piece, tl.sum(slope, 0))
    if SLOPES:
        place = place_of_vector(
            i_piece, i_row, p_piece_partial, p_vector_slope, p_vector_partial, RANK
        )
        store_columns(place, first_low, 0, 0, RANK, WORDS, HALVES)
        if HALVES == 2:
            store_columns(place, first_high, 0, 1, RANK, WORDS, HALVES)
        if WORDS > 2:
            store_columns(place, second_low, 2, 0, RANK, WORDS, HALVES)
            if HALVES == 2:
                store_columns(place, second_high, 2, 1, RANK, WORDS, HALVES)
    if BY_SOURCE:
        tl.store(p_whole + i_piece, whole)
    else:
        tl.store(p_total + i_piece, tl.sum(total, 0))
        tl.store(p_probability + i_piece, tl.sum(probability, 0))


@triton.jit
def loops_kernel(
    p_row_sum,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_inverse,
    p_loop,
    num_rows,
    dropout,
    noise_stream,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    DIVIDES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """1 / S_i, 0 for an empty row, and m_ii A_ii, over S_i if DIVIDES.

    One program covers BLOCK rows.
    """
    o_row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m_row = o_row < num_rows
    row_sum = tl.load(p_row_sum + o_row, mask=m_row, other=0)
    inverse = tl.where(row_sum > 0, 1 / tl.where(row_sum > 0, row_sum, 1), 0)
    tl.store(p_inverse + o_row, inverse, mask=m_row)
    loop = inverse if DIVIDES else tl.full([BLOCK], 1, inverse.dtype)
    if LOOP_WEIGHTED:
        loop *= tl.load(p_loop_weight + o_row, mask=m_row, other=0)
    if DROPS:
        key0, key1 = split_key(p_seed)
        name = node_name(o_row, p_node_id, m_row, NAMED)
        u = uniform(name, name, noise_stream, key0, key1)
        loop = tl.where(u >= dropout, loop / (1 - dropout), 0)
    tl.store(p_loop + o_row, loop, mask=m_row)


@triton.jit
def drop_edges_kernel(
    p_bound,
    p_row,
    p_filled,
    p_whole,
    p_column,
    p_value,
    p_node_id,
    p_seed,
    p_out,
    dropout,
    noise_stream,
    BY_SOURCE: tl.constexpr,
    WHOLE_VALUE: tl.constexpr,
    NAMED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Dropout m ⊙ value of the open edges of a piece; one program covers one piece.

    Edges with gate 1 at the end of the piece have the value 1 unless WHOLE_VALUE.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    size = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    count = tl.load(p_filled + i_piece)
    whole = 0
    if BY_SOURCE:
        whole = tl.load(p_whole + i_piece)
    key0, key1 = split_key(p_seed)
    row_name = node_name(tl.load(p_row + i_piece), p_node_id, None, NAMED)
    for o_block in range(0, count + whole, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_slot = o_slot < count + whole
        m_first = o_slot < count
        o_slot = tl.where(m_first, o_slot, o_slot + size - count - whole)
        column = tl.load(p_column + begin + o_slot, mask=m_slot, other=0)
        if WHOLE_VALUE:
            value = tl.load(p_value + begin + o_slot, mask=m_slot, other=0)
        else:
            value = tl.load(p_value + begin + o_slot, mask=m_first, other=1)
        column_name = node_name(column, p_node_id, m_slot, NAMED)
        if BY_SOURCE:
            u = uniform(column_name, row_name, noise_stream, key0, key1)
        else:
            u = uniform(row_name, column_name, noise_stream, key0, key1)
        kept = tl.where(u >= dropout, value / (1 - dropout), 0)
        tl.store(p_out + begin + o_slot, kept, mask=m_slot)


@triton.jit
def aggregate_rows_bwd_kernel_rows(
    p_grad,
    p_out,
    p_inverse,
    p_divided,
    p_grad_row_sum,
    num_rows,
    width,
    stride,
    SUMS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Rows g_i / S_i, and ∂S_i = - g_i · out_i / S_i if SUMS.

    One program covers BLOCK_R rows; columns from width to stride get 0.
    """
    o_row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    m_row = o_row < num_rows
    inverse = tl.load(p_inverse + o_row, mask=m_row, other=0)
    acc_type = tl.float64 if p_out.dtype.element_ty == tl.float64 else tl.float32
    acc = tl.zeros([BLOCK_R, BLOCK_D], acc_type)
    for o_block in range(0, stride, BLOCK_D):
        o_column = o_block + tl.arange(0, BLOCK_D)
        o_entry = o_row.to(tl.int64)[:, None] * width + o_column[None, :]
        m_entry = m_row[:, None] & (o_column < width)[None, :]
        b_grad = tl.load(p_grad + o_entry, mask=m_entry, other=0).to(acc_type)
        b_grad *= inverse.to(acc_type)[:, None]
        if SUMS:
            b_out = tl.load(p_out + o_entry, mask=m_entry, other=0).to(acc_type)
            acc += b_grad * b_out
        tl.store(
            p_divided + o_row.to(tl.int64)[:, None] * stride + o_column[None, :],
            b_grad,
            mask=m_row[:, None] & (o_column < stride)[None, :],
        )
    if SUMS:
        tl.store(p_grad_row_sum + o_row, -tl.sum(acc, 1), mask=m_row)


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
    WEIGHTED: tl.constexpr,
):
    """Target i and ∂log α_ij = (∂z_ij + A_ij ∂S_i) dz/dlog α of half-open slots."""
    gate = tl.load(p_gate + o_slot, mask=m_half, other=1)
    i = tl.load(p_dst + o_slot, mask=m_half, other=0)
    grad_gate = tl.load(p_grad_gate + o_slot, mask=m_half, other=0)
    grad_sum = tl.load(p_grad_row_sum + i, mask=m_half, other=0)
    if WEIGHTED:
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
    WEIGHTED: tl.constexpr,
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
            WEIGHTED,
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
        place = place_of_vector(
            i_piece, i_row, p_piece_partial, p_grad_key, p_vector_partial, RANK
        )
        tl.store(place + o_rank, tl.sum(vector, 0), mask=o_rank < RANK)
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
            p_gate,
            p_gate,
            p_grad_gate,
            p_grad_row_sum,
            begin + o_slot,
            m_half,
            TEMPERATURE,
            GAMMA,
            ZETA,
            False,
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
        place = place_of_vector(
            i_piece, i_row, p_piece_partial, p_grad_query, p_vector_partial, RANK
        )
        tl.store(place + o_rank, tl.sum(vector, 0), mask=o_rank < RANK)
