"""Sums over the columns that two sparse rows have in common, such as neighbours."""

from typing import Any


def row_products(matrix: Any, a: Any, b: Any, value: Any) -> Any:
    """Σ_k m_ak m_bk value_k of pairs of rows of a SciPy matrix, float64 [P, F].

    The matrix is in compressed rows with sorted columns; `value` has a row for each of
    its columns, [K, F]. It takes time about the sum over the pairs of the smaller
    number of entries of both rows. On the CPU.
    """
    from sgat.ops.cpu.common_neighbours import row_products

    return row_products(matrix, a, b, value)
