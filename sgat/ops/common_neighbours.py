"""Common neighbours: sums over the nodes next to both ends of a pair."""

import itertools
from typing import Any

import torch
from torch import Tensor

from sgat.graph import Graph

NEIGHBOURS_AT_ONCE = 1 << 22
"""Neighbours that are looked up together."""


def sum_common(graph: Graph, a: Tensor, b: Tensor, value: Tensor) -> Tensor:
    """Σ of node values [N, F] over the common neighbours of each pair (a, b), [P, F].

    The graph is undirected. It takes time about the sum over the pairs of the smaller
    degree of both. Summed in float64, so that the order of a device does not show.
    """
    a, b = a.long(), b.long()
    degree = graph.row_ptr.diff()
    is_less = degree[a] <= degree[b]
    small, large = torch.where(is_less, a, b), torch.where(is_less, b, a)
    wide = value.detach().double()
    total = wide.new_zeros(len(a), value.shape[1])
    if total.is_cpu:
        from sgat.ops.cpu.common_neighbours import add_common

        add_common(graph, small, large, wide, total)
    else:
        add_common_by_look_up(graph, small, large, wide, total)
    return total.to(value.dtype)


def row_products(matrix: Any, a: Any, b: Any, value: Any) -> Any:
    """Σ_k m_ak m_bk value_k of pairs of rows of a SciPy matrix, float64 [P, F].

    The matrix is in compressed rows with sorted columns; `value` has a row for each of
    its columns, [K, F]. On the CPU.
    """
    from sgat.ops.cpu.common_neighbours import row_products

    return row_products(matrix, a, b, value)


def add_common_by_look_up(
    graph: Graph, small: Tensor, large: Tensor, value: Tensor, total: Tensor
) -> None:
    """Add the sums on any device: look every neighbour of one end up at the other."""
    degree = graph.row_ptr.diff()
    for begin, end in _parts(degree[small]):
        length = degree[small[begin:end]]
        number = torch.repeat_interleave(
            torch.arange(begin, end, device=small.device), length
        )
        start = length.cumsum(0) - length
        within = torch.arange(len(number), device=small.device)
        within -= start[number - begin]
        other = graph.src[graph.row_ptr[small[number]] + within]
        is_common = graph.find(other, large[number]) >= 0
        total.index_add_(0, number[is_common], value[other[is_common]])


def _parts(work: Tensor) -> list[tuple[int, int]]:
    """Ranges of entries with about NEIGHBOURS_AT_ONCE work each, one entry at least."""
    if not len(work) or not bool(work.any()):
        return []
    part = torch.div(work.cumsum(0), NEIGHBOURS_AT_ONCE, rounding_mode="floor")
    bounds = [0, *(part.diff().nonzero().squeeze(1) + 1).tolist(), len(work)]
    return list(itertools.pairwise(bounds))
