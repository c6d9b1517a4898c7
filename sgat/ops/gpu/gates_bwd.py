"""The gradient of the gate pass on the GPU.

Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

from typing import Any

import torch

from sgat.ops.gpu import gates_bwd_kernels as kernels
from sgat.ops.gpu.pieces import sum_pieces
from sgat.ops.gpu.vectors import NO_VECTORS, Vectors, add_partial, partial_vectors
from sgat.ops.operators.gates import GateGradInputs, GateGrads
from sgat.ops.operators.pieces import unpacked
from sgat.ops.operators.slots import OpenRows

SUM_BLOCKS = {8: 64, 16: 64, 32: 32, 64: 32}
"""Edges of a block where tiles of so many columns are summed in the backward."""


def open_rows_bwd(inputs: GateGradInputs, grads: GateGrads) -> None:
    """Fill the outputs of the operator of this name.

    If each slot by source knows its edge, ∂log α goes there and is summed by target, as
    vectors need it; otherwise it is added to the sums of the targets in integers.
    """
    rows, src, weight = OpenRows(*inputs.rows), inputs.src, inputs.weight
    grad_dst, grad_src, grad_edge, grad_query, grad_key = grads
    gates, num_nodes = inputs.gates, len(grad_dst)
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
        kernels.open_rows_bwd_kernel_sources[(len(sources.row),)](
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
            kernels.open_rows_bwd_kernel_targets[(len(targets.row),)](
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
        kernels.open_rows_bwd_kernel_add[(len(sources.row),)](
            p_scale=1 / unit,
            p_sum=sums,
            **slots,
        )
        grad_dst.copy_(sums * torch.where(unit.isfinite(), unit, torch.nan))
