"""Attention on the GPU: each program takes one head of one row of edges.

Shares a_ij are worked out again in the backward pass, from the logarithm of each row's
sum. Masked lanes hold 0 unless said otherwise. Every index that is multiplied by a
width is widened to 64 bits first.

Tested by tests/lab/unseen/attention/test_gpu.py.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from sgat_lab.unseen.attention.edges import SLOPE, AttendInputs, EdgeRows

MOST_NUMBERS, MOST_ENTRIES = 1024, 64
"""Numbers of x, and edges, that a program reads at once."""


@triton.jit
def sigmoid(x):
    """1 / (1 + exp(-x)); neither end overflows."""
    small = tl.exp(-tl.abs(x))
    return tl.where(x > 0, 1, small) / (1 + small)


@triton.jit
def find_row(p_ptr, p_order, heads):
    """Row, head, first edge and number of edges of this program."""
    i_row = tl.load(p_order + tl.program_id(0) // heads).to(tl.int64)
    i_head = tl.program_id(0) % heads
    begin = tl.load(p_ptr + i_row)
    count = (tl.load(p_ptr + i_row + 1) - begin).to(tl.int32)
    return i_row * heads + i_head, i_head, begin, count


@triton.jit
def load_entries(p_column, p_edge, p_kept, begin, o_entry, m_entry, heads, i_head):
    """Places of the other ends in [N, H], and the factor of dropout."""
    column = tl.load(p_column + begin + o_entry, mask=m_entry, other=0)
    o_other = column.to(tl.int64) * heads + i_head
    kept = tl.where(m_entry, 1.0, 0.0)
    if p_kept is not None:
        edge = tl.load(p_edge + begin + o_entry, mask=m_entry, other=0)
        o_kept = edge.to(tl.int64) * heads + i_head
        kept = tl.load(p_kept + o_kept, mask=m_entry, other=0)
    return o_other, kept


@triton.jit
def load_rows(p_x, o_other, m_entry, o_column, WIDTH: tl.constexpr):
    """Rows of x, [BLOCK_E, BLOCK_D]."""
    return tl.load(
        p_x + o_other[:, None] * WIDTH + o_column[None, :],
        mask=m_entry[:, None] & (o_column < WIDTH)[None, :],
        other=0,
    )


@triton.jit
def attend_fwd_kernel(
    p_ptr,
    p_order,
    p_column,
    p_edge,
    p_x,
    p_src,
    p_dst,
    p_kept,
    p_out,
    p_log_sum,
    heads,
    slope,
    WIDTH: tl.constexpr,
    PRODUCTS: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """out_i = Σ_j m_ij a_ij x_j of a head, and log Σ_j exp LeakyReLU(r_ij).

    Every lane keeps the largest score it has seen, and sums relative to it.
    """
    o_own, i_head, begin, count = find_row(p_ptr, p_order, heads)
    dtype: tl.constexpr = p_x.dtype.element_ty
    o_column = tl.arange(0, BLOCK_D)
    m_column = o_column < WIDTH
    dst_score = tl.load(p_dst + o_own)
    if PRODUCTS:
        b_own = tl.load(p_x + o_own * WIDTH + o_column, mask=m_column, other=0)
    top = tl.full([BLOCK_E], float("-inf"), dtype)
    total = tl.zeros([BLOCK_E], dtype)
    acc = tl.zeros([BLOCK_E, BLOCK_D], dtype)
    for o_block in range(0, count, BLOCK_E):
        o_entry = o_block + tl.arange(0, BLOCK_E)
        m_entry = o_entry < count
        o_other, kept = load_entries(
            p_column, p_edge, p_kept, begin, o_entry, m_entry, heads, i_head
        )
        b_x = load_rows(p_x, o_other, m_entry, o_column, WIDTH)
        raw = tl.load(p_src + o_other, mask=m_entry, other=0) + dst_score
        if PRODUCTS:
            raw *= sigmoid(tl.sum(b_x * b_own[None, :], 1))
        score = tl.where(raw > 0, raw, raw * slope)
        new_top = tl.where(m_entry, tl.maximum(top, score), top)
        # A lane that has seen nothing has no number to subtract.
        base = tl.where(new_top == float("-inf"), 0, new_top)
        shrink = tl.exp(top - base)
        share = tl.where(m_entry, tl.exp(score - base), 0)
        total = total * shrink + share
        acc = acc * shrink[:, None] + (share * kept)[:, None] * b_x
        top = new_top
    base = tl.max(top, 0)
    base = tl.where(base == float("-inf"), 0, base)
    shrink = tl.exp(top - base)
    row_sum = tl.sum(total * shrink, 0)
    row_sum = tl.where(row_sum > 0, row_sum, 1)
    out = tl.sum(acc * shrink[:, None], 0) / row_sum
    tl.store(p_out + o_own * WIDTH + o_column, out, mask=m_column)
    tl.store(p_log_sum + o_own, base + tl.log(row_sum))


@triton.jit
def attend_bwd_kernel_sources(
    p_ptr,
    p_order,
    p_column,
    p_edge,
    p_x,
    p_src,
    p_dst,
    p_kept,
    p_log_sum,
    p_grad,
    p_mean,
    p_grad_x,
    p_grad_src,
    p_grad_dst,
    heads,
    slope,
    WIDTH: tl.constexpr,
    PRODUCTS: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """∂x_j as a source and ∂s_j; adds to ∂t_i of the targets without PRODUCTS."""
    o_own, i_head, begin, count = find_row(p_ptr, p_order, heads)
    dtype: tl.constexpr = p_x.dtype.element_ty
    o_column = tl.arange(0, BLOCK_D)
    m_column = o_column < WIDTH
    src_score = tl.load(p_src + o_own)
    b_own = tl.load(p_x + o_own * WIDTH + o_column, mask=m_column, other=0)
    acc = tl.zeros([BLOCK_E, BLOCK_D], dtype)
    acc_src = tl.zeros([BLOCK_E], dtype)
    for o_block in range(0, count, BLOCK_E):
        o_entry = o_block + tl.arange(0, BLOCK_E)
        m_entry = o_entry < count
        o_other, kept = load_entries(
            p_column, p_edge, p_kept, begin, o_entry, m_entry, heads, i_head
        )
        b_grad = load_rows(p_grad, o_other, m_entry, o_column, WIDTH)
        both = src_score + tl.load(p_dst + o_other, mask=m_entry, other=0)
        log_sum = tl.load(p_log_sum + o_other, mask=m_entry, other=0)
        mean = tl.load(p_mean + o_other, mask=m_entry, other=0)
        raw = both
        if PRODUCTS:
            b_x = load_rows(p_x, o_other, m_entry, o_column, WIDTH)
            likely = sigmoid(tl.sum(b_x * b_own[None, :], 1))
            raw = both * likely
        score = tl.where(raw > 0, raw, raw * slope)
        share = tl.where(m_entry, tl.exp(score - log_sum), 0)
        change = share * (kept * tl.sum(b_grad * b_own[None, :], 1) - mean)
        change = tl.where(raw > 0, change, change * slope)
        acc += (share * kept)[:, None] * b_grad
        if PRODUCTS:
            acc += (change * both * likely * (1 - likely))[:, None] * b_x
            change *= likely
        else:
            tl.atomic_add(p_grad_dst + o_other, change, mask=m_entry)
        acc_src += change
    tl.store(p_grad_x + o_own * WIDTH + o_column, tl.sum(acc, 0), mask=m_column)
    tl.store(p_grad_src + o_own, tl.sum(acc_src, 0))


@triton.jit
def attend_bwd_kernel_targets(
    p_ptr,
    p_order,
    p_column,
    p_edge,
    p_x,
    p_src,
    p_dst,
    p_kept,
    p_log_sum,
    p_grad,
    p_mean,
    p_grad_x,
    p_grad_dst,
    heads,
    slope,
    WIDTH: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """∂t_i, and ∂x_i as a target of products, which is added to ∂x_i as a source."""
    o_own, i_head, begin, count = find_row(p_ptr, p_order, heads)
    dtype: tl.constexpr = p_x.dtype.element_ty
    o_column = tl.arange(0, BLOCK_D)
    m_column = o_column < WIDTH
    o_row = o_own * WIDTH + o_column
    b_own = tl.load(p_x + o_row, mask=m_column, other=0)
    b_grad = tl.load(p_grad + o_row, mask=m_column, other=0)
    dst_score = tl.load(p_dst + o_own)
    log_sum = tl.load(p_log_sum + o_own)
    mean = tl.load(p_mean + o_own)
    acc = tl.zeros([BLOCK_E, BLOCK_D], dtype)
    acc_dst = tl.zeros([BLOCK_E], dtype)
    for o_block in range(0, count, BLOCK_E):
        o_entry = o_block + tl.arange(0, BLOCK_E)
        m_entry = o_entry < count
        o_other, kept = load_entries(
            p_column, p_edge, p_kept, begin, o_entry, m_entry, heads, i_head
        )
        b_x = load_rows(p_x, o_other, m_entry, o_column, WIDTH)
        both = tl.load(p_src + o_other, mask=m_entry, other=0) + dst_score
        likely = sigmoid(tl.sum(b_x * b_own[None, :], 1))
        raw = both * likely
        score = tl.where(raw > 0, raw, raw * slope)
        share = tl.where(m_entry, tl.exp(score - log_sum), 0)
        change = share * (kept * tl.sum(b_x * b_grad[None, :], 1) - mean)
        change = tl.where(raw > 0, change, change * slope)
        acc += (change * both * likely * (1 - likely))[:, None] * b_x
        acc_dst += change * likely
    grad_x = tl.load(p_grad_x + o_row, mask=m_column, other=0)
    tl.store(p_grad_x + o_row, grad_x + tl.sum(acc, 0), mask=m_column)
    tl.store(p_grad_dst + o_own, tl.sum(acc_dst, 0))


def _launch(kernel, rows: EdgeRows, inputs: AttendInputs, **more) -> None:
    num_nodes, heads, width = inputs.x.shape
    if not inputs.x.numel():
        return
    block_d = triton.next_power_of_2(width)
    with torch.cuda.device_of(inputs.x):
        kernel[(num_nodes * heads,)](
            p_ptr=rows.ptr,
            p_order=rows.order,
            p_column=rows.column,
            p_edge=rows.edge,
            p_x=inputs.x,
            p_src=inputs.src_score,
            p_dst=inputs.dst_score,
            p_kept=inputs.kept,
            heads=heads,
            slope=SLOPE,
            WIDTH=width,
            BLOCK_E=max(min(MOST_NUMBERS // block_d, MOST_ENTRIES), 1),
            BLOCK_D=block_d,
            num_warps=1,
            **more,
        )


def forward(inputs: AttendInputs) -> tuple[Tensor, Tensor]:
    """The means, [N, H, D], and the logarithms of the sums of their rows, [N, H]."""
    out, log_sum = torch.empty_like(inputs.x), torch.empty_like(inputs.src_score)
    _launch(
        attend_fwd_kernel,
        inputs.edges.targets,
        inputs,
        p_out=out,
        p_log_sum=log_sum,
        PRODUCTS=inputs.with_products,
    )
    return out, log_sum


def backward(
    inputs: AttendInputs, log_sum: Tensor, grad: Tensor, mean: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by x, by the scores of sources and by those of targets."""
    grad_x, grad_src = torch.empty_like(inputs.x), torch.empty_like(mean)
    grad_dst = torch.zeros_like(mean)
    shared = {
        "p_log_sum": log_sum,
        "p_grad": grad,
        "p_mean": mean,
        "p_grad_x": grad_x,
        "p_grad_dst": grad_dst,
    }
    _launch(
        attend_bwd_kernel_sources,
        inputs.edges.sources,
        inputs,
        p_grad_src=grad_src,
        PRODUCTS=inputs.with_products,
        **shared,
    )
    if inputs.with_products:
        _launch(attend_bwd_kernel_targets, inputs.edges.targets, inputs, **shared)
    return grad_x, grad_src, grad_dst
