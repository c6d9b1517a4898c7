"""Sums over the columns that two sparse rows have in common, such as neighbours.

A matrix in compressed rows is one of SciPy, or of `DeviceArray`s on a GPU.
"""

from typing import Any

import numpy as np

from sgat.ops.device_array import DeviceArray


def row_products(
    matrix: Any, a: Any, b: Any, value: Any, weight: Any = None, plain: Any = None
) -> Any:
    """Σ_k m_ak m_bk value_k of pairs of rows of a SciPy matrix, float64 [P, F].

    The matrix is in compressed rows with sorted columns; `value` has a row for each of
    its columns, [K, F]. With `weight` the entries are numbers from 1 of weights. More
    columns follow for `plain`, [K, G], Σ_k plain_k over the columns of both rows. It
    takes time about the sum over the pairs of the smaller number of entries of both
    rows.
    """
    if isinstance(a, DeviceArray):
        from sgat.ops.gpu.common_neighbours import row_products as on_gpu

        return on_gpu(matrix, a, b, value, weight, plain)
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.common_neighbours import LOOK_UP, row_products_kernel

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


def find_entries(ptr: Any, columns: Any, row: Any, column: Any) -> Any:
    """Where rows have these columns in a matrix in compressed rows, -1 where not, [P].

    `columns` are sorted within a row.
    """
    if isinstance(row, DeviceArray):
        from sgat.ops.gpu.common_neighbours import find_entries as on_gpu

        return on_gpu(ptr, columns, row, column)
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.common_neighbours import LOOK_UP, find_entries_kernel

    place = np.empty(len(row), dtype=np.int64)
    parts = threads.even_ranges(len(row), LOOK_UP)
    threads.run(find_entries_kernel, parts, ptr, columns, row, column, place)
    return place


def fill_rows(low: Any, high: Any, ptr: Any, columns: Any, number: Any) -> None:
    """Fill the rows of a symmetric matrix with the numbers of its edges, from 1.

    `ptr` says where each row begins. Columns ascend if the edges are in order, the
    lower node first. Of a large matrix some rows are filled at a time: writing here and
    there in more of them than memory holds would wait for the disk.
    """
    if isinstance(low, DeviceArray):
        from sgat.ops.gpu.common_neighbours import fill_rows as on_gpu

        on_gpu(low, high, columns, number)
        return
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.common_neighbours import FILLED, fill_rows_kernel

    place = ptr[:-1].copy()
    for first, last in threads.cut(ptr, -(-len(columns) // FILLED)):
        fill_rows_kernel(first, last, low, high, place, columns, number)


def row_sums(matrix: Any, columns: Any) -> Any:
    """A matrix in compressed rows times columns, [N, R]. On a GPU."""
    from sgat.ops.gpu.common_neighbours import row_sums as on_gpu

    return on_gpu(matrix, columns)
