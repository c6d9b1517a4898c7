"""The aggregation as an operator, with its fake kernel and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.ops.memory_pool import new_empty
from sgat.ops.operators.passes import kernels_of, wide_type
from sgat.ops.operators.slots import OpenRows


@torch.library.custom_op("sgat::aggregate_rows", mutates_args=())
def aggregate_rows(
    x: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted sum of each row's open neighbours, and what its gradient needs.

    Returns:
        The sums in the type of x, [N, D]; the same in float32, empty if x is as wide;
        which slots dropout kept, uint8, empty without dropout and on the GPU.
    """
    outputs = _empty_aggregate(x, graph_src, seed, backend)
    kernels_of(backend).aggregate_rows(
        x,
        OpenRows(*rows),
        row_sum,
        row_ptr,
        graph_src,
        loop_weight,
        node_id,
        seed,
        dropout,
        stream,
        *outputs,
    )
    return outputs


def _empty_aggregate(
    x: Tensor, graph_src: Tensor, seed: Tensor | None, backend: str
) -> tuple[Tensor, Tensor, Tensor]:
    wide = wide_type(x.dtype)
    num_kept = graph_src.shape[0] if backend == "cpu" and seed is not None else 0
    return (
        new_empty(x, x.shape),
        new_empty(x, (0, 0) if wide == x.dtype else x.shape, dtype=wide),
        new_empty(x, num_kept, dtype=torch.uint8),
    )


@aggregate_rows.register_fake
def _(
    x: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_aggregate(x, graph_src, seed, backend)


@torch.library.custom_op("sgat::aggregate_rows_bwd", mutates_args=())
def aggregate_rows_bwd(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `aggregate_rows` by x, the gates by source and the row sums.

    With the dropout mask m, and the last two empty unless `with_gates`:

        ∂x_j = Σ_i m_ij a_ij g_i
        ∂z_ij = m_ij A_ij g_i · x_j / S_i       for 0 < z_ij < 1; other slots hold
        ∂S_i = - g_i · out_i / S_i              nothing to be read
    """
    outputs = _empty_aggregate_bwd(x, graph_src, row_sum, with_gates)
    kernels_of(backend).aggregate_rows_bwd(
        grad,
        x,
        out,
        kept,
        OpenRows(*rows),
        row_sum,
        row_ptr,
        graph_src,
        loop_weight,
        node_id,
        seed,
        dropout,
        stream,
        with_gates,
        *outputs,
    )
    return outputs


def _empty_aggregate_bwd(
    x: Tensor, graph_src: Tensor, row_sum: Tensor, with_gates: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        new_empty(x, x.shape),
        new_empty(row_sum, graph_src.shape[0] if with_gates else 0),
        new_empty(row_sum, x.shape[0] if with_gates else 0),
    )


@aggregate_rows_bwd.register_fake
def _(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_aggregate_bwd(x, graph_src, row_sum, with_gates)


def _save_aggregate(ctx: Any, inputs: Any, output: Any) -> None:
    x, rows, *others = inputs[:8]
    out, wide_out, kept = output
    ctx.mark_non_differentiable(wide_out, kept)
    ctx.set_materialize_grads(False)
    ctx.options = inputs[8:]
    saved_out = out if wide_out.shape != out.shape else wide_out
    ctx.save_for_backward(x, saved_out, kept, *others, *rows)


def _aggregate_bwd(ctx: Any, grad: Tensor | None, *_: None) -> Any:
    grad_rows: list[Tensor | None] = [None] * 11
    if grad is None:
        return None, grad_rows, *[None] * 9
    x, out, kept, *others = ctx.saved_tensors[:9]
    rows = list(ctx.saved_tensors[9:])
    *options, backend = ctx.options
    with_gates = any(ctx.needs_input_grad[1]) or ctx.needs_input_grad[2]
    grad_x, grad_gate, grad_row_sum = aggregate_rows_bwd(
        grad.contiguous(), x, out, kept, rows, *others, *options, with_gates, backend
    )
    if with_gates:
        grad_rows[6] = grad_gate
    return grad_x, grad_rows, grad_row_sum if with_gates else None, *[None] * 8


aggregate_rows.register_autograd(_aggregate_bwd, setup_context=_save_aggregate)
