"""Sums over the columns that two sparse rows have in common, such as neighbours.

A matrix in compressed rows is one of SciPy, or of `DeviceArray`s on a GPU.
"""

from typing import Any

from sgat.ops.device_array import kernels


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
    where = kernels("common_neighbours", a)
    return where.row_products(matrix, a, b, value, weight, plain)


def find_entries(ptr: Any, columns: Any, row: Any, column: Any) -> Any:
    """Where rows have these columns in a matrix in compressed rows, -1 where not, [P].

    `columns` are sorted within a row.
    """
    return kernels("common_neighbours", row).find_entries(ptr, columns, row, column)


def fill_rows(low: Any, high: Any, ptr: Any, columns: Any, number: Any) -> None:
    """Fill the rows of a symmetric matrix with the numbers of its edges, from 1.

    `ptr` says where each row begins. Columns ascend if the edges are in order, the
    lower node first. Of a large matrix some rows are filled at a time: writing here and
    there in more of them than memory holds would wait for the disk.
    """
    kernels("common_neighbours", low).fill_rows(low, high, ptr, columns, number)


def row_sums(matrix: Any, columns: Any) -> Any:
    """A matrix in compressed rows times columns, [N, R]. On a GPU."""
    return kernels("common_neighbours", columns).row_sums(matrix, columns)
