"""Arithmetic that runs in vector lanes: noise, exponentials and logarithms."""

import hashlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from sgat.ops import noise
from sgat.ops.noise import KEY_STEPS, MULTIPLIERS, ROUNDS

M0, M1 = (np.uint64(multiplier) for multiplier in MULTIPLIERS)
STEP0, STEP1 = (np.uint64(step) for step in KEY_STEPS)
WORD, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)

# Edges whose numbers are computed together: enough for lanes, few enough for a cache.
# Numbers past the last edge, up to a multiple of LANES, are computed and not used.
PART, LANES = 1024, 16

# Sums may be reordered into vector lanes and fused with products; NaN and infinity keep
# their meaning. A division by 0 gives infinity: a test for it would leave the lanes.
_compile = numba.njit(
    nogil=True,
    cache=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
)


def digest(files: Iterable[Path]) -> str:
    """One hash of the contents of files."""
    contents = [file.read_bytes() for file in sorted(files)]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


SOURCES = digest([*Path(__file__).parent.glob("*.py"), Path(noise.__file__)])


def compiled(function: Callable[..., Any]) -> Any:
    """Compile without the interpreter's lock, and keep the result on disk.

    A kernel holds what it calls from other files, and Numba watches its own file alone:
    here a change to any of the sources compiles it anew.
    """
    kernel = _compile(function)
    cache_file = kernel._cache._cache_file
    cache_file._source_stamp = (cache_file._source_stamp, SOURCES)
    return kernel


@compiled
def padded(size):
    """The size up to a multiple of LANES."""
    return (size + LANES - 1) // LANES * LANES


# Inlined, so that loops over it run in vector lanes: 14 times as fast with AVX-512.
@numba.njit(inline="always")
def philox(c0, c1, c2, c3, key0, key1):
    """The four words of `noise.philox`, each held in uint64."""
    for _ in range(ROUNDS):
        # The masks tell the compiler that 32 x 32 bits are multiplied.
        product0 = (c0 & WORD) * M0
        product1 = (c2 & WORD) * M1
        c0 = (product1 >> HALF) ^ c1 ^ key0
        c1 = product1 & WORD
        c2 = (product0 >> HALF) ^ c3 ^ key1
        c3 = product0 & WORD
        key0 = (key0 + STEP0) & WORD
        key1 = (key1 + STEP1) & WORD
    return c0, c1, c2, c3


@compiled
def split_key(seed):
    """Key words 0 and 1 of a seed."""
    bits = np.uint64(seed)
    return bits & WORD, bits >> HALF


@compiled
def node_name(node, node_id):
    """What names a node in the noise; without names, its number."""
    return np.uint64(node_id[node]) if len(node_id) else np.uint64(node)


@compiled
def uniform(word):
    """The number in (0, 1) of `noise.uniform` that a word stands for, in float64."""
    return (np.float64(word >> np.uint32(9)) + 0.5) * 2.0**-23


@compiled
def name_words(nodes, begin, end, node_id, words):
    """The low words of the names of nodes[begin] to nodes[end]."""
    if len(node_id):
        for k in range(end - begin):
            words[k] = np.uint32(node_id[nodes[begin + k]])
    else:
        for k in range(end - begin):
            words[k] = np.uint32(nodes[begin + k])


@compiled
def draw_words(dst_name, src, begin, end, node_id, stream, key0, key1, words):
    """Word 0 of philox((i, j, stream, graph), key) for src[begin] to src[end].

    The loop has no branch, so that it runs in vector lanes.
    """
    name_words(src, begin, end, node_id, words)
    low, high = dst_name & WORD, dst_name >> HALF
    for k in range(padded(end - begin)):
        word = philox(low, np.uint64(words[k]), np.uint64(stream), high, key0, key1)[0]
        words[k] = np.uint32(word)


@compiled
def draw_loop(name, stream, key0, key1):
    """The number in (0, 1) of the self-loop of a node."""
    word = philox(
        name & WORD, name & WORD, np.uint64(stream), name >> HALF, key0, key1
    )[0]
    return uniform(np.uint32(word))


def lane_exp(x):
    """exp(x); in float32 to 3 eps, without a branch, and 0 below the normal numbers."""
    raise NotImplementedError


def lane_log(x):
    """log(x) of a normal number x > 0; in float32 to 1 eps of max(1, |log x|)."""
    raise NotImplementedError


F0, F_HALF, F1 = np.float32(0), np.float32(0.5), np.float32(1)
F_INF, F_LOG2E = np.float32(np.inf), np.float32(1 / math.log(2))
# log 2 in two parts, the first short enough for exact products with an exponent.
F_LN2 = np.float32(0.693359375)
F_LN2_REST = np.float32(math.log(2) - 0.693359375)
# Powers of 2 between these are normal.
F_EXP_LAST, F_EXP_FIRST = np.float32(88.37), np.float32(-87.3)
F_SQRT_HALF = np.float32(math.sqrt(0.5))
MANTISSA, MANTISSA_BITS = np.int32((1 << 23) - 1), np.int32(23)
BIAS, BITS_OF_HALF = np.int32(127), np.int32(126 << 23)

# Polynomials through the Chebyshev points of the range that is left after powers of 2:
# (exp(r) - 1 - r) / r² for |r| ≤ log(2) / 2, then (log(1 + m) - m + m² / 2) / m³ for
# √½ ≤ 1 + m < √2; lowest power first.
EXP_TERMS = (
    *(0.500000001, 0.166666667, 0.0416664642),
    *(0.00833331084, 0.00139337307, 0.000198910804),
)
LOG_TERMS = (
    *(0.333333312, -0.24999997, 0.200007157, -0.166678023, 0.142490576),
    *(-0.124256873, 0.116854199, -0.114797338, 0.0697161146),
)


@overload(lane_exp)
def _lane_exp(x):
    if x != types.float32:
        return lambda x: math.exp(x)
    c0, c1, c2, c3, c4, c5 = map(np.float32, EXP_TERMS)

    def float32_exp(x):
        bounded = min(max(x, F_EXP_FIRST), F_EXP_LAST)
        power = np.floor(bounded * F_LOG2E + F_HALF)
        r = bounded - power * F_LN2 - power * F_LN2_REST
        tail = ((((c5 * r + c4) * r + c3) * r + c2) * r + c1) * r + c0
        bits = np.int32((np.int32(power) + BIAS) << MANTISSA_BITS)
        value = (tail * (r * r) + r + F1) * bits.view(np.float32)
        return F_INF if x > F_EXP_LAST else (F0 if x < F_EXP_FIRST else value)

    return float32_exp


@overload(lane_log)
def _lane_log(x):
    if x != types.float32:
        return lambda x: math.log(x)
    c0, c1, c2, c3, c4, c5, c6, c7, c8 = map(np.float32, LOG_TERMS)

    def float32_log(x):
        bits = np.float32(x).view(np.int32)
        part = np.int32((bits & MANTISSA) | BITS_OF_HALF).view(np.float32)
        is_small = part < F_SQRT_HALF
        power = np.float32(np.int32((bits >> MANTISSA_BITS) - BIAS + np.int32(1)))
        power = power - F1 if is_small else power
        m = (part + part if is_small else part) - F1
        high = (((c8 * m + c7) * m + c6) * m + c5) * m + c4
        tail = (((high * m + c3) * m + c2) * m + c1) * m + c0
        square = m * m
        rest = tail * m * square + power * F_LN2_REST - F_HALF * square
        return m + rest + power * F_LN2

    return float32_log
