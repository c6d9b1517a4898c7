"""Triton kernels of `gpu.py`.

Masked lanes hold 0 unless said otherwise. Every index that is multiplied by a width is
widened to 64 bits first. Sums run in float32, or float64 if the features are float64.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
def uniform(dst_name, src_name, stream, key0, key1):
    """The number of `noise.uniform` for a pair of names, float32."""
    word, _w1, _w2, _w3 = philox(
        dst_name.to(tl.uint32),
        src_name.to(tl.uint32),
        tl.full((), stream, tl.uint32),
        (dst_name >> 32).to(tl.uint32),
        key0,
        key1,
    )
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07


@triton.jit
def stretched(
    logit, TEMPERATURE: tl.constexpr, GAMMA: tl.constexpr, ZETA: tl.constexpr
):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1)."""
    concrete = 1 / (1 + tl.exp(-logit / TEMPERATURE))
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
    BLOCK: tl.constexpr,
):
    """Gates of a piece, the open ones at its front, and Σ A z, Σπ and Σπ(1-π) over it.

    One program covers one piece of a row: of a target, or of a source if BY_SOURCE,
    where `p_entry` says which edge of the graph stands where.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    end = tl.load(p_bound + i_piece + 1)
    i_row = tl.load(p_row + i_piece)
    row_score = tl.load(p_row_score + i_row)
    row_name = node_name(i_row, p_node_id, None, NAMED)
    if DRAWS:
        key0, key1 = split_key(p_seed)
    total = tl.zeros([BLOCK], row_score.dtype)
    probability = tl.zeros([BLOCK], row_score.dtype)
    slope = tl.zeros([BLOCK], row_score.dtype)
    slot = begin
    for o_block in range(0, (end - begin).to(tl.int32), BLOCK):
        o_edge = begin + o_block + tl.arange(0, BLOCK)
        m_edge = o_edge < end
        column = tl.load(p_column + o_edge, mask=m_edge, other=0)
        log_alpha = row_score + tl.load(p_column_score + column, mask=m_edge, other=0)
        edge = o_edge
        if BY_SOURCE:
            edge = tl.load(p_entry + o_edge, mask=m_edge, other=0)
        if SCORED:
            log_alpha += tl.load(p_edge_score + edge, mask=m_edge, other=0)
        pi = 1 / (1 + tl.exp(THRESHOLD - log_alpha))
        probability += tl.where(m_edge, pi, 0)
        slope += tl.where(m_edge, pi * (1 - pi), 0)
        if DRAWS:
            column_name = node_name(column, p_node_id, m_edge, NAMED)
            if BY_SOURCE:
                u = uniform(column_name, row_name, 0, key0, key1)
            else:
                u = uniform(row_name, column_name, 0, key0, key1)
            u = u.to(row_score.dtype)
            logit = tl.log(u) - tl.log(1 - u) + log_alpha
        else:
            logit = log_alpha
        gate = stretched(logit, TEMPERATURE, GAMMA, ZETA)
        m_open = m_edge & (gate > 0)
        is_open = m_open.to(tl.int32)
        o_slot = slot + tl.cumsum(is_open, 0) - 1
        slot += tl.sum(is_open, 0)
        tl.store(p_open_column + o_slot, column, mask=m_open)
        tl.store(p_gate + o_slot, gate, mask=m_open)
        if BY_SOURCE:
            tl.store(p_open_edge + o_slot, edge, mask=m_open)
        scaled = gate
        if WEIGHTED:
            scaled = gate * tl.load(p_weight + edge, mask=m_open, other=0)
            tl.store(p_scaled + o_slot, scaled, mask=m_open)
        total += tl.where(m_open, scaled, 0)
    tl.store(p_filled + i_piece, (slot - begin).to(tl.int32))
    tl.store(p_total + i_piece, tl.sum(total, 0))
    tl.store(p_probability + i_piece, tl.sum(probability, 0))
    tl.store(p_slope + i_piece, tl.sum(slope, 0))


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
def loop_coefficient(
    i_row,
    p_loop_weight,
    p_node_id,
    p_seed,
    dropout,
    stream,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
):
    """A_ii m_ii of the self-loop of one node, float32."""
    coefficient = 1.0
    if LOOP_WEIGHTED:
        coefficient = tl.load(p_loop_weight + i_row)
    if DROPS:
        key0, key1 = split_key(p_seed)
        name = node_name(i_row, p_node_id, None, NAMED)
        u = uniform(name, name, stream, key0, key1)
        coefficient = tl.where(u >= dropout, coefficient / (1 - dropout), 0.0)
    return coefficient


@triton.jit
def store_row(
    total,
    i_row,
    o_column,
    m_column,
    p_x,
    p_row_sum,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_out,
    p_wide_out,
    width,
    dropout,
    stream,
    LOOPS: tl.constexpr,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
):
    """Write (total + m_ii A_ii x_i) / S_i, or the total alone without LOOPS."""
    o_out = i_row.to(tl.int64) * width + o_column
    if LOOPS:
        coefficient = loop_coefficient(
            i_row,
            p_loop_weight,
            p_node_id,
            p_seed,
            dropout,
            stream,
            LOOP_WEIGHTED,
            NAMED,
            DROPS,
        )
        row_sum = tl.load(p_row_sum + i_row).to(total.dtype)
        inverse = tl.where(row_sum > 0, 1 / tl.where(row_sum > 0, row_sum, 1), 0)
        b_own = tl.load(p_x + o_out, mask=m_column, other=0).to(total.dtype)
        total = (total + coefficient * b_own) * inverse
    tl.store(p_out + o_out, total, mask=m_column)
    if WIDE_OUT:
        tl.store(p_wide_out + o_out, total, mask=m_column)


@triton.jit
def sum_rows_kernel(
    p_bound,
    p_row,
    p_piece_partial,
    p_filled,
    p_column,
    p_value,
    p_x,
    p_row_sum,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_out,
    p_wide_out,
    p_partial,
    width,
    first_column,
    dropout,
    stream,
    COMPACT: tl.constexpr,
    LOOPS: tl.constexpr,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Σ_j m_ij value_ij x_j over a piece; `store_row` finishes rows of one piece.

    One program covers one piece and BLOCK_D columns of x. The first entries of a
    COMPACT piece count, all of another.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    if COMPACT:
        count = tl.load(p_filled + i_piece)
    else:
        count = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    i_row = tl.load(p_row + i_piece)
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    acc_type = tl.float64 if p_x.dtype.element_ty == tl.float64 else tl.float32
    if DROPS:
        key0, key1 = split_key(p_seed)
        name = node_name(i_row, p_node_id, None, NAMED)
    acc = tl.zeros([BLOCK_E, BLOCK_D], acc_type)
    for o_block in range(0, count, BLOCK_E):
        o_entry = o_block + tl.arange(0, BLOCK_E)
        m_entry = o_entry < count
        j = tl.load(p_column + begin + o_entry, mask=m_entry, other=0)
        value = tl.load(p_value + begin + o_entry, mask=m_entry, other=0).to(acc_type)
        if DROPS:
            u = uniform(
                name, node_name(j, p_node_id, m_entry, NAMED), stream, key0, key1
            )
            m_entry = m_entry & (u >= dropout)
            value = tl.where(m_entry, value / (1 - dropout), 0)
        b_x = tl.load(
            p_x + j.to(tl.int64)[:, None] * width + o_column[None, :],
            mask=m_entry[:, None] & m_column[None, :],
            other=0,
        )
        acc += value[:, None] * b_x.to(acc_type)
    total = tl.sum(acc, 0)
    i_partial = tl.load(p_piece_partial + i_piece)
    if i_partial >= 0:
        o_partial = i_partial.to(tl.int64) * width + o_column
        tl.store(p_partial + o_partial, total, mask=m_column)
    else:
        store_row(
            total,
            i_row,
            o_column,
            m_column,
            p_x,
            p_row_sum,
            p_loop_weight,
            p_node_id,
            p_seed,
            p_out,
            p_wide_out,
            width,
            dropout,
            stream,
            LOOPS,
            LOOP_WEIGHTED,
            NAMED,
            DROPS,
            WIDE_OUT,
        )


@triton.jit
def sum_partial(i_row, o_column, m_column, p_first, p_piece_partial, p_partial, width):
    """Σ over the pieces of a split row, in their order, of BLOCK_D columns."""
    i_piece = tl.load(p_first + i_row)
    num_pieces = (tl.load(p_first + i_row + 1) - i_piece).to(tl.int32)
    i_partial = tl.load(p_piece_partial + i_piece).to(tl.int64)
    total = tl.load(p_partial + i_partial * width + o_column, mask=m_column, other=0)
    for o_piece in range(1, num_pieces):
        o_partial = (i_partial + o_piece) * width + o_column
        total += tl.load(p_partial + o_partial, mask=m_column, other=0)
    return total


@triton.jit
def finish_rows_kernel(
    p_split_row,
    p_first,
    p_piece_partial,
    p_x,
    p_row_sum,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_out,
    p_wide_out,
    p_partial,
    width,
    first_column,
    dropout,
    stream,
    LOOPS: tl.constexpr,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    WIDE_OUT: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Add the pieces of a split row and finish it; one program covers one such row."""
    i_row = tl.load(p_split_row + tl.program_id(0))
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    total = sum_partial(
        i_row, o_column, m_column, p_first, p_piece_partial, p_partial, width
    )
    store_row(
        total,
        i_row,
        o_column,
        m_column,
        p_x,
        p_row_sum,
        p_loop_weight,
        p_node_id,
        p_seed,
        p_out,
        p_wide_out,
        width,
        dropout,
        stream,
        LOOPS,
        LOOP_WEIGHTED,
        NAMED,
        DROPS,
        WIDE_OUT,
    )


@triton.jit
def row_terms_kernel(
    p_grad,
    p_out,
    p_row_sum,
    p_inverse,
    p_row_dot,
    num_rows,
    width,
    WITH_SCORES: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """1 / S_i (0 for an empty row) and r_i = g_i · out_i; one program, BLOCK_R rows."""
    o_row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    m_row = o_row < num_rows
    row_sum = tl.load(p_row_sum + o_row, mask=m_row, other=0)
    inverse = tl.where(row_sum > 0, 1 / tl.where(row_sum > 0, row_sum, 1), 0)
    tl.store(p_inverse + o_row, inverse, mask=m_row)
    if WITH_SCORES:
        acc_type = tl.float64 if p_out.dtype.element_ty == tl.float64 else tl.float32
        acc = tl.zeros([BLOCK_R, BLOCK_D], acc_type)
        for o_block in range(0, width, BLOCK_D):
            o_column = o_block + tl.arange(0, BLOCK_D)
            o_entry = o_row.to(tl.int64)[:, None] * width + o_column[None, :]
            m_entry = m_row[:, None] & (o_column < width)[None, :]
            b_grad = tl.load(p_grad + o_entry, mask=m_entry, other=0).to(acc_type)
            b_out = tl.load(p_out + o_entry, mask=m_entry, other=0).to(acc_type)
            acc += b_grad * b_out
        tl.store(p_row_dot + o_row, tl.sum(acc, 1), mask=m_row)


@triton.jit
def store_source(
    total,
    j_row,
    o_column,
    m_column,
    p_grad,
    p_inverse,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_grad_x,
    width,
    dropout,
    stream,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
):
    """Write ∂x_j = total + m_jj A_jj g_j / S_j."""
    o_out = j_row.to(tl.int64) * width + o_column
    coefficient = loop_coefficient(
        j_row,
        p_loop_weight,
        p_node_id,
        p_seed,
        dropout,
        stream,
        LOOP_WEIGHTED,
        NAMED,
        DROPS,
    )
    inverse = tl.load(p_inverse + j_row).to(total.dtype)
    b_own = tl.load(p_grad + o_out, mask=m_column, other=0).to(total.dtype)
    tl.store(p_grad_x + o_out, total + coefficient * inverse * b_own, mask=m_column)


@triton.jit
def aggregate_rows_bwd_kernel_sources(
    p_bound,
    p_row,
    p_piece_partial,
    p_filled,
    p_dst,
    p_gate,
    p_scaled,
    p_edge,
    p_grad,
    p_x,
    p_inverse,
    p_row_dot,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_grad_x,
    p_partial,
    p_score_part,
    p_grad_edge,
    width,
    first_column,
    dropout,
    stream,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
    WITH_SCORES: tl.constexpr,
    IS_FIRST: tl.constexpr,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """∂x_j = Σ_i m_ij a_ij g_i over a piece of source j, and ∂log α of half-open edges.

    One program covers one piece and BLOCK_D columns of x; see
    `fused.aggregate_rows_bwd` for the formulas. Each slice of columns adds its share of
    g_i · x_j, and the first also takes the row term. Dot products are left out where a
    block has no half-open edge.
    """
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = tl.load(p_filled + i_piece)
    j_row = tl.load(p_row + i_piece)
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    acc_type = tl.float64 if p_x.dtype.element_ty == tl.float64 else tl.float32
    score_type = p_score_part.dtype.element_ty
    if DROPS:
        key0, key1 = split_key(p_seed)
        name = node_name(j_row, p_node_id, None, NAMED)
    if WITH_SCORES:
        o_own = j_row.to(tl.int64) * width + o_column
        b_own = tl.load(p_x + o_own, mask=m_column, other=0).to(acc_type)
        score = tl.zeros([BLOCK_E], score_type)
    acc = tl.zeros([BLOCK_E, BLOCK_D], acc_type)
    for o_block in range(0, count, BLOCK_E):
        o_entry = o_block + tl.arange(0, BLOCK_E)
        m_entry = o_entry < count
        i = tl.load(p_dst + begin + o_entry, mask=m_entry, other=0)
        scaled = tl.load(p_scaled + begin + o_entry, mask=m_entry, other=0)
        share = scaled * tl.load(p_inverse + i, mask=m_entry, other=0)
        m_kept = m_entry
        keep = 1.0
        if DROPS:
            u = uniform(
                node_name(i, p_node_id, m_entry, NAMED), name, stream, key0, key1
            )
            m_kept = m_entry & (u >= dropout)
            keep = tl.where(m_kept, 1 / (1 - dropout), 0.0)
        b_grad = tl.load(
            p_grad + i.to(tl.int64)[:, None] * width + o_column[None, :],
            mask=m_kept[:, None] & m_column[None, :],
            other=0,
        ).to(acc_type)
        acc += (share * keep).to(acc_type)[:, None] * b_grad
        if WITH_SCORES:
            gate = tl.load(p_gate + begin + o_entry, mask=m_entry, other=1)
            m_half = gate < 1
            if tl.max(m_half.to(tl.int32), 0) > 0:
                dot = tl.sum(b_grad * b_own[None, :], 1).to(score_type)
                change = keep * dot
                if IS_FIRST:
                    change -= tl.load(p_row_dot + i, mask=m_half, other=0)
                concrete = (gate - GAMMA) / (ZETA - GAMMA)
                slope = (ZETA - GAMMA) * concrete * (1 - concrete) / TEMPERATURE
                change = tl.where(m_half, change * share / gate * slope, 0)
                edge = tl.load(p_edge + begin + o_entry, mask=m_half, other=0)
                score += change
                if not IS_FIRST:
                    change += tl.load(p_grad_edge + edge, mask=m_half, other=0)
                tl.store(p_grad_edge + edge, change, mask=m_half)
    if WITH_SCORES:
        total_score = tl.sum(score, 0)
        if not IS_FIRST:
            total_score += tl.load(p_score_part + i_piece)
        tl.store(p_score_part + i_piece, total_score)
    total = tl.sum(acc, 0)
    i_partial = tl.load(p_piece_partial + i_piece)
    if i_partial >= 0:
        o_partial = i_partial.to(tl.int64) * width + o_column
        tl.store(p_partial + o_partial, total, mask=m_column)
    else:
        store_source(
            total,
            j_row,
            o_column,
            m_column,
            p_grad,
            p_inverse,
            p_loop_weight,
            p_node_id,
            p_seed,
            p_grad_x,
            width,
            dropout,
            stream,
            LOOP_WEIGHTED,
            NAMED,
            DROPS,
        )


@triton.jit
def finish_sources_kernel(
    p_split_row,
    p_first,
    p_piece_partial,
    p_grad,
    p_inverse,
    p_loop_weight,
    p_node_id,
    p_seed,
    p_grad_x,
    p_partial,
    width,
    first_column,
    dropout,
    stream,
    LOOP_WEIGHTED: tl.constexpr,
    NAMED: tl.constexpr,
    DROPS: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Add the pieces of a split source and finish it; one program, one such source."""
    j_row = tl.load(p_split_row + tl.program_id(0))
    o_column = first_column + tl.arange(0, BLOCK_D)
    m_column = o_column < width
    total = sum_partial(
        j_row, o_column, m_column, p_first, p_piece_partial, p_partial, width
    )
    store_source(
        total,
        j_row,
        o_column,
        m_column,
        p_grad,
        p_inverse,
        p_loop_weight,
        p_node_id,
        p_seed,
        p_grad_x,
        width,
        dropout,
        stream,
        LOOP_WEIGHTED,
        NAMED,
        DROPS,
    )


@triton.jit
def aggregate_rows_bwd_kernel_targets(
    p_bound, p_grad_edge, p_part, BLOCK: tl.constexpr
):
    """Σ_j ∂log α_ij over a piece of target i; one program covers one piece."""
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    end = tl.load(p_bound + i_piece + 1)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    for o_block in range(0, (end - begin).to(tl.int32), BLOCK):
        o_edge = begin + o_block + tl.arange(0, BLOCK)
        total += tl.load(p_grad_edge + o_edge, mask=o_edge < end, other=0)
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
    stream,
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
        tl.full((), stream, tl.uint32),
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
    stream,
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
        tl.full((), stream, tl.uint32),
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
