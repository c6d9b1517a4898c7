"""Sums over the columns that two sparse rows have in common, by merging sorted lists.

Tested by tests/ops/test_common_neighbours.py.
"""

from typing import Any

import numpy as np

from sgat.ops.cpu import threads
from sgat.ops.cpu.lanes import compiled

Array = np.ndarray[Any, Any]

# Looking one node up in a list takes as long as walking over about so many.
LOOK_UP = 8


@compiled
def row_products_kernel(first, last, ptr, neighbour, entry, small, large, value, total):
    """total_p = Σ m_sk m_lk value_k over the columns k of both rows, ascending."""
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
                product = entry[i] * entry[j]
                for column in range(value.shape[1]):
                    total[pair, column] += product * value[wanted, column]
            i += 1


def row_products(matrix: Any, a: Array, b: Array, value: Array) -> Array:
    """See `sgat.ops.common_neighbours`."""
    ptr, length = matrix.indptr, np.diff(matrix.indptr)
    is_less = length[a] <= length[b]
    small, large = np.where(is_less, a, b), np.where(is_less, b, a)
    total = np.zeros((len(a), value.shape[1]))
    parts = threads.ranges(np.concatenate([[0], length[small].cumsum()]), LOOK_UP)
    pairs = (small, large, np.ascontiguousarray(value, dtype=np.float64), total)
    entries = matrix.indices, matrix.data.astype(np.float64, copy=False)
    threads.run(row_products_kernel, parts, ptr, *entries, *pairs)
    return total
