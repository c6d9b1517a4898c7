"""Sparse matrices of a graph: those of SciPy, or their like on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy import sparse

from sgat.ops.blocks import ROWS, block_rows, empty
from sgat.ops.common_neighbours import fill_rows, find_entries, row_sums
from sgat.ops.device_array import DeviceArray, host, on_device

Array = np.ndarray[Any, Any]

AT_ONCE, AT_ONCE_ON_GPU = 1 << 20, 1 << 24
"""Edges, at least, that sums at nodes take at a time."""
UNIT = 2.0**-36
"""On a GPU sums at nodes are of whole numbers of this size: in any order the same."""


class Compressed(NamedTuple):
    """A matrix in compressed rows on a GPU, with the names that SciPy has."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]


def compressed(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """The matrix in compressed rows, where its numbers are."""
    if isinstance(data, DeviceArray):
        return Compressed(data, indices.astype(np.int32, copy=False), indptr, shape)
    return sparse.csr_array((data, indices, indptr), shape)


class EdgeNumbers(NamedTuple):
    """Undirected edges, each once and in order: an edge is found by its ends."""

    ends: Array  # the lower node first, ascending, [2, E] int32
    ptr: Array  # edges of each lower node, [N + 1]

    @classmethod
    def of(cls, key: Array, num_nodes: int) -> Self:
        """The edges with different, ascending keys low · N + high."""
        ends = empty((2, len(key)), np.int32)
        for part in parts(len(key)):
            ends[0, part], ends[1, part] = np.divmod(key[part], max(num_nodes, 1))
        return cls(ends, _row_ptr(ends[:1], num_nodes))

    def find(self, a: Array, b: Array) -> Array:
        """The number of the edge between nodes, -1 if there is none, [P]."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        found: Array = find_entries(self.ptr, self.ends[1], low, high)
        return found


def numbered(ends: Array, num_nodes: int) -> Any:
    """The symmetric matrix of undirected edges, [2, E], with sorted columns.

    Its entries are the numbers of the edges, from 1, in int32.
    """
    ptr = _row_ptr(ends, num_nodes)
    columns, number = (empty(int(ptr[-1]), np.int32) for _ in range(2))
    fill_rows(ends[0], ends[1], ptr, columns, number)
    if ptr[-1] < 1 << 31:
        # SciPy would make longer columns, too, in memory.
        ptr = ptr.astype(np.int32)
    matrix = compressed(number, columns, ptr, (num_nodes, num_nodes))
    if not isinstance(ends, DeviceArray):
        # Edges in order need no sorting, and this takes one look.
        matrix.sort_indices()
    return matrix


def _row_ptr(ends: Array, num_nodes: int) -> Array:
    """Where the entries of each node begin, and where the last ones end, [N + 1]."""
    return _bounds(sums_at_ends(ends, num_nodes).astype(np.int64))


def _bounds(count: Array) -> Array:
    """Where rows with so many entries begin, and where the last one ends, [N + 1]."""
    return np.concatenate(
        [np.zeros(1, count.dtype), np.cumsum(count, dtype=count.dtype)]
    )


def weighted(numbers: Any, weight: Array) -> Any:
    """The matrix of the edges of a `numbered` one with these weights; rows are shared.

    So the edges are put in order once, which takes more time and memory than any use.
    """
    data = empty(len(numbers.data), weight.dtype)
    for part in parts(len(data)):
        data[part] = weight[numbers.data[part] - 1]
    return compressed(data, numbers.indices, numbers.indptr, numbers.shape)


def chosen(numbers: Any, ends: Array, kept: Array, weight: Array) -> Any:
    """The matrix of some edges of a `numbered` one alone, [E] bool, with weights."""
    count = sums_at_ends(ends, numbers.shape[0], kept).astype(numbers.indptr.dtype)
    indptr = _bounds(count)
    data = empty(int(indptr[-1]), weight.dtype)
    indices, end = empty(len(data), numbers.indices.dtype), 0
    for part in parts(len(numbers.data)):
        number = numbers.data[part] - 1
        stays = kept[number]
        first, end = end, end + int(stays.sum())
        indices[first:end] = numbers.indices[part][stays]
        data[first:end] = weight[number[stays]]
    return compressed(data, indices, indptr, numbers.shape)


def product(matrix: Any, columns: Array) -> Array:
    """A matrix in compressed rows times columns, [N, R], on two threads or a GPU."""
    if isinstance(matrix, Compressed):
        found: Array = row_sums(matrix, columns)
        return found
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


def slices(length: int, at_once: int) -> Iterator[slice]:
    """So many rows, some at a time."""
    return (slice(k, min(k + at_once, length)) for k in range(0, length, at_once))


def parts(length: int) -> Iterator[slice]:
    """Edges, as many at a time as sums take."""
    return slices(length, block_rows(AT_ONCE, AT_ONCE_ON_GPU))


def sums_at_ends(ends: Array, num_nodes: int, value: Array | None = None) -> Array:
    """Σ of the values of the edges at each node, [N]; their number without values.

    Values are from 0 to 1.
    """
    if isinstance(ends, DeviceArray):
        return _sums_on_gpu(ends, num_nodes, value)
    total = np.zeros(num_nodes)
    # Each time takes a pass over the nodes.
    for part in slices(ends.shape[1], max(AT_ONCE, num_nodes)):
        of_part = None if value is None else value[part]
        for end in ends[:, part]:
            total += np.bincount(end, weights=of_part, minlength=num_nodes)
    return total


def _sums_on_gpu(ends: DeviceArray, num_nodes: int, value: Array | None) -> Any:
    total = ends.tensor.new_zeros(num_nodes, dtype=torch.int64)
    one = total.new_ones(1)
    for part in parts(ends.shape[1]):
        if value is not None:
            one = (on_device(value[part], total.device) / UNIT).round().long()
        for end in ends.tensor[:, part]:
            total.index_add_(0, end, one.expand(len(end)))
    return DeviceArray(total * (1.0 if value is None else UNIT))


def contains(matrix: Any, row: Array, column: Array) -> Array:
    """Whether a matrix has each of these entries, [P] bool."""
    found: Array = entries(matrix, row, column) != 0
    return found


def entries(matrix: Any, row: Array, column: Array) -> Array:
    """The entries of a matrix at these places, 0 where it has none, [P]."""
    place = find_entries(matrix.indptr, matrix.indices, row, column)
    found: Array = np.zeros_like(place, dtype=matrix.data.dtype)
    found[place >= 0] = matrix.data[place[place >= 0]]
    return found


def products(rows: Array) -> Array:
    """Products of all pairs of columns of rows [N, R], summed in float64, [R, R]."""
    if isinstance(rows, DeviceArray):
        wide = rows.astype(float)
        return host(wide.T @ wide)
    total = np.zeros((rows.shape[1],) * 2)
    for part in slices(len(rows), ROWS):
        wide = rows[part].astype(float)
        total += wide.T @ wide
    return total
