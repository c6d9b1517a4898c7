"""The aggregation as an operator, and its gradient."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sgat.ops.operators.gates import NUM_SLOTS, OpenRows
from sgat.ops.operators.operator import gradients, operator
from sgat.ops.reference import wide_type


class AggregateInputs(NamedTuple):
    """Inputs of the weighted sum of each row's open neighbours, see `sgat.ops`."""

    x: Tensor  # node features, [N, D]
    rows: list[Tensor]  # the slots, the fields of `OpenRows`
    row_sum: Tensor  # S_i, [N]
    targets: Tensor  # the edges by target in pieces, see `cut_rows`
    sources: Tensor | None  # the same by source; None if no gradient is wanted
    loop_weight: Tensor | None  # weight of each self-loop, [N]; None if all are 1
    node_id: Tensor | None  # name of each node in the noise, [N]; None for 0 … N-1
    seed: Tensor | None  # key of the dropout, [1]; None drops nothing
    dropout: float  # share of coefficients to drop
    stream: int  # stream of the noise
    backend: str  # whose kernels run


class Aggregated(NamedTuple):
    """The sums, and what their gradient needs."""

    out: Tensor  # the sums in the type of x, [N, D]
    wide_out: Tensor  # the same in float32; empty if x is as wide
    kept: Tensor  # slots that dropout kept, uint8; empty without, and on the GPU


def _empty(inputs: AggregateInputs) -> Aggregated:
    x, wide = inputs.x, wide_type(inputs.x.dtype)
    keeps = inputs.backend == "cpu" and inputs.seed is not None
    num_slots = OpenRows(*inputs.rows).gate.shape[0]
    return Aggregated(
        x.new_empty(x.shape),
        x.new_empty((0, 0) if wide == x.dtype else x.shape, dtype=wide),
        x.new_empty(num_slots if keeps else 0, dtype=torch.uint8),
    )


aggregate_rows = operator("aggregate_rows", AggregateInputs, _empty)


class AggregateGradInputs(NamedTuple):
    """Inputs of the gradient of `aggregate_rows`.

    With the dropout mask m:

        ∂x_j = Σ_i m_ij a_ij g_i
        ∂z_ij = m_ij A_ij g_i · x_j / S_i       for 0 < z_ij < 1
        ∂S_i = - g_i · out_i / S_i

    Fields without a comment are those of `AggregateInputs`.
    """

    grad: Tensor  # gradient g of the sums, [N, D]
    x: Tensor
    out: Tensor  # the sums, in float32 at least, [N, D]
    kept: Tensor  # as in `Aggregated`
    rows: list[Tensor]
    row_sum: Tensor
    sources: Tensor
    loop_weight: Tensor | None
    node_id: Tensor | None
    seed: Tensor | None
    dropout: float
    stream: int
    with_gates: bool  # whether ∂z and ∂S are wanted
    backend: str


class AggregateGrads(NamedTuple):
    """Gradients by x, [N, D], by the gates by source, [E], and by the row sums, [N].

    The last two are empty unless `with_gates`. Slots of gates that are not half open
    hold nothing to be read.
    """

    x: Tensor
    gate: Tensor
    row_sum: Tensor


def _empty_grads(inputs: AggregateGradInputs) -> AggregateGrads:
    x, row_sum, wants = inputs.x, inputs.row_sum, inputs.with_gates
    num_slots = OpenRows(*inputs.rows).gate.shape[0]
    return AggregateGrads(
        x.new_empty(x.shape),
        row_sum.new_empty(num_slots if wants else 0),
        row_sum.new_empty(x.shape[0] if wants else 0),
    )


aggregate_rows_bwd = operator("aggregate_rows_bwd", AggregateGradInputs, _empty_grads)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    given, made = AggregateInputs(*inputs), Aggregated(*output)
    ctx.mark_non_differentiable(made.wide_out, made.kept)
    ctx.set_materialize_grads(False)
    ctx.options = (given.dropout, given.stream)
    ctx.backend = given.backend
    out = made.out if made.wide_out.shape != made.out.shape else made.wide_out
    noise = (given.loop_weight, given.node_id, given.seed)
    saved = (given.x, out, made.kept, given.row_sum, given.sources, *noise)
    ctx.save_for_backward(*saved, *given.rows)


def _differentiate(ctx: Any, grad: Tensor | None, *_: None) -> Any:
    grad_rows: list[Tensor | None] = [None] * NUM_SLOTS
    if grad is None:
        return gradients(AggregateInputs, rows=grad_rows)
    x, out, kept, *others = ctx.saved_tensors[:8]
    rows = list(ctx.saved_tensors[8:])
    with_gates = any(ctx.needs_input_grad[1]) or ctx.needs_input_grad[2]
    options = (*ctx.options, with_gates, ctx.backend)
    found = AggregateGrads(
        *aggregate_rows_bwd(grad.contiguous(), x, out, kept, rows, *others, *options)
    )
    if not with_gates:
        return gradients(AggregateInputs, x=found.x, rows=grad_rows)
    grad_rows[OpenRows._fields.index("source_gate")] = found.gate
    return gradients(AggregateInputs, x=found.x, rows=grad_rows, row_sum=found.row_sum)


aggregate_rows.register_autograd(_differentiate, setup_context=_save)
