"""The gate pass on the GPU, by target and by source."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.gpu.lanes import exp2, log2, node_name, reciprocal, split_key, uniform
from sgat.ops.gpu.records import (
    Records,
    add_products,
    high_of,
    load_records,
    low_of,
    store_columns,
    weighted_sum,
)
from sgat.ops.gpu.vectors import (
    add_partial,
    partial_vectors,
    place_of_vector,
    sum_pieces,
)
from sgat.ops.operators.gates import GateInputs, GateSums, OpenRows, gates_of
from sgat.ops.operators.pieces import RowPieces, unpacked

LOG2E = tl.constexpr(1.4426950408889634)

GATE_BLOCK = 64
"""Edges of a block of the gate pass; its programs have one warp."""

PAIR_BLOCKS = {1: 64, 2: 64, 4: 32, 8: 32, 16: 32}
"""The same for records of so many lanes.

Records take registers, and fewer edges leave room for more programs at a time. Chosen
by timing 4 and 8 lanes (docs/kernels.md); the others follow their neighbours.
"""

NO_RECORDS = {"RANK": 0, "LANES": 1, "WORDS": 4, "HALVES": 1}
"""What the kernels want where gates see no pairs."""


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

    One program covers one piece of a row: of a target, or of a source with `p_entry`,
    which then says which edge of the graph stands where. Then only the last sum is
    written, and edges with gate 1 go to the end of the piece instead, without gate,
    which only half-open ones need, and, with PLACES, without edge.

    If RANK is not 0, the product of the vectors of both ends is part of log α, and a
    record holds the vector and, if there is room, the score of a node. All is added in
    the same order in both directions, for both must open the same edges. With SLOPES
    also Σπ(1-π) times the vectors of the columns, FOLD edges of a block at a time.
    """
    BY_SOURCE: tl.constexpr = p_entry is not None
    DRAWS: tl.constexpr = p_seed is not None
    WEIGHTED: tl.constexpr = p_weight is not None
    SCORED: tl.constexpr = p_edge_score is not None
    i_piece = tl.program_id(0)
    begin = tl.load(p_bound + i_piece)
    count = (tl.load(p_bound + i_piece + 1) - begin).to(tl.int32)
    i_row = tl.load(p_row + i_piece)
    row_score = tl.load(p_row_score + i_row)
    row_name = node_name(i_row, p_node_id, None)
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
            column_name = node_name(column, p_node_id, m_edge)
            if BY_SOURCE:
                u = uniform(column_name, row_name, 0, key0, key1)
            else:
                u = uniform(row_name, column_name, 0, key0, key1)
            u = u.to(row_score.dtype)
        if RANK > 0:
            both_scores = row_lane_score + lane_score  # 0 but in one lane
            words = tl.join(both_scores, tl.zeros_like(both_scores))
            words = add_products(words, first, row_first, HALVES)
            if WORDS > 2:
                words = add_products(words, second, row_second, HALVES)
            product = tl.sum(tl.sum(words, 2), 1)
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
        concrete = reciprocal(1 + exp2(logit * (-LOG2E / TEMPERATURE)))
        gate = tl.minimum(tl.maximum(concrete * (ZETA - GAMMA) + GAMMA, 0), 1)
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
        i_partial = tl.load(p_piece_partial + i_piece)
        # -2 is a spare piece, which has no vector.
        if i_partial > -2:
            place = place_of_vector(
                i_partial, i_row, p_vector_slope, p_vector_partial, RANK
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


def _open_direction(
    inputs: GateInputs,
    cut: RowPieces,
    column: Tensor,
    entry: Tensor | None,
    scores: tuple[Tensor, Tensor],
    records: Records | None,
    vector_slope: Tensor,
    outputs: tuple[Tensor | None, ...],
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the gate pass in one direction; return the sums of each piece.

    Fills `vector_slope` if it is not empty. Spare pieces get counts and sums of 0.
    """
    open_column, gate, scaled, open_edge, filled, whole = outputs
    (row_score, column_score), gates = scores, gates_of(inputs)
    num_pieces = len(cut.row)
    # The counts have room for every possible cut; the rest stays 0.
    filled[num_pieces:].zero_()
    if whole is not None:
        whole[num_pieces:].zero_()
    total, probability, slope = row_score.new_empty(3, num_pieces)
    has_slopes = vector_slope.numel() > 0
    partial = partial_vectors(cut, vector_slope)
    shape, block = NO_RECORDS, GATE_BLOCK
    if records is not None:
        shape = records.shape
        block = PAIR_BLOCKS[shape["LANES"]]
    open_rows_kernel[(num_pieces,)](
        p_bound=cut.bound,
        p_row=cut.row,
        p_column=column,
        p_entry=entry,
        p_row_score=row_score,
        p_column_score=column_score,
        p_edge_score=inputs.edge_score,
        p_row_record=None if records is None else records.row,
        p_column_record=None if records is None else records.column,
        p_weight=inputs.weight,
        p_node_id=inputs.node_id,
        p_seed=inputs.seed,
        p_open_column=open_column,
        p_gate=gate,
        p_scaled=scaled,
        p_open_edge=open_edge,
        p_filled=filled,
        p_whole=whole,
        p_total=total,
        p_probability=probability,
        p_slope=slope,
        p_piece_partial=cut.partial,
        p_vector_slope=vector_slope,
        p_vector_partial=partial,
        TEMPERATURE=gates.temperature,
        GAMMA=gates.gamma,
        ZETA=gates.zeta,
        THRESHOLD=gates.threshold,
        PLACES=entry is not None and len(open_edge) > 0,
        SLOPES=has_slopes,
        # Edges of a block held by one thread of the warp, one lane of each.
        FOLD=block * shape["LANES"] // 32,
        BLOCK=block,
        num_warps=1,
        **shape,
    )
    if has_slopes:
        add_partial(cut, partial, vector_slope)
    return total, probability, slope


def open_rows(inputs: GateInputs, rows: OpenRows, sums: GateSums) -> None:
    """Fill the outputs of the operator of this name."""
    dst_score, src_score = inputs.dst_score, inputs.src_score
    num_nodes = len(dst_score)
    if not num_nodes:
        sums.penalty.zero_()
        return
    with torch.cuda.device_of(inputs.src):
        targets = unpacked(inputs.targets, num_nodes)
        records = Records.packed(dst_score, src_score, inputs.query, inputs.key)
        total, probability, slope = _open_direction(
            inputs,
            targets,
            inputs.src,
            None,
            (dst_score, src_score),
            records,
            sums.query_slope,
            (rows.src, rows.gate, rows.scaled, rows.edge, rows.filled, None),
        )
        loop = inputs.loop_weight
        loop = torch.ones_like(sums.row_sum) if loop is None else loop
        sum_pieces(targets, total, loop, sums.row_sum)
        sum_pieces(targets, slope, None, sums.dst_slope)
        sums.penalty.copy_(probability.sum())
        if inputs.sources is None or inputs.source_dst is None:
            return
        sources = unpacked(inputs.sources, num_nodes)
        _, _, slope = _open_direction(
            inputs,
            sources,
            inputs.source_dst,
            inputs.source_edge,
            (src_score, dst_score),
            None if records is None else records.transposed(),
            sums.key_slope,
            rows.by_source,
        )
        sum_pieces(sources, slope, None, sums.src_slope)
