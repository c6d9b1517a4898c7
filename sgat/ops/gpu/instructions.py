"""Functions of the gate pass that take one instruction of the GPU in float32.

Tested by tests/ops/test_gpu.py and tests/ops/gpu/test_gates_kernel.py.
"""

from __future__ import annotations

import os

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Triton's interpreter knows no instructions of a GPU."""


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
