"""Products of the vectors of two nodes, and of the means of their neighbours."""

import math
from typing import Any

import numpy as np

from sgat.ops import threads
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import Array

# Weights are larger: less is rounding, and no neighbour is left.
NOTHING = 1e-9


@compiled
def pair_products_kernel(first, last, left, right, scale, a, b, found):
    """found_p = Σ_k left_ak right_bk scale_k."""
    for pair in range(first, last):
        one, other = left[a[pair]], right[b[pair]]
        total = left.dtype.type(0)
        for k in range(len(one)):
            total += one[k] * other[k] * scale[k]
        found[pair] = total


def pair_products(left: Any, right: Any, a: Any, b: Any, scale: Any) -> Array:
    """See `sgat.ops.pair_products.pair_products`."""
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    scale = np.broadcast_to(np.asarray(scale, left.dtype), left.shape[1:]).copy()
    found = np.empty(len(a), dtype=left.dtype)
    parts = threads.even_ranges(len(a), left.shape[1])
    threads.run(pair_products_kernel, parts, left, right, scale, a, b, found)
    return found


@compiled
def mean_products_kernel(
    first, last, u, total, strength, a, out_a, lost_a, b, out_b, lost_b, found
):
    """The three products of `mean_products`; a vector of a pair is read once."""
    number = u.dtype.type
    for pair in range(first, last):
        u_a, u_b = u[a[pair]], u[b[pair]]
        total_a, total_b = total[a[pair]], total[b[pair]]
        gone_a, gone_b = u[out_a[pair]], u[out_b[pair]]
        left_a, left_b = number(lost_a[pair]), number(lost_b[pair])
        rest_a = strength[a[pair]] - lost_a[pair]
        rest_b = strength[b[pair]] - lost_b[pair]
        scale_a = number(1 / (rest_a + 1) if rest_a > NOTHING else 0.0)
        scale_b = number(1 / (rest_b + 1) if rest_b > NOTHING else 0.0)
        cross, both, square_a, square_b = number(0), number(0), number(0), number(0)
        for k in range(u.shape[1]):
            mean_a = (total_a[k] - left_a * gone_a[k]) * scale_a
            mean_b = (total_b[k] - left_b * gone_b[k]) * scale_b
            cross += u_a[k] * mean_b + u_b[k] * mean_a
            both += mean_a * mean_b
            square_a += mean_a * mean_a
            square_b += mean_b * mean_b
        length = math.sqrt(np.float64(square_a) * np.float64(square_b))
        found[pair, 0] = cross
        found[pair, 1] = both
        found[pair, 2] = both / max(length, 1e-9)


def mean_products(u: Any, total: Any, strength: Any, one: Any, other: Any) -> Array:
    """See `sgat.ops.pair_products.mean_products`."""
    u, total = np.ascontiguousarray(u), np.ascontiguousarray(total)
    found = np.empty((len(one[0]), 3), dtype=u.dtype)
    parts = threads.even_ranges(len(found), 4 * u.shape[1])
    given = u, total, strength, *one, *other, found
    threads.run(mean_products_kernel, parts, *given)
    return found
