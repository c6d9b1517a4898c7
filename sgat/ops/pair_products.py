"""Products of the vectors of two nodes, and of the means of their neighbours."""

from typing import Any

import numpy as np

from sgat.ops.device_array import DeviceArray


def pair_products(left: Any, right: Any, a: Any, b: Any, scale: Any = 1.0) -> Any:
    """Σ_k left_ak right_bk scale_k of pairs of rows, [P], in their type."""
    if isinstance(left, DeviceArray):
        from sgat.ops.gpu.pair_products import pair_products as on_gpu

        return on_gpu(left, right, a, b, scale)
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.pair_products import pair_products_kernel

    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    scale = np.broadcast_to(np.asarray(scale, left.dtype), left.shape[1:]).copy()
    found = np.empty(len(a), dtype=left.dtype)
    parts = threads.even_ranges(len(a), left.shape[1])
    threads.run(pair_products_kernel, parts, left, right, scale, a, b, found)
    return found


def mean_products(u: Any, total: Any, strength: Any, one: Any, other: Any) -> Any:
    """Products of vectors u and means m of pairs (a, b), in the type of u, [P, 3].

        u_a · m_b + u_b · m_a,   m_a · m_b,   cosine of m_a and m_b
        m_a = (total_a - lost_a u_out) / (strength_a - lost_a + 1)

    `one` and `other` are the ends: node, neighbour `out` left out of its mean and the
    weight lost with it, each [P]. `total` is the sum of the neighbours by weight and
    `strength` that of the weights. A mean without neighbours is 0.
    """
    if isinstance(u, DeviceArray):
        from sgat.ops.gpu.pair_products import mean_products as on_gpu

        return on_gpu(u, total, strength, one, other)
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.pair_products import mean_products_kernel

    u, total = np.ascontiguousarray(u), np.ascontiguousarray(total)
    found = np.empty((len(one[0]), 3), dtype=u.dtype)
    parts = threads.even_ranges(len(found), 4 * u.shape[1])
    given = u, total, strength, *one, *other, found
    threads.run(mean_products_kernel, parts, *given)
    return found
