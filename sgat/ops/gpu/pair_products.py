"""Products of vectors of two nodes, and of means of their neighbours, on a GPU."""

from typing import Any

import triton
import triton.language as tl

from sgat.ops.device_array import DeviceArray, on_device

# Pairs of a program, and numbers of their vectors that it reads at a time.
PAIRS, COLUMNS = 32, 32
# As on the CPU: less is rounding, and no neighbour is left.
NOTHING = tl.constexpr(1e-9)


@triton.jit
def load_columns(p_x, b_row, o_column, m_load, width):
    """Some columns of rows; masked ones hold 0."""
    p_row = p_x + b_row.to(tl.int64)[:, None] * width + o_column[None, :]
    return tl.load(p_row, mask=m_load, other=0)


@triton.jit
def pair_products_kernel(
    p_left,
    p_right,
    p_scale,
    p_a,
    p_b,
    p_found,
    number,
    width,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """found_p = Σ_k left_ak right_bk scale_k; one program, BLOCK pairs."""
    o_pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_pair = o_pair < number
    b_a = tl.load(p_a + o_pair, mask=m_pair, other=0)
    b_b = tl.load(p_b + o_pair, mask=m_pair, other=0)
    b_total = tl.zeros([BLOCK, BLOCK_K], p_found.dtype.element_ty)
    for first in range(0, width, BLOCK_K):
        o_column = first + tl.arange(0, BLOCK_K)
        m_load = m_pair[:, None] & (o_column < width)[None, :]
        b_left = load_columns(p_left, b_a, o_column, m_load, width)
        b_right = load_columns(p_right, b_b, o_column, m_load, width)
        b_scale = tl.load(p_scale + o_column, mask=o_column < width, other=0)
        b_total += b_left * b_right * b_scale[None, :]
    tl.store(p_found + o_pair, tl.sum(b_total, 1), mask=m_pair)


def pair_products(left: Any, right: Any, a: Any, b: Any, scale: Any) -> DeviceArray:
    """As `sgat.ops.pair_products.pair_products`."""
    one, other = left.tensor.contiguous(), right.tensor.contiguous()
    if isinstance(scale, float):
        scale = one.new_full((one.shape[1],), scale)
    else:
        scale = on_device(scale, one.device).to(one.dtype)
    found = one.new_empty(len(a))
    if len(a):
        pair_products_kernel[(triton.cdiv(len(a), PAIRS),)](
            p_left=one,
            p_right=other,
            p_scale=scale,
            p_a=a.tensor.contiguous(),
            p_b=b.tensor.contiguous(),
            p_found=found,
            number=len(a),
            width=one.shape[1],
            BLOCK=PAIRS,
            BLOCK_K=COLUMNS,
            num_warps=4,
        )
    return DeviceArray(found)


@triton.jit
def load_end(p_node, p_out, p_lost, p_strength, o_pair, m_pair, KIND: tl.constexpr):
    """A node, the neighbour left out, the weight lost and the scale of its mean."""
    b_node = tl.load(p_node + o_pair, mask=m_pair, other=0)
    b_out = tl.load(p_out + o_pair, mask=m_pair, other=0)
    b_lost = tl.load(p_lost + o_pair, mask=m_pair, other=0)
    b_left = tl.load(p_strength + b_node, mask=m_pair, other=0) - b_lost
    b_scale = tl.where(b_left > NOTHING, 1 / (b_left + 1), 0.0)
    return b_node, b_out, b_lost.to(KIND), b_scale.to(KIND)


@triton.jit
def mean_products_kernel(
    p_u,
    p_total,
    p_strength,
    p_a,
    p_out_a,
    p_lost_a,
    p_b,
    p_out_b,
    p_lost_b,
    p_found,
    number,
    width,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """The three products of `mean_products`; one program, BLOCK pairs."""
    KIND: tl.constexpr = p_u.dtype.element_ty
    o_pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_pair = o_pair < number
    b_a, b_out_a, b_lost_a, b_scale_a = load_end(
        p_a, p_out_a, p_lost_a, p_strength, o_pair, m_pair, KIND
    )
    b_b, b_out_b, b_lost_b, b_scale_b = load_end(
        p_b, p_out_b, p_lost_b, p_strength, o_pair, m_pair, KIND
    )
    b_cross = tl.zeros([BLOCK, BLOCK_K], KIND)
    b_both = tl.zeros([BLOCK, BLOCK_K], KIND)
    b_square_a = tl.zeros([BLOCK, BLOCK_K], KIND)
    b_square_b = tl.zeros([BLOCK, BLOCK_K], KIND)
    for first in range(0, width, BLOCK_K):
        o_column = first + tl.arange(0, BLOCK_K)
        m_load = m_pair[:, None] & (o_column < width)[None, :]
        b_u_a = load_columns(p_u, b_a, o_column, m_load, width)
        b_u_b = load_columns(p_u, b_b, o_column, m_load, width)
        b_mean_a = load_columns(p_total, b_a, o_column, m_load, width)
        b_mean_b = load_columns(p_total, b_b, o_column, m_load, width)
        b_gone_a = load_columns(p_u, b_out_a, o_column, m_load, width)
        b_gone_b = load_columns(p_u, b_out_b, o_column, m_load, width)
        b_mean_a = (b_mean_a - b_lost_a[:, None] * b_gone_a) * b_scale_a[:, None]
        b_mean_b = (b_mean_b - b_lost_b[:, None] * b_gone_b) * b_scale_b[:, None]
        b_cross += b_u_a * b_mean_b + b_u_b * b_mean_a
        b_both += b_mean_a * b_mean_b
        b_square_a += b_mean_a * b_mean_a
        b_square_b += b_mean_b * b_mean_b
    both = tl.sum(b_both, 1)
    length = tl.sqrt(
        tl.sum(b_square_a, 1).to(tl.float64) * tl.sum(b_square_b, 1).to(tl.float64)
    )
    p_row = p_found + o_pair * 3
    tl.store(p_row, tl.sum(b_cross, 1), mask=m_pair)
    tl.store(p_row + 1, both, mask=m_pair)
    tl.store(p_row + 2, (both / tl.maximum(length, 1e-9)).to(KIND), mask=m_pair)


def mean_products(u: Any, total: Any, strength: Any, one: Any, other: Any) -> Any:
    """As `sgat.ops.pair_products.mean_products`."""
    vector = u.tensor.contiguous()
    number = len(one[0])
    found = vector.new_empty(number, 3)
    ends = [part.tensor.contiguous() for part in (*one, *other)]
    if number:
        mean_products_kernel[(triton.cdiv(number, PAIRS),)](
            p_u=vector,
            p_total=total.tensor.contiguous(),
            p_strength=strength.tensor,
            p_a=ends[0],
            p_out_a=ends[1],
            p_lost_a=ends[2],
            p_b=ends[3],
            p_out_b=ends[4],
            p_lost_b=ends[5],
            p_found=found,
            number=number,
            width=vector.shape[1],
            BLOCK=PAIRS,
            BLOCK_K=COLUMNS,
            num_warps=4,
        )
    return DeviceArray(found)
