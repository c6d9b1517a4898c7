"""Sums over the columns that two sparse rows share, by merging sorted lists."""

from typing import Any

import numpy as np

from sgat.ops import threads
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import Array

# Looking one node up in a list takes as long as walking over about so many.
LOOK_UP = 8
# Entries of a matrix that are filled at a time, a gigabyte.
FILLED = 1 << 27


@compiled
def row_products_kernel(
    first, last, ptr, neighbour, entry, weight, small, large, value, plain, total
):
    """total_p = Σ (m_sk m_lk value_k, plain_k) over the columns k of both, ascending.

    An entry m is that of the matrix, or the weight of which it is the number.
    """
    width = value.shape[1]
    for pair in range(first, last):
        i, i_end = ptr[small[pair]], ptr[small[pair] + 1]
        j, j_end = ptr[large[pair]], ptr[large[pair] + 1]
        looks_up = LOOK_UP * (i_end - i) < j_end - j
        while i < i_end and j < j_end:
            wanted = neighbour[i]
            if looks_up:
                j += np.searchsorted(neighbour[j:j_end], wanted)
            else:
                while j < j_end and neighbour[j] < wanted:
                    j += 1
            if j < j_end and neighbour[j] == wanted:
                if weight is None:
                    product = np.float64(entry[i]) * entry[j]
                else:
                    product = np.float64(weight[entry[i] - 1]) * weight[entry[j] - 1]
                for column in range(width):
                    total[pair, column] += product * value[wanted, column]
                for column in range(plain.shape[1]):
                    total[pair, width + column] += plain[wanted, column]
            i += 1


def row_products(
    matrix: Any, a: Any, b: Any, value: Any, weight: Any, plain: Any
) -> Array:
    """See `sgat.ops.common_neighbours.row_products`."""
    ptr, length = matrix.indptr, np.diff(matrix.indptr)
    is_less = length[a] <= length[b]
    small, large = np.where(is_less, a, b), np.where(is_less, b, a)
    value = np.ascontiguousarray(value, dtype=np.float64)
    if plain is None:
        plain = np.zeros((len(value), 0))
    total = np.zeros((len(a), value.shape[1] + plain.shape[1]))
    parts = threads.ranges(np.concatenate([[0], length[small].cumsum()]), LOOK_UP)
    given = ptr, matrix.indices, matrix.data, weight, small, large
    threads.run(row_products_kernel, parts, *given, value, plain, total)
    return total


@compiled
def find_entries_kernel(first, last, ptr, columns, row, column, place):
    """place_p = that of the column among those of the row, -1 if it has none such."""
    for pair in range(first, last):
        begin, end = ptr[row[pair]], ptr[row[pair] + 1]
        found = begin + np.searchsorted(columns[begin:end], column[pair])
        is_there = found < end and columns[found] == column[pair]
        place[pair] = found if is_there else -1


def find_entries(ptr: Any, columns: Any, row: Any, column: Any) -> Array:
    """See `sgat.ops.common_neighbours.find_entries`."""
    place = np.empty(len(row), dtype=np.int64)
    parts = threads.even_ranges(len(row), LOOK_UP)
    threads.run(find_entries_kernel, parts, ptr, columns, row, column, place)
    return place


@compiled
def fill_rows_kernel(first, last, low, high, place, columns, number):
    """Rows first … last get the other ends of their edges; place_i is the next of i.

    Of edges in order, the lower node first, the columns ascend.
    """
    for edge in range(len(low)):
        i, j = low[edge], high[edge]
        if first <= j < last:
            columns[place[j]], number[place[j]] = i, edge + 1
            place[j] += 1
        if first <= i < last:
            columns[place[i]], number[place[i]] = j, edge + 1
            place[i] += 1


def fill_rows(low: Any, high: Any, ptr: Any, columns: Any, number: Any) -> None:
    """See `sgat.ops.common_neighbours.fill_rows`."""
    place = ptr[:-1].copy()
    for first, last in threads.cut(ptr, -(-len(columns) // FILLED)):
        fill_rows_kernel(first, last, low, high, place, columns, number)
