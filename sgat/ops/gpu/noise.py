"""The random numbers of `noise.py` inside Triton kernels.

Tested by tests/ops/test_gpu.py and tests/ops/gpu/test_project.py.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def philox(c0, c1, c2, c3, key0, key1):
    """The four words of `noise.philox`, in uint32."""
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
    word, _w1, _w2, _w3 = philox(
        dst_name.to(tl.uint32),
        src_name.to(tl.uint32),
        tl.full((), noise_stream, tl.uint32),
        (dst_name >> 32).to(tl.uint32),
        key0,
        key1,
    )
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07
