"""Products of the vectors of two nodes, and of the means of their neighbours."""

from typing import Any

from sgat.ops.device_array import kernels


def pair_products(left: Any, right: Any, a: Any, b: Any, scale: Any = 1.0) -> Any:
    """Σ_k left_ak right_bk scale_k of pairs of rows, [P], in their type."""
    return kernels("pair_products", left).pair_products(left, right, a, b, scale)


def mean_products(u: Any, total: Any, strength: Any, one: Any, other: Any) -> Any:
    """Products of vectors u and means m of pairs (a, b), in the type of u, [P, 3].

        u_a · m_b + u_b · m_a,   m_a · m_b,   cosine of m_a and m_b
        m_a = (total_a - lost_a u_out) / (strength_a - lost_a + 1)

    `one` and `other` are the ends: node, neighbour `out` left out of its mean and the
    weight lost with it, each [P]. `total` is the sum of the neighbours by weight and
    `strength` that of the weights. A mean without neighbours is 0.
    """
    where = kernels("pair_products", u)
    return where.mean_products(u, total, strength, one, other)
