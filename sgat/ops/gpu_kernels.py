"""Triton kernels of `gpu.py`.

Masked lanes hold 0 unless said otherwise. Every index that is multiplied by a width is
widened to 64 bits first. Sums run in float32, or float64 if the features are float64.
"""

from __future__ import annotations

import os

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Triton's interpreter knows no instructions of a GPU."""


@triton.jit
def philox(c0, c1, c2, c3, key0, key1):
    """The four words of `noise.philox`, in uint32."""
    for _ in tl.static_range(10):
        high0 = tl.umulhi(c0, 0xD2511F53)
        high1 = tl.umulhi(c2, 0xCD9E8D57)
        low0 = c0 * 0xD2511F53
        low1 = c2 * 0xCD9E8D57
        c0 = high1 ^ c1 ^ key0
        c1 = low1
        c2 = high0 ^ c3 ^ key1
        c3 = low0
        key0 += 0x9E3779B9
        key1 += 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def split_key(p_seed):
    """Key words 0 and 1 of the seed."""
    seed = tl.load(p_seed)
    return seed.to(tl.uint32), (seed >> 32).to(tl.uint32)


@triton.jit
def node_name(node, p_node_id, mask, NAMED: tl.constexpr):
    """What names a node in the noise, int64; without names, its number."""
    if NAMED:
        return tl.load(p_node_id + node, mask=mask)
    return node.to(tl.int64)


@triton.jit
def uniform(dst_name, src_name, noise_stream, key0, key1):
    """The number of `noise.uniform` for a pair of names, float32."""
    word, _w1, _w2, _w3 = philox(
        dst_name.to(tl.uint32),
        src_name.to(tl.uint32),
        tl.full((), noise_stream, tl.uint32),
        (dst_name >> 32).to(tl.uint32),
        key0,
        key1,
    )
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07


@triton.jit
def log2(x):
    """Logarithm by one instruction in float32, to 2^-22 of itself or, near 1, of 1.

    The general one takes about 20, and the gate pass is bound by its instructions.
    """
    if INTERPRETED or x.dtype != tl.float32:
        return tl.log2(x)
    return tl.inline_asm_elementwise(
        "lg2.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def reciprocal(x):
    """1 / x by one instruction in float32, to the last bit but one."""
    if INTERPRETED or x.dtype != tl.float32:
        return 1 / x
    return tl.inline_asm_elementwise(
        "rcp.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def stretched(
    logit, TEMPERATURE: tl.constexpr, GAMMA: tl.constexpr, ZETA: tl.constexpr
):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1)."""
    concrete = reciprocal(1 + tl.exp(logit * (-1 / TEMPERATURE)))
    gate = concrete * (ZETA - GAMMA) + GAMMA
    return tl.minimum(tl.maximum(gate, 0), 1)


@triton.jit
def open_rows_kernel(
    p_bound,
    p_row,
    p_column,
    p_entry,
    p_row_score,
    p_column_score,
    p_edge_score,
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
    BLOCK: tl.constexpr,
):
    """Gates of a piece, the open ones at its front, and Σ A z, Σπ and Σπ(1-π) over it.

    One program covers one piece of a row: of a target, or of a source if BY_SOURCE.
    Then `p_entry` says which edge of the graph stands where, only the last sum is
    written, and edges with gate 1 go to the end of the piece instead, without gate,
    which only half-open ones need, and, with PLACES, without edge.
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
    filled = 0
    whole = 0
    o_lane = tl.arange(0, BLOCK)
    # Columns are read two blocks ahead and their scores one, for the pass would wait
    # for one after the other.
    column_next = tl.load(p_column + begin + o_lane, mask=o_lane < count, other=0)
    score_next = tl.load(p_column_score + column_next)
    o_ahead = o_lane + BLOCK
    column_ahead = tl.load(p_column + begin + o_ahead, mask=o_ahead < count, other=0)
    for o_block in range(0, count, BLOCK):
        o_edge = o_block + o_lane
        m_edge = o_edge < count
        column = column_next
        log_alpha = row_score + score_next
        column_next = column_ahead
        score_next = tl.load(p_column_score + column_next)
        o_ahead = o_edge + 2 * BLOCK
        column_ahead = tl.load(
            p_column + begin + o_ahead, mask=o_ahead < count, other=0
        )
        if SCORED or WEIGHTED or PLACES:
            edge = begin + o_edge
            if BY_SOURCE:
                edge = tl.load(p_entry + edge, mask=m_edge, other=0)
        if SCORED:
            log_alpha += tl.load(p_edge_score + edge, mask=m_edge, other=0)
        pi = reciprocal(1 + tl.exp(THRESHOLD - log_alpha))
        probability += tl.where(m_edge, pi, 0)
        slope += tl.where(m_edge, pi * (1 - pi), 0)
        if DRAWS:
            column_name = node_name(column, p_node_id, m_edge, NAMED)
            if BY_SOURCE:
                u = uniform(column_name, row_name, 0, key0, key1)
            else:
                u = uniform(row_name, column_name, 0, key0, key1)
            u = u.to(row_score.dtype)
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
    if BY_SOURCE:
        tl.store(p_whole + i_piece, whole)
    else:
        tl.store(p_total + i_piece, tl.sum(total, 0))
        tl.store(p_probability + i_piece, tl.sum(probability, 0))


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
    SCALES: tl.constexpr,
    LOOPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
):
    """Write scale_i · total + loop_i · own_i, in two types if WIDE_OUT."""
    o_out = i_row.to(tl.int64) * width + o_column
    if SCALES:
        total *= tl.load(p_scale + i_row).to(total.dtype)
    if LOOPS:
        o_own = i_row.to(tl.int64) * stride + o_column
        b_own = tl.load(p_own + o_own, mask=m_column, other=0).to(total.dtype)
        total += tl.load(p_loop + i_row).to(total.dtype) * b_own
    tl.store(p_out + o_out, total, mask=m_column)
    if WIDE_OUT:
        tl.store(p_wide_out + o_out, total, mask=m_column)


@triton.jit
def load_entries(
    p_column,
    p_value,
    begin,
    o_entry,
    num_first,
    num_entries,
    gap,
    acc_type: tl.constexpr,
    TWO_ENDS: tl.constexpr,
    WHOLE_VALUE: tl.constexpr,
):
    """Column and value of entries; those from `num_first` on stand `gap` further on.

    Their value is 1 unless WHOLE_VALUE. Masked lanes hold column 0 and value 0.
    """
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
    COMPACT: tl.constexpr,
    TWO_ENDS: tl.constexpr,
    WHOLE_VALUE: tl.constexpr,
    SPARSE: tl.constexpr,
    DOTS: tl.constexpr,
    FACTORS: tl.constexpr,
    IS_FIRST: tl.constexpr,
    SCALES: tl.constexpr,
    LOOPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Σ_j value_ij x_j over a piece of row i; `store_row` finishes rows of one piece.

    One program covers one piece and BLOCK_D columns of x. The first entries of a
    COMPACT piece count, all of another; with TWO_ENDS also the last, of value 1 unless
    WHOLE_VALUE. Rows of x whose value is 0 are not read if SPARSE. With DOTS also the
    share of these columns in x_j · other_i, times value / gate if FACTORS, for the
    first entries alone: those are the half-open ones.
    """
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
    j_next, value_next = load_entries(
        p_column,
        p_value,
        begin,
        o_lane,
        num_first,
        num_entries,
        gap,
        acc_type,
        TWO_ENDS,
        WHOLE_VALUE,
    )
    for o_block in range(0, num_first, BLOCK_E):
        o_entry = o_block + o_lane
        j, value = j_next, value_next
        j_next, value_next = load_entries(
            p_column,
            p_value,
            begin,
            o_entry + BLOCK_E,
            num_first,
            num_entries,
            gap,
            acc_type,
            TWO_ENDS,
            WHOLE_VALUE,
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
            if FACTORS:
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
    else:
        store_row(
            acc,
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
            SCALES,
            LOOPS,
            WIDE_OUT,
        )


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
    SCALES: tl.constexpr,
    LOOPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Add the pieces of a split row in their order; one program covers one such row."""
    i_row = tl.load(p_split_row + tl.program_id(0))
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    i_piece = tl.load(p_first + i_row)
    num_pieces = (tl.load(p_first + i_row + 1) - i_piece).to(tl.int32)
    i_partial = tl.load(p_piece_partial + i_piece).to(tl.int64)
    total = tl.load(p_partial + i_partial * width + o_column, mask=m_column, other=0)
    for o_piece in range(1, num_pieces):
        o_partial = (i_partial + o_piece) * width + o_column
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
        SCALES,
        LOOPS,
        WIDE_OUT,
    )


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
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
    WEIGHTED: tl.constexpr,
    PLACES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Σ ∂log α over the half-open edges of a piece of source j.

    One program covers one piece. With PLACES each ∂log α goes to the edge's place in
    the graph, otherwise Σ |∂log α| is written too.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = tl.load(p_filled + i_piece)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    size = tl.zeros([BLOCK], p_part.dtype.element_ty)
    for o_block in range(0, count, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_half = o_slot < count
        _, change = load_changes(
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
    tl.store(p_part + i_piece, tl.sum(total, 0))
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
def open_rows_bwd_kernel_targets(p_bound, p_grad_edge, p_part, BLOCK: tl.constexpr):
    """Σ_j ∂log α_ij over a piece of target i; one program covers one piece."""
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    for o_block in range(0, count, BLOCK):
        o_edge = o_block + tl.arange(0, BLOCK)
        total += tl.load(p_grad_edge + begin + o_edge, mask=o_edge < count, other=0)
    tl.store(p_part + i_piece, tl.sum(total, 0))


@triton.jit
def drop_features_kernel(
    p_x,
    p_node_id,
    p_seed,
    p_out,
    num_rows,
    num_columns,
    num_blocks,
    limit,
    scale,
    noise_stream,
    NAMED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Dropout m ⊙ x; one program covers BLOCK groups of eight columns."""
    key0, key1 = split_key(p_seed)
    i_first = tl.program_id(0).to(tl.int64) * BLOCK
    o_group = i_first + tl.arange(0, BLOCK)
    row = o_group // num_blocks
    name = node_name(row, p_node_id, row < num_rows, NAMED)
    w0, w1, w2, w3 = philox(
        name.to(tl.uint32),
        (o_group % num_blocks).to(tl.uint32),
        tl.full((), noise_stream, tl.uint32),
        (name >> 32).to(tl.uint32),
        key0,
        key1,
    )
    word = tl.interleave(tl.interleave(w0, w2), tl.interleave(w1, w3))
    lane = tl.interleave(word & 0xFFFF, word >> 16)
    o_lane = i_first * 8 + tl.arange(0, BLOCK * 8)
    o_row = o_lane // (num_blocks * 8)
    o_column = o_lane % (num_blocks * 8)
    o_entry = o_row * num_columns + o_column
    m_entry = (o_row < num_rows) & (o_column < num_columns)
    b_x = tl.load(p_x + o_entry, mask=m_entry, other=0)
    kept = tl.where(lane.to(tl.int32) >= limit, b_x * scale, 0)
    tl.store(p_out + o_entry, kept.to(b_x.dtype), mask=m_entry)


@triton.jit
def drop_entries_kernel(
    p_row,
    p_column,
    p_value,
    p_node_id,
    p_seed,
    p_out,
    num_entries,
    limit,
    scale,
    noise_stream,
    NAMED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Dropout m ⊙ x of the entries of a sparse matrix; one program covers BLOCK."""
    key0, key1 = split_key(p_seed)
    o_entry = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_entry = o_entry < num_entries
    row = tl.load(p_row + o_entry, mask=m_entry, other=0)
    column = tl.load(p_column + o_entry, mask=m_entry, other=0)
    name = node_name(row, p_node_id, m_entry, NAMED)
    w0, w1, w2, w3 = philox(
        name.to(tl.uint32),
        (column >> 3).to(tl.uint32),
        tl.full((), noise_stream, tl.uint32),
        (name >> 32).to(tl.uint32),
        key0,
        key1,
    )
    which = (column >> 1) & 3
    word = tl.where(
        which < 2, tl.where(which == 0, w0, w1), tl.where(which == 2, w2, w3)
    )
    lane = tl.where((column & 1) == 0, word & 0xFFFF, word >> 16)
    value = tl.load(p_value + o_entry, mask=m_entry, other=0)
    kept = tl.where(lane.to(tl.int32) >= limit, value * scale, 0)
    tl.store(p_out + o_entry, kept.to(value.dtype), mask=m_entry)
