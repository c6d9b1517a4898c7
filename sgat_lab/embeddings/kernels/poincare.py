"""One pass of Riemannian gradient descent over the edges, in the Poincaré disc.

Tested by `tests/lab/embeddings/test_poincare.py`.
"""

from __future__ import annotations

import math

import numba
import numpy as np

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@compiled
def pull(x0, x1, y0, y1):
    """The distance of x and y, and its slopes in x0, x1, y0 and y1.

    d = arcosh γ,  γ = 1 + 2 |x - y|² / ((1 - |x|²)(1 - |y|²))
    """
    alpha = 1 - x0 * x0 - x1 * x1
    beta = 1 - y0 * y0 - y1 * y1
    step0, step1 = x0 - y0, x1 - y1
    square = step0 * step0 + step1 * step1
    excess = 2 * square / (alpha * beta)
    # √(γ² - 1) from the excess over 1, which rounding leaves nothing of in γ.
    root = math.sqrt(excess * (excess + 2))
    if root == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    scale = 4 / (alpha * beta * root)
    return (
        math.log1p(excess + root),
        scale * (step0 + square / alpha * x0),
        scale * (step1 + square / alpha * x1),
        scale * (square / beta * y0 - step0),
        scale * (square / beta * y1 - step1),
    )


@compiled
def descend(places, node, slope0, slope1, rate, border):
    """Move a node against its slope, scaled by the metric, and not past the border."""
    x0, x1 = places[node, 0], places[node, 1]
    alpha = 1 - x0 * x0 - x1 * x1
    x0 -= rate * alpha * alpha / 4 * slope0
    x1 -= rate * alpha * alpha / 4 * slope1
    norm = math.sqrt(x0 * x0 + x1 * x1)
    if norm > border:
        x0, x1 = x0 * border / norm, x1 * border / norm
    places[node, 0], places[node, 1] = x0, x1


@compiled
def run_epoch(
    places, ptr, neighbour, owner, order, first, size, member, draws, rate, border, rng
):
    """Descend once for every end of every edge; changes `places`.

    The loss of node u and its neighbour v is d(u, v) + log Σ exp(-d(u, v')), the sum
    over v and up to `draws` nodes of the component that are no neighbours of u.
    """
    target = np.empty(draws + 1, np.int64)
    force = np.empty((draws + 1, 5))
    for edge in order:
        node = owner[edge]
        target[0], count = neighbour[edge], 1
        row = neighbour[ptr[node] : ptr[node + 1]]
        for _ in range(draws):
            other = member[first[node] + int(rng.random() * size[node])]
            found = np.searchsorted(row, other)
            is_neighbour = found < len(row) and row[found] == other
            if other != node and not is_neighbour:
                target[count] = other
                count += 1
        total = 0.0
        for k in range(count):
            other = target[k]
            force[k] = pull(
                places[node, 0], places[node, 1], places[other, 0], places[other, 1]
            )
            total += math.exp(-force[k, 0])
        slope0, slope1 = 0.0, 0.0
        for k in range(count):
            weight = (1.0 if k == 0 else 0.0) - math.exp(-force[k, 0]) / total
            slope0 += weight * force[k, 1]
            slope1 += weight * force[k, 2]
            descend(
                places,
                target[k],
                weight * force[k, 3],
                weight * force[k, 4],
                rate,
                border,
            )
        descend(places, node, slope0, slope1, rate, border)
