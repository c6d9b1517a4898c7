"""The aggregation on the GPU and its gradient, both as sums over rows.

Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

import torch

from sgat.ops.gpu.coefficients import divided_rows, dropped, loops
from sgat.ops.gpu.sum_rows import sum_rows
from sgat.ops.operators.aggregate import (
    Aggregated,
    AggregateGradInputs,
    AggregateGrads,
    AggregateInputs,
)
from sgat.ops.operators.pieces import unpacked
from sgat.ops.operators.slots import OpenRows


def aggregate_rows(inputs: AggregateInputs, outputs: Aggregated) -> None:
    """Fill the outputs of the operator of this name."""
    x, rows, (out, wide_out, _) = inputs.x, OpenRows(*inputs.rows), outputs
    if not out.numel():
        return
    drop = (inputs.node_id, inputs.seed, inputs.dropout, inputs.stream)
    with torch.cuda.device_of(x):
        targets = unpacked(inputs.targets, len(x))
        inverse, loop = loops(inputs.row_sum, inputs.loop_weight, *drop, divide=True)
        scaled = rows.scaled if len(rows.scaled) else rows.gate
        value = dropped(targets, rows.filled, None, rows.src, scaled, *drop)
        sum_rows(
            targets,
            rows.filled,
            rows.src,
            value,
            x,
            out,
            None if wide_out.shape != out.shape else wide_out,
            scale=inverse,
            loop=loop,
            sparse=inputs.seed is not None,
        )


def aggregate_rows_bwd(inputs: AggregateGradInputs, grads: AggregateGrads) -> None:
    """Fill the outputs of the operator of this name.

    Rows of the gradient are divided by S_i first, so that a slot by source needs its
    gate alone, and the dot product with x_j is ∂z_ij.
    """
    x, rows, with_gates = inputs.x, OpenRows(*inputs.rows), inputs.with_gates
    if torch.is_anomaly_enabled():
        # Anomaly detection looks for NaN in slots that hold nothing, too.
        grads.gate.zero_()
    if not x.numel():
        grads.row_sum.zero_()
        return
    drop = (inputs.node_id, inputs.seed, inputs.dropout, inputs.stream)
    weighted, drops = len(rows.source_scaled) > 0, inputs.seed is not None
    has_values = weighted or drops
    row_sum = grads.row_sum if with_gates else None
    with torch.cuda.device_of(x):
        sources = unpacked(inputs.sources, len(x))
        inverse, loop = loops(inputs.row_sum, inputs.loop_weight, *drop, divide=False)
        value = dropped(
            sources,
            rows.source_filled,
            rows.source_whole,
            rows.dst,
            rows.source_scaled if weighted else rows.source_gate,
            *drop,
            whole_value=weighted,
        )
        sum_rows(
            sources,
            rows.source_filled,
            rows.dst,
            value,
            divided_rows(inputs.grad, inputs.out, inverse, row_sum),
            grads.x,
            loop=loop,
            sparse=drops,
            whole=rows.source_whole,
            whole_value=has_values,
            other=x,
            gate=rows.source_gate if has_values else None,
            grad_gate=grads.gate if with_gates else None,
        )
