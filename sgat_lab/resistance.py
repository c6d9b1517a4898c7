"""Effective resistance: how much of the flow between two nodes their link carries.

A network of links with conductances w has between nodes a and b the resistance

    R_ab = (e_a - e_b)ᵀ L⁺ (e_a - e_b),   L = Σ w (e_a - e_b)(e_a - e_b)ᵀ

and w R of a link, in [0, 1], is the chance that a random spanning tree contains it: 1
for a bridge, little in dense parts. Spielman & Srivastava, STOC 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

Array = np.ndarray[Any, Any]

LARGEST_DENSE = 3000
"""Number of nodes up to which the matrix L is inverted."""
NUM_PROJECTIONS = 200
"""Random directions beyond that; the relative error of a resistance is about 10 %."""
TOLERANCE = 1e-4
"""Relative residual at which a solution of L z = y is good enough for that."""


def leverages(
    num_nodes: int, one: Array, other: Array, weight: Array, seed: int
) -> Array:
    """Current that each link carries, w R; estimated beyond `LARGEST_DENSE` nodes.

    Args:
        num_nodes: Number of nodes N.
        one: A node at one end of each link, [L].
        other: The node at its other end, [L].
        weight: Conductances w ≥ 0, [L]; a link of weight 0 gets 0.
        seed: Of the random directions.

    Returns:
        Values in [0, 1], [L] float64.
    """
    weight = weight.astype(np.float64)
    value = np.zeros(len(weight))
    conducts = weight > 0
    ends = one[conducts], other[conducts], weight[conducts]
    if conducts.any():
        if num_nodes <= LARGEST_DENSE:
            resistance = exact_resistance(num_nodes, *ends)
        else:
            resistance = sketched_resistance(num_nodes, *ends, seed)
        value[conducts] = np.clip(ends[2] * resistance, 0, 1)
    return value


def exact_resistance(num_nodes: int, one: Array, other: Array, weight: Array) -> Array:
    """R of every link by inverting a dense matrix, [L]; weights must be positive."""
    incidence = _incidence(num_nodes, one, other)
    laplacian = _laplacian(incidence, weight)
    # L is singular: constant on a component is mapped to 0. Adding a multiple of the
    # projection onto those vectors makes it regular, and cancels in R.
    part = connected_components(laplacian, directed=False)[1]
    together = part[:, None] == part[None, :]
    projection = together / np.bincount(part)[part]
    inverse = np.linalg.inv(laplacian.toarray() + weight.mean() * projection)
    diagonal = inverse.diagonal()
    resistance: Array = diagonal[one] + diagonal[other] - 2 * inverse[one, other]
    return resistance


def sketched_resistance(
    num_nodes: int,
    one: Array,
    other: Array,
    weight: Array,
    seed: int,
    num_projections: int = NUM_PROJECTIONS,
) -> Array:
    """R of every link from a few random directions, [L]; weights must be positive.

    R_ab = |W^½ B L⁺ (e_a - e_b)|², and a random projection of these vectors keeps their
    lengths (Johnson & Lindenstrauss): one solution of L z = y per direction.
    """
    generator = np.random.default_rng(seed)
    incidence = _incidence(num_nodes, one, other)
    laplacian = _laplacian(incidence, weight)
    degree = laplacian.diagonal()
    inverse_degree = 1 / np.where(degree > 0, degree, 1)
    precondition = LinearOperator(laplacian.shape, lambda z: inverse_degree * z)
    resistance = np.zeros(len(weight))
    for _ in range(num_projections):
        sign = 2.0 * generator.integers(0, 2, len(weight)) - 1
        direction = incidence.T @ (np.sqrt(weight) * sign)
        solution, failed = cg(laplacian, direction, rtol=TOLERANCE, M=precondition)
        assert not failed
        resistance += (solution[one] - solution[other]) ** 2
    return resistance / num_projections


def _incidence(num_nodes: int, one: Array, other: Array) -> Any:
    """Rows e_a - e_b, [L, N]."""
    link = np.arange(len(one))
    sign = np.ones(len(one))
    return sparse.csr_array(
        (np.r_[sign, -sign], (np.r_[link, link], np.r_[one, other])),
        shape=(len(one), num_nodes),
    )


def _laplacian(incidence: Any, weight: Array) -> Any:
    """L = Bᵀ W B, [N, N]."""
    return (incidence.T @ (sparse.diags_array(weight) @ incidence)).tocsr()
