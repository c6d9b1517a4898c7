"""Sums over the columns that two sparse rows have in common, such as neighbours."""

from typing import Any


def row_products(
    matrix: Any, a: Any, b: Any, value: Any, weight: Any = None, plain: Any = None
) -> Any:
    """Σ_k m_ak m_bk value_k of pairs of rows of a SciPy matrix, float64 [P, F].

    The matrix is in compressed rows with sorted columns; `value` has a row for each of
    its columns, [K, F]. With `weight` the entries are numbers from 1 of weights. More
    columns follow for `plain`, [K, G], Σ_k plain_k over the columns of both rows. It
    takes time about the sum over the pairs of the smaller number of entries of both
    rows. On the CPU.
    """
    from sgat.ops.cpu.common_neighbours import row_products

    return row_products(matrix, a, b, value, weight, plain)


def find_entries(ptr: Any, columns: Any, row: Any, column: Any) -> Any:
    """Where rows have these columns in a matrix in compressed rows, -1 where not, [P].

    `columns` are sorted within a row. On the CPU.
    """
    from sgat.ops.cpu.common_neighbours import find_entries

    return find_entries(ptr, columns, row, column)
