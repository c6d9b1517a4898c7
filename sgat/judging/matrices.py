"""Sparse matrices of a graph, for SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from sgat.ops.blocks import ROWS, empty
from sgat.ops.common_neighbours import fill_rows, find_entries

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
        ends = empty((2, len(key)), np.int32)
        for part in parts(len(key)):
            ends[:, part] = np.divmod(key[part], max(num_nodes, 1))
        return cls(ends, _row_ptr(ends[:1], num_nodes))

    def find(self, a: Array, b: Array) -> Array:
        """The number of the edge between nodes, -1 if there is none, [P]."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        found: Array = find_entries(self.ptr, self.ends[1], low, high)
        return found


def adjacency(ends: Array, num_nodes: int, weight: Array) -> Any:
    """The symmetric matrix of undirected edges, [2, E], with sorted columns."""
    return weighted(numbered(ends, num_nodes), weight)


def numbered(ends: Array, num_nodes: int) -> Any:
    """The matrix whose entries are the numbers of the edges, from 1, in int32."""
    ptr = _row_ptr(ends, num_nodes)
    columns, number = (empty(int(ptr[-1]), np.int32) for _ in range(2))
    fill_rows(ends[0], ends[1], ptr, columns, number)
    if ptr[-1] < 1 << 31:
        # SciPy would make longer columns, too, in memory.
        ptr = ptr.astype(np.int32)
    matrix = sparse.csr_array((number, columns, ptr), shape=(num_nodes, num_nodes))
    # Edges in order need no sorting, and this takes one look.
    matrix.sort_indices()
    return matrix


def _row_ptr(ends: Array, num_nodes: int) -> Array:
    """Where the entries of each node begin, and where the last ones end, [N + 1]."""
    count = sums_at_ends(ends, num_nodes).astype(np.int64)
    return np.concatenate([[0], count.cumsum()])


def weighted(numbers: Any, weight: Array) -> Any:
    """The matrix of the edges of a `numbered` one with these weights; rows are shared.

    So the edges are put in order once, which takes more time and memory than any use.
    """
    data = empty(len(numbers.data), weight.dtype)
    for part in parts(len(data)):
        data[part] = weight[numbers.data[part] - 1]
    return sparse.csr_array((data, numbers.indices, numbers.indptr), numbers.shape)


def chosen(numbers: Any, ends: Array, kept: Array, weight: Array) -> Any:
    """The matrix of some edges of a `numbered` one alone, [E] bool, with weights."""
    count = sums_at_ends(ends, numbers.shape[0], kept).astype(numbers.indptr.dtype)
    indptr = np.concatenate([[0], count.cumsum(dtype=count.dtype)])
    data = empty(int(indptr[-1]), weight.dtype)
    indices, end = empty(len(data), numbers.indices.dtype), 0
    for part in parts(len(numbers.data)):
        number = numbers.data[part] - 1
        stays = kept[number]
        first, end = end, end + int(stays.sum())
        indices[first:end] = numbers.indices[part][stays]
        data[first:end] = weight[number[stays]]
    return sparse.csr_array((data, indices, indptr), shape=numbers.shape)


def product(matrix: Any, columns: Array) -> Array:
    """A matrix in compressed rows times columns, [N, R], on two threads."""
    rows, ptr = len(columns), matrix.indptr
    bounds = [0, int(np.searchsorted(ptr, ptr[-1] // 2)), rows]
    found = np.empty(columns.shape, dtype=np.result_type(matrix.data, columns))

    def work(half: int) -> None:
        first, last = bounds[half : half + 2]
        own = slice(ptr[first], ptr[last])
        entry = matrix.data[own], matrix.indices[own], ptr[first : last + 1] - own.start
        part = sparse.csr_array(entry, shape=(last - first, matrix.shape[1]))
        found[first:last] = part @ columns

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, range(2)))
    return found


def parts(length: int) -> Iterator[slice]:
    """Rows, some at a time."""
    return (slice(k, k + AT_ONCE) for k in range(0, length, AT_ONCE))


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
