"""Dropout of features and projection of sparse ones on the GPU."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sgat.ops.gpu.lanes import node_name, philox, split_key
from sgat.ops.gpu.sum_rows import sum_rows
from sgat.ops.noise import limit_and_scale
from sgat.ops.operators.pieces import unpacked
from sgat.ops.operators.project import (
    DropInputs,
    Projected,
    ProjectGradInputs,
    ProjectInputs,
)


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
    noise_stream,
    BLOCK: tl.constexpr,
):
    """Dropout m ⊙ x; one program covers BLOCK groups of eight columns."""
    key0, key1 = split_key(p_seed)
    i_first = tl.program_id(0).to(tl.int64) * BLOCK
    o_group = i_first + tl.arange(0, BLOCK)
    row = o_group // num_blocks
    name = node_name(row, p_node_id, row < num_rows)
    i_block = o_group % num_blocks
    w0, w1, w2, w3 = philox(name, i_block, noise_stream, key0, key1)
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
    noise_stream,
    BLOCK: tl.constexpr,
):
    """Dropout m ⊙ x of the entries of a sparse matrix; one program covers BLOCK."""
    key0, key1 = split_key(p_seed)
    o_entry = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_entry = o_entry < num_entries
    row = tl.load(p_row + o_entry, mask=m_entry, other=0)
    column = tl.load(p_column + o_entry, mask=m_entry, other=0)
    name = node_name(row, p_node_id, m_entry)
    w0, w1, w2, w3 = philox(name, column >> 3, noise_stream, key0, key1)
    which = (column >> 1) & 3
    word = tl.where(
        which < 2, tl.where(which == 0, w0, w1), tl.where(which == 2, w2, w3)
    )
    lane = tl.where((column & 1) == 0, word & 0xFFFF, word >> 16)
    value = tl.load(p_value + o_entry, mask=m_entry, other=0)
    kept = tl.where(lane.to(tl.int32) >= limit, value * scale, 0)
    tl.store(p_out + o_entry, kept.to(value.dtype), mask=m_entry)


def drop_features(inputs: DropInputs, out: Tensor) -> None:
    """Fill the output of the operator of this name."""
    if not out.numel():
        return
    limit, scale = limit_and_scale(inputs.rate)
    num_rows, num_columns = out.shape
    num_blocks = triton.cdiv(num_columns, 8)
    block = 128
    with torch.cuda.device_of(out):
        drop_features_kernel[(triton.cdiv(num_rows * num_blocks, block),)](
            p_x=inputs.x,
            p_node_id=inputs.node_id,
            p_seed=inputs.seed,
            p_out=out,
            num_rows=num_rows,
            num_columns=num_columns,
            num_blocks=num_blocks,
            limit=limit,
            scale=scale,
            noise_stream=inputs.stream,
            BLOCK=block,
            num_warps=4,
        )


def project_sparse(inputs: ProjectInputs, outputs: Projected) -> None:
    """Fill the outputs of the operator of this name."""
    value, out = inputs.value, outputs.out
    num_entries = len(value)
    with torch.cuda.device_of(out):
        if inputs.seed is not None and num_entries:
            limit, scale = limit_and_scale(inputs.rate)
            block = 256
            drop_entries_kernel[(triton.cdiv(num_entries, block),)](
                p_row=inputs.row,
                p_column=inputs.column,
                p_value=value,
                p_node_id=inputs.node_id,
                p_seed=inputs.seed,
                p_out=outputs.dropped,
                num_entries=num_entries,
                limit=limit,
                scale=scale,
                noise_stream=inputs.stream,
                BLOCK=block,
                num_warps=4,
            )
            value = outputs.dropped
        if out.numel():
            rows = unpacked(inputs.rows, len(out))
            sum_rows(rows, None, inputs.column, value, inputs.weight, out)


def project_sparse_bwd(inputs: ProjectGradInputs, out: Tensor) -> None:
    """Fill the output of the operator of this name."""
    if not out.numel():
        return
    with torch.cuda.device_of(out):
        columns = unpacked(inputs.columns, len(out))
        by_column = inputs.value[inputs.column_entry]
        sum_rows(columns, None, inputs.column_row, by_column, inputs.grad, out)
