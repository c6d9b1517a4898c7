"""The gradient of the gate pass on the GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops.gpu import gates_bwd_kernels as kernels
from sgat.ops.gpu.pieces import order_of, pieces_of, sum_pieces
from sgat.ops.gpu.vectors import NO_VECTORS, Vectors, add_partial, partial_vectors
from sgat.ops.operators.slots import OpenRows

SUM_BLOCKS = {8: 64, 16: 64, 32: 32, 64: 32}
"""Edges of a block where tiles of so many columns are summed in the backward."""


def open_rows_bwd(
    grad_gate: Tensor,
    grad_row_sum: Tensor,
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    rows: OpenRows,
    gates: HardConcrete,
    grad_dst: Tensor,
    grad_src: Tensor,
    grad_edge: Tensor,
    grad_query: Tensor,
    grad_key: Tensor,
) -> None:
    """Fill the outputs of `fused_gates_bwd.open_rows_bwd`.

    If each slot by source knows its edge, ∂log α goes there and is summed by target, as
    vectors need it; otherwise it is added to the sums of the targets in integers.
    """
    if not len(grad_dst):
        return
    grad_gate, grad_row_sum = grad_gate.contiguous(), grad_row_sum.contiguous()
    has_places = len(rows.source_edge) == len(src)
    grad_place = grad_edge
    if has_places and not len(grad_edge):
        grad_place = grad_dst.new_empty(len(src))
    # Closed and whole gates pass no gradient on; only half-open edges write theirs.
    grad_place.zero_()
    with torch.cuda.device_of(src):
        order = order_of(row_ptr, src, len(grad_dst))
        part, size = grad_src.new_empty(2, len(order.pieces.row))
        vectors = Vectors.padded(query, key)
        shape = NO_VECTORS if vectors is None else vectors.shape
        partial = partial_vectors(order.pieces, grad_key)
        slots: dict[str, Any] = {
            "p_bound": order.pieces.bound,
            "p_filled": rows.source_filled,
            "p_dst": rows.dst,
            "p_gate": rows.source_gate,
            "p_grad_gate": grad_gate,
            "p_grad_row_sum": grad_row_sum,
            "TEMPERATURE": gates.temperature,
            "GAMMA": gates.gamma,
            "ZETA": gates.zeta,
            "BLOCK": 128 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
            "num_warps": 1,
        }
        kernels.open_rows_bwd_kernel_sources[(len(order.pieces.row),)](
            p_edge=rows.source_edge,
            p_weight=weight,
            p_grad_edge=grad_place,
            p_part=part,
            p_size=size,
            p_row=order.pieces.row,
            p_query=None if vectors is None else vectors.row,
            p_piece_partial=order.pieces.partial,
            p_grad_key=grad_key,
            p_vector_partial=partial,
            WEIGHTED=weight is not None,
            PLACES=has_places,
            **shape,
            **slots,
        )
        sum_pieces(order.pieces, part, None, grad_src)
        pieces = pieces_of(row_ptr)
        if vectors is not None:
            add_partial(order.pieces, partial, grad_key)
        if has_places:
            part = grad_dst.new_empty(len(pieces.row))
            partial = partial_vectors(pieces, grad_query)
            kernels.open_rows_bwd_kernel_targets[(len(pieces.row),)](
                p_bound=pieces.bound,
                p_grad_edge=grad_place,
                p_part=part,
                p_row=pieces.row,
                p_column=src,
                p_key=None if vectors is None else vectors.column,
                p_piece_partial=pieces.partial,
                p_grad_query=grad_query,
                p_vector_partial=partial,
                BLOCK=256 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
                num_warps=1,
                **shape,
            )
            if vectors is not None:
                add_partial(pieces, partial, grad_query)
            sum_pieces(pieces, part, None, grad_dst)
            return
        # No sum of a row can leave 64 bits; NaN and infinity make the unit NaN.
        largest = size.amax().double()
        unit = (largest * (pieces.longest / 2**61)).clamp(min=1e-300)
        sums = torch.zeros_like(grad_dst, dtype=torch.int64)
        kernels.open_rows_bwd_kernel_add[(len(order.pieces.row),)](
            p_scale=1 / unit,
            p_sum=sums,
            **slots,
        )
        grad_dst.copy_(sums * torch.where(unit.isfinite(), unit, torch.nan))
