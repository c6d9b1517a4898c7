"""The aggregation on the GPU and its gradient, both as sums over rows.

Kernels work out what the sums multiply by: 1 / S_i, self-loops and dropout.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.gpu.gates import GATE_BLOCK
from sgat.ops.gpu.lanes import node_name, split_key, uniform
from sgat.ops.gpu.sum_rows import aligned_width, sum_rows
from sgat.ops.operators.aggregate import (
    Aggregated,
    AggregateGradInputs,
    AggregateGrads,
    AggregateInputs,
)
from sgat.ops.operators.gates import OpenRows
from sgat.ops.operators.pieces import RowPieces, unpacked


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
    if p_loop_weight is not None:
        loop *= tl.load(p_loop_weight + o_row, mask=m_row, other=0)
    if p_seed is not None:
        key0, key1 = split_key(p_seed)
        name = node_name(o_row, p_node_id, m_row)
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
    WHOLE_VALUE: tl.constexpr,
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
    if p_whole is not None:
        whole = tl.load(p_whole + i_piece)
    key0, key1 = split_key(p_seed)
    row_name = node_name(tl.load(p_row + i_piece), p_node_id, None)
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
        column_name = node_name(column, p_node_id, m_slot)
        if p_whole is not None:
            u = uniform(column_name, row_name, noise_stream, key0, key1)
        else:
            u = uniform(row_name, column_name, noise_stream, key0, key1)
        kept = tl.where(u >= dropout, value / (1 - dropout), 0)
        tl.store(p_out + begin + o_slot, kept, mask=m_slot)


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
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Rows g_i / S_i, and ∂S_i = - g_i · out_i / S_i if wanted.

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
        if p_grad_row_sum is not None:
            b_out = tl.load(p_out + o_entry, mask=m_entry, other=0).to(acc_type)
            acc += b_grad * b_out
        tl.store(
            p_divided + o_row.to(tl.int64)[:, None] * stride + o_column[None, :],
            b_grad,
            mask=m_row[:, None] & (o_column < stride)[None, :],
        )
    if p_grad_row_sum is not None:
        tl.store(p_grad_row_sum + o_row, -tl.sum(acc, 1), mask=m_row)


def loops(
    inputs: AggregateInputs | AggregateGradInputs, *, divide: bool
) -> tuple[Tensor, Tensor]:
    """1 / S_i, 0 for an empty row, and m_ii A_ii of each self-loop, over S_i or not."""
    row_sum = inputs.row_sum
    inverse, loop = torch.empty_like(row_sum), torch.empty_like(row_sum)
    block = 256
    loops_kernel[(triton.cdiv(len(row_sum), block),)](
        p_row_sum=row_sum,
        p_loop_weight=inputs.loop_weight,
        p_node_id=inputs.node_id,
        p_seed=inputs.seed,
        p_inverse=inverse,
        p_loop=loop,
        num_rows=len(row_sum),
        dropout=inputs.dropout,
        noise_stream=inputs.stream,
        DIVIDES=divide,
        BLOCK=block,
        num_warps=4,
    )
    return inverse, loop


def dropped(
    inputs: AggregateInputs | AggregateGradInputs,
    cut: RowPieces,
    filled: Tensor,
    whole: Tensor | None,
    column: Tensor,
    value: Tensor,
    *,
    whole_value: bool = True,
) -> Tensor:
    """The values of open edges after dropout; the same tensor without a seed."""
    if inputs.seed is None:
        return value
    out = value.new_empty(len(column))
    drop_edges_kernel[(len(cut.row),)](
        p_bound=cut.bound,
        p_row=cut.row,
        p_filled=filled,
        p_whole=whole,
        p_column=column,
        p_value=value,
        p_node_id=inputs.node_id,
        p_seed=inputs.seed,
        p_out=out,
        dropout=inputs.dropout,
        noise_stream=inputs.stream,
        WHOLE_VALUE=whole_value,
        BLOCK=GATE_BLOCK,
        num_warps=1,
    )
    return out


def divided_rows(
    grad: Tensor, out: Tensor, inverse: Tensor, grad_row_sum: Tensor | None
) -> Tensor:
    """Rows g_i / S_i, padded for `sum_rows`; fills ∂S_i = - g_i · out_i / S_i."""
    num_rows, width = grad.shape
    stride = aligned_width(width)
    # The smallest numbers of float16 are not far below those of a gradient.
    dtype = torch.float32 if grad.dtype == torch.float16 else grad.dtype
    divided = grad.new_empty((num_rows, stride), dtype=dtype)
    block_r = 16
    aggregate_rows_bwd_kernel_rows[(triton.cdiv(num_rows, block_r),)](
        p_grad=grad,
        p_out=out,
        p_inverse=inverse,
        p_divided=divided,
        p_grad_row_sum=grad_row_sum,
        num_rows=num_rows,
        width=width,
        stride=stride,
        BLOCK_R=block_r,
        BLOCK_D=min(triton.next_power_of_2(width), 128),
        num_warps=4,
    )
    return divided


def aggregate_rows(inputs: AggregateInputs, outputs: Aggregated) -> None:
    """Fill the outputs of the operator of this name."""
    x, rows, (out, wide_out, _) = inputs.x, OpenRows(*inputs.rows), outputs
    if not out.numel():
        return
    with torch.cuda.device_of(x):
        targets = unpacked(inputs.targets, len(x))
        inverse, loop = loops(inputs, divide=True)
        scaled = rows.scaled if len(rows.scaled) else rows.gate
        value = dropped(inputs, targets, rows.filled, None, rows.src, scaled)
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
    weighted, drops = len(rows.source_scaled) > 0, inputs.seed is not None
    has_values = weighted or drops
    row_sum = grads.row_sum if with_gates else None
    with torch.cuda.device_of(x):
        sources = unpacked(inputs.sources, len(x))
        inverse, loop = loops(inputs, divide=False)
        value = dropped(
            inputs,
            sources,
            rows.source_filled,
            rows.source_whole,
            rows.dst,
            rows.source_scaled if weighted else rows.source_gate,
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
