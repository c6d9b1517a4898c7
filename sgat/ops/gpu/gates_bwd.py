"""The gradient of the gate pass on the GPU; some sums run in integers."""

from typing import Any

import torch
import triton
import triton.language as tl

from sgat.ops.gpu.vectors import (
    NO_VECTORS,
    Vectors,
    add_partial,
    load_vectors,
    partial_vectors,
    place_of_vector,
    sum_pieces,
)
from sgat.ops.operators.gates import GateGradInputs, GateGrads, OpenRows, gates_of
from sgat.ops.operators.pieces import unpacked

SUM_BLOCKS = {8: 64, 16: 64, 32: 32, 64: 32}
"""Edges of a block where tiles of so many columns are summed in the backward."""


@triton.jit
def load_changes(
    slots,
    weights,
    grads,
    o_slot,
    m_half,
    TEMPERATURE: tl.constexpr,
    GAMMA: tl.constexpr,
    ZETA: tl.constexpr,
):
    """Target i and ∂log α_ij = (∂z_ij + A_ij ∂S_i) dz/dlog α of half-open slots."""
    p_dst, p_gate = slots
    p_edge, p_weight = weights
    p_grad_gate, p_grad_row_sum = grads
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
    slots, grads = (p_dst, p_gate), (p_grad_gate, p_grad_row_sum)
    weights = (p_edge, p_weight)
    if RANK > 0:
        o_rank = tl.arange(0, BLOCK_R)
        vector = tl.zeros([BLOCK, BLOCK_R], p_part.dtype.element_ty)
    total = tl.zeros([BLOCK], p_part.dtype.element_ty)
    size = tl.zeros([BLOCK], p_part.dtype.element_ty)
    for o_block in range(0, count, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_half = o_slot < count
        i, change = load_changes(
            slots, weights, grads, begin + o_slot, m_half, TEMPERATURE, GAMMA, ZETA
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
    slots, grads = (p_dst, p_gate), (p_grad_gate, p_grad_row_sum)
    weights = (None, None)
    scale = tl.load(p_scale)
    for o_block in range(0, count, BLOCK):
        o_slot = o_block + tl.arange(0, BLOCK)
        m_half = o_slot < count
        i, change = load_changes(
            slots, weights, grads, begin + o_slot, m_half, TEMPERATURE, GAMMA, ZETA
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


def open_rows_bwd(inputs: GateGradInputs, grads: GateGrads) -> None:
    """Fill the outputs of the operator of this name.

    If each slot by source knows its edge, ∂log α goes there and is summed by target, as
    vectors need it; otherwise it is added to the sums of the targets in integers.
    """
    rows, src, weight = OpenRows(*inputs.rows), inputs.src, inputs.weight
    grad_dst, grad_src, grad_edge, grad_query, grad_key = grads
    gates, num_nodes = gates_of(inputs), len(grad_dst)
    if not num_nodes:
        return
    has_places = len(rows.source_edge) == len(src)
    grad_place = grad_edge
    if has_places and not len(grad_edge):
        grad_place = grad_dst.new_empty(len(src))
    # Closed and whole gates pass no gradient on; only half-open edges write theirs.
    grad_place.zero_()
    with torch.cuda.device_of(src):
        sources = unpacked(inputs.sources, num_nodes)
        part, absolute = grad_src.new_empty(2, len(sources.row))
        vectors = Vectors.padded(inputs.query, inputs.key)
        shape = NO_VECTORS if vectors is None else vectors.shape
        partial = partial_vectors(sources, grad_key)
        slots: dict[str, Any] = {
            "p_bound": sources.bound,
            "p_filled": rows.source_filled,
            "p_dst": rows.dst,
            "p_gate": rows.source_gate,
            "p_grad_gate": inputs.grad_gate.contiguous(),
            "p_grad_row_sum": inputs.grad_row_sum.contiguous(),
            "TEMPERATURE": gates.temperature,
            "GAMMA": gates.gamma,
            "ZETA": gates.zeta,
            "BLOCK": 128 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
            "num_warps": 1,
        }
        open_rows_bwd_kernel_sources[(len(sources.row),)](
            p_edge=rows.source_edge,
            p_weight=weight,
            p_grad_edge=grad_place,
            p_part=part,
            p_size=absolute,
            p_row=sources.row,
            p_query=None if vectors is None else vectors.row,
            p_piece_partial=sources.partial,
            p_grad_key=grad_key,
            p_vector_partial=partial,
            PLACES=has_places,
            **shape,
            **slots,
        )
        sum_pieces(sources, part, None, grad_src)
        targets = unpacked(inputs.targets, num_nodes)
        if vectors is not None:
            add_partial(sources, partial, grad_key)
        if has_places:
            part = grad_dst.new_empty(len(targets.row))
            partial = partial_vectors(targets, grad_query)
            open_rows_bwd_kernel_targets[(len(targets.row),)](
                p_bound=targets.bound,
                p_grad_edge=grad_place,
                p_part=part,
                p_row=targets.row,
                p_column=src,
                p_key=None if vectors is None else vectors.column,
                p_piece_partial=targets.partial,
                p_grad_query=grad_query,
                p_vector_partial=partial,
                BLOCK=256 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
                num_warps=1,
                **shape,
            )
            if vectors is not None:
                add_partial(targets, partial, grad_query)
            sum_pieces(targets, part, None, grad_dst)
            return
        # No sum of a row can leave 64 bits; NaN and infinity make the unit NaN.
        largest = absolute.amax().double()
        unit = (largest * (targets.longest.double() / 2**61)).clamp(min=1e-300)
        sums = torch.zeros_like(grad_dst, dtype=torch.int64)
        open_rows_bwd_kernel_add[(len(sources.row),)](
            p_scale=1 / unit,
            p_sum=sums,
            **slots,
        )
        grad_dst.copy_(sums * torch.where(unit.isfinite(), unit, torch.nan))
