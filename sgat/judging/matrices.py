"""Sparse matrices of a graph, for SciPy."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from sgat.ops.blocks import ROWS
from sgat.ops.common_neighbours import find_entries

Array = np.ndarray[Any, Any]

AT_ONCE = 1 << 20
"""Edges, at least, that sums at nodes take at a time."""


class EdgeNumbers(NamedTuple):
    """Undirected edges, each once and in order: an edge is found by its ends."""

    ends: Array  # the lower node first, ascending, [2, E] int32
    ptr: Array  # edges of each lower node, [N + 1]

    @classmethod
    def of(cls, key: Array, num_nodes: int) -> Self:
        """The edges with different, ascending keys low · N + high."""
        ends = np.empty((2, len(key)), dtype=np.int32)
        for first in range(0, len(key), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            ends[:, part] = np.divmod(key[part], max(num_nodes, 1))
        count = np.bincount(ends[0], minlength=num_nodes)
        return cls(ends, np.concatenate([[0], count.cumsum()]))

    def find(self, a: Array, b: Array) -> Array:
        """The number of the edge between nodes, -1 if there is none, [P]."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        found: Array = find_entries(self.ptr, self.ends[1], low, high)
        return found


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


def chosen(numbers: Any, kept: Array, weight: Array) -> Any:
    """The matrix of some edges of a `numbered` one alone, [E] bool, with weights."""
    stays = kept[numbers.data - 1]
    number, indices = numbers.data[stays], numbers.indices[stays]
    # Sums over the rows; the number of entries before each would be as long as they.
    filled = np.diff(numbers.indptr).nonzero()[0]
    count = np.zeros(numbers.shape[0], dtype=numbers.indptr.dtype)
    if len(filled):
        count[filled] = np.add.reduceat(stays, numbers.indptr[filled], dtype=np.int32)
    indptr = np.concatenate([[0], count.cumsum(dtype=numbers.indptr.dtype)])
    return sparse.csr_array((weight[number - 1], indices, indptr), shape=numbers.shape)


def sums_at_ends(ends: Array, num_nodes: int, value: Array | None = None) -> Array:
    """Σ of the values of the edges at each node, [N]; their number without values."""
    total = np.zeros(num_nodes)
    # Each time takes a pass over the nodes.
    at_once = max(AT_ONCE, num_nodes)
    for first in range(0, ends.shape[1], at_once):
        part = slice(first, first + at_once)
        of_part = None if value is None else value[part]
        for end in ends[:, part]:
            total += np.bincount(end, weights=of_part, minlength=num_nodes)
    return total


def contains(matrix: Any, row: Array, column: Array) -> Array:
    """Whether a matrix has each of these entries, [P] bool."""
    found: Array = entries(matrix, row, column) != 0
    return found


def entries(matrix: Any, row: Array, column: Array) -> Array:
    """The entries of a matrix at these places, 0 where it has none, [P]."""
    place = find_entries(matrix.indptr, matrix.indices, row, column)
    found = np.zeros(len(place), dtype=matrix.data.dtype)
    found[place >= 0] = matrix.data[place[place >= 0]]
    return found


def products(rows: Array) -> Array:
    """Products of all pairs of columns of rows [N, R], summed in float64, [R, R]."""
    total = np.zeros((rows.shape[1],) * 2)
    for first in range(0, len(rows), ROWS):
        part = rows[first : first + ROWS].astype(float)
        total += part.T @ part
    return total
