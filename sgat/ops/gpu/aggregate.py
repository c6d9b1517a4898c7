"""The aggregation on the GPU and its gradient, both as sums over rows."""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.ops.gpu.coefficients import divided_rows, dropped, loops
from sgat.ops.gpu.pieces import order_of, pieces_of
from sgat.ops.gpu.sum_rows import sum_rows
from sgat.ops.operators.slots import OpenRows


def aggregate_rows(
    x: Tensor,
    rows: OpenRows,
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    out: Tensor,
    wide_out: Tensor,
    kept: Tensor,
) -> None:
    """Fill the outputs of `fused_aggregate.aggregate_rows`."""
    if not out.numel():
        return
    drop = (node_id, seed, dropout, stream)
    with torch.cuda.device_of(x):
        pieces = pieces_of(row_ptr)
        inverse, loop = loops(row_sum, loop_weight, *drop, divide=True)
        scaled = rows.scaled if len(rows.scaled) else rows.gate
        value = dropped(pieces, rows.filled, None, rows.src, scaled, *drop)
        sum_rows(
            pieces,
            rows.filled,
            rows.src,
            value,
            x,
            out,
            None if wide_out.shape != out.shape else wide_out,
            scale=inverse,
            loop=loop,
            sparse=seed is not None,
        )


def aggregate_rows_bwd(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: OpenRows,
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    grad_x: Tensor,
    grad_gate: Tensor,
    grad_row_sum: Tensor,
) -> None:
    """Fill the outputs of `fused_aggregate.aggregate_rows_bwd`.

    Rows of the gradient are divided by S_i first, so that a slot by source needs its
    gate alone, and the dot product with x_j is ∂z_ij.
    """
    if torch.is_anomaly_enabled():
        # Anomaly detection looks for NaN in slots that hold nothing, too.
        grad_gate.zero_()
    if not x.numel():
        grad_row_sum.zero_()
        return
    drop = (node_id, seed, dropout, stream)
    weighted = len(rows.source_scaled) > 0
    has_values = weighted or seed is not None
    with torch.cuda.device_of(x):
        order = order_of(row_ptr, graph_src, len(x))
        inverse, loop = loops(row_sum, loop_weight, *drop, divide=False)
        value = dropped(
            order.pieces,
            rows.source_filled,
            rows.source_whole,
            rows.dst,
            rows.source_scaled if weighted else rows.source_gate,
            *drop,
            whole_value=weighted,
        )
        sum_rows(
            order.pieces,
            rows.source_filled,
            rows.dst,
            value,
            divided_rows(grad, out, inverse, grad_row_sum if with_gates else None),
            grad_x,
            loop=loop,
            sparse=seed is not None,
            whole=rows.source_whole,
            whole_value=has_values,
            other=x,
            gate=rows.source_gate if has_values else None,
            grad_gate=grad_gate if with_gates else None,
        )
