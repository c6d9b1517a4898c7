"""Arithmetic inside Triton kernels: noise, and functions of the gate pass.

The noise is that of `sgat.ops.noise`; the functions take one instruction of the GPU in
float32.
"""

import os

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Triton's interpreter knows no instructions of a GPU."""


@triton.jit
def philox(name, second, noise_stream, key0, key1):
    """The four words of `noise.philox` for (name, second, stream, graph), in uint32."""
    c0, c1 = name.to(tl.uint32), second.to(tl.uint32)
    c2 = tl.full((), noise_stream, tl.uint32)
    c3 = (name >> 32).to(tl.uint32)
    for _ in tl.static_range(10):
        high0 = tl.umulhi(c0, 0xD2511F53)
        high1 = tl.umulhi(c2, 0xCD9E8D57)
        low0 = c0 * 0xD2511F53
        low1 = c2 * 0xCD9E8D57
        c0 = high1 ^ c1 ^ key0
        c1 = low1
        c2 = high0 ^ c3 ^ key1
        c3 = low0
        key0 += 0x9E3779B9
        key1 += 0xBB67AE85
    return c0, c1, c2, c3


@triton.jit
def split_key(p_seed):
    """Key words 0 and 1 of the seed."""
    seed = tl.load(p_seed)
    return seed.to(tl.uint32), (seed >> 32).to(tl.uint32)


@triton.jit
def node_name(node, p_node_id, mask):
    """What names a node in the noise, int64; without names, its number."""
    if p_node_id is not None:
        return tl.load(p_node_id + node, mask=mask)
    return node.to(tl.int64)


@triton.jit
def uniform(dst_name, src_name, noise_stream, key0, key1):
    """The number of `noise.uniform` for a pair of names, float32."""
    word, _w1, _w2, _w3 = philox(dst_name, src_name, noise_stream, key0, key1)
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07


@triton.jit
def log2(x):
    """Logarithm by one instruction in float32, to 2^-22 of itself or, near 1, of 1.

    The general one takes about 20, and the gate pass is bound by its instructions. Of
    what it and the two below are given or give, nothing that matters is subnormal, and
    to care for that would take three more each.
    """
    if INTERPRETED or x.dtype != tl.float32:
        y = tl.log2(x)
    else:
        y = tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y


@triton.jit
def reciprocal(x):
    """1 / x by one instruction in float32, to the last bit but one."""
    if INTERPRETED or x.dtype != tl.float32:
        y = 1 / x
    else:
        y = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y


@triton.jit
def exp2(x):
    """2^x by one instruction in float32, to 2 eps."""
    if INTERPRETED or x.dtype != tl.float32:
        y = tl.exp2(x)
    else:
        y = tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1
        )
    return y
