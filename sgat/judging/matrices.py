"""Sparse matrices of a graph, for SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]


def adjacency(ends: Array, num_nodes: int, weight: Array) -> Any:
    """The symmetric matrix of undirected edges, [2, E], with sorted columns."""
    low, high = ends
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    entries = np.concatenate([weight, weight]), (rows, columns)
    return sparse.csr_array(entries, shape=(num_nodes, num_nodes))


def contains(matrix: Any, row: Array, column: Array) -> Array:
    """Whether a matrix has each of these entries, [P] bool."""
    found: Array = entries(matrix, row, column) != 0
    return found


def entries(matrix: Any, row: Array, column: Array) -> Array:
    """The entries of a matrix at these places, 0 where it has none, [P]."""
    width = matrix.shape[1]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    key = rows * width + matrix.indices
    wanted = row * width + column
    place = np.searchsorted(key, wanted).clip(max=max(len(key) - 1, 0))
    if not len(key):
        return np.zeros(len(row))
    return np.where(key[place] == wanted, matrix.data[place], 0.0)
