"""Sparse matrices of a graph, for SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sgat.ops.blocks import ROWS

Array = np.ndarray[Any, Any]


def adjacency(ends: Array, num_nodes: int, weight: Array) -> Any:
    """The symmetric matrix of undirected edges, [2, E], with sorted columns."""
    low, high = ends
    # Ordered edges are then in order within each row already.
    rows, columns = np.concatenate([high, low]), np.concatenate([low, high])
    entries = np.concatenate([weight, weight]), (rows, columns)
    return sparse.csr_array(entries, shape=(num_nodes, num_nodes))


def numbered(ends: Array, num_nodes: int) -> Any:
    """The matrix whose entries are the numbers of the edges, from 1, in int32."""
    return adjacency(ends, num_nodes, np.arange(1, ends.shape[1] + 1, dtype=np.int32))


def weighted(numbers: Any, weight: Array) -> Any:
    """The matrix of the edges of a `numbered` one with these weights; rows are shared.

    So the edges are put in order once, which takes more time and memory than any use.
    """
    parts = weight[numbers.data - 1], numbers.indices, numbers.indptr
    return sparse.csr_array(parts, shape=numbers.shape)


def chosen(numbers: Any, kept: Array) -> Any:
    """The `numbered` matrix of some edges alone, [E] bool, numbered anew."""
    stays = kept[numbers.data - 1]
    before = np.concatenate([[0], stays.cumsum(dtype=numbers.indptr.dtype)])
    number = kept.cumsum(dtype=np.int32)[numbers.data[stays] - 1]
    parts = number, numbers.indices[stays], before[numbers.indptr]
    return sparse.csr_array(parts, shape=numbers.shape)


def contains(matrix: Any, row: Array, column: Array) -> Array:
    """Whether a matrix has each of these entries, [P] bool."""
    found: Array = entries(matrix, row, column) != 0
    return found


def entries(matrix: Any, row: Array, column: Array) -> Array:
    """The entries of a matrix at these places, 0 where it has none, [P]."""
    low, high = (matrix.indptr[row + k].astype(np.int64) for k in (0, 1))
    end, most = high, max(len(matrix.indices) - 1, 0)
    if not len(matrix.indices):
        return np.zeros(len(row))
    # The columns of a row are sorted: each step halves where an entry may be.
    while (low < high).any():
        middle = (low + high) // 2
        is_below = (low < high) & (matrix.indices[middle.clip(max=most)] < column)
        low, high = (
            np.where(is_below, middle + 1, low),
            np.where(is_below, high, middle),
        )
    place = low.clip(max=most)
    is_there = (low < end) & (matrix.indices[place] == column)
    return np.where(is_there, matrix.data[place], 0.0)


def products(rows: Array) -> Array:
    """Products of all pairs of columns of rows [N, R], summed in float64, [R, R]."""
    total = np.zeros((rows.shape[1],) * 2)
    for first in range(0, len(rows), ROWS):
        part = rows[first : first + ROWS].astype(float)
        total += part.T @ part
    return total
