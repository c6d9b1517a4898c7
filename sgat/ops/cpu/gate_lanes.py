"""Gates, their noise and their chances for many edges at a time, in vector lanes.

Each loop has a function of its own, so that the compiler puts it into lanes: among
others it cannot tell that arrays do not overlap. Tested by tests/ops/test_cpu.py.
"""

from __future__ import annotations

import numpy as np

from sgat.gates import HardConcrete
from sgat.ops.cpu.lanes import compiled, lane_exp, lane_log, philox
from sgat.ops.cpu.memory import Array


def shape_of(gates: HardConcrete) -> Array:
    """The numbers β, γ, ζ and τ of the distribution."""
    numbers = (gates.temperature, gates.gamma, gates.zeta, gates.threshold)
    return np.array(numbers)


@compiled
def chances(log_alpha, threshold, size, chance):
    """π = σ(log α - τ) = P(z ≠ 0)."""
    one = chance.dtype.type(1)
    for k in range(size):
        chance[k] = one / (one + lane_exp(threshold - log_alpha[k]))


@compiled
def draw_logits(low, high, words, key0, key1, size, log_alpha):
    """Add log u - log(1 - u) with u of philox((i, j, 0, graph), key)."""
    for k in range(size):
        i, j, graph = np.uint64(low[k]), np.uint64(words[k]), np.uint64(high[k])
        word = philox(i, j, np.uint64(0), graph, key0, key1)[0]
        words[k] = np.uint32(word)
    one, half = log_alpha.dtype.type(1), log_alpha.dtype.type(0.5)
    unit = log_alpha.dtype.type(2.0**-23)
    for k in range(size):
        # Exact in float32, and so is 1 - u.
        u = (log_alpha.dtype.type(np.int32(words[k] >> np.uint32(9))) + half) * unit
        log_alpha[k] += lane_log(u / (one - u))


@compiled
def stretch(logit, shape, size, gate):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1), and 0 if it is not a number."""
    zero, one = gate.dtype.type(0), gate.dtype.type(1)
    slope = gate.dtype.type(-1.0 / shape[0])
    gamma, width = gate.dtype.type(shape[1]), gate.dtype.type(shape[2] - shape[1])
    for k in range(size):
        z = min(width / (one + lane_exp(logit[k] * slope)) + gamma, one)
        gate[k] = z if z > zero else zero


@compiled
def add_scores(score, index, begin, size, log_alpha):
    """Add score[index[begin + k]] to each log α."""
    for k in range(size):
        log_alpha[k] += score[index[begin + k]]


@compiled
def sum_slopes(chance, begin, end):
    """Σ π (1 - π), in float64."""
    total = 0.0
    for k in range(begin, end):
        pi = np.float64(chance[k])
        total += pi * (1.0 - pi)
    return total


@compiled
def slopes(chance, size, steep):
    """π (1 - π)."""
    for k in range(size):
        steep[k] = chance[k] * (chance.dtype.type(1) - chance[k])


@compiled
def sum_wide(values, begin, end):
    """Σ values, in float64."""
    total = 0.0
    for k in range(begin, end):
        total += np.float64(values[k])
    return total


@compiled
def copy_slots(values, slot, begin, end, out):
    """out[p] = values[slot[p]] for begin ≤ p < end."""
    for p in range(begin, end):
        out[p] = values[slot[p]]
