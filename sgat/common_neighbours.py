"""Common neighbours: sums over the nodes next to both ends of a pair."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor

from sgat.graph import Graph

NEIGHBOURS_AT_ONCE = 1 << 22
"""Neighbours that are looked up together."""


class Neighbours:
    """Who is next to whom, directions left aside.

    Args:
        graph: The edges.

    Attributes:
        degree: Number of neighbours of each node, [N].
    """

    def __init__(self, graph: Graph) -> None:
        self._size = max(graph.num_nodes, 1)
        src, dst = graph.src.long(), graph.dst.long()
        # Sorted numbers node · N + neighbour.
        pairs = [src * self._size + dst, dst * self._size + src]
        self._key = torch.cat(pairs).unique()
        owner = torch.div(self._key, self._size, rounding_mode="floor")
        self._neighbour = self._key - owner * self._size
        self.degree = torch.bincount(owner, minlength=graph.num_nodes)
        self._first = self.degree.cumsum(0) - self.degree

    def sum_common(self, a: Tensor, b: Tensor, value: Tensor) -> Tensor:
        """Σ of values over the common neighbours of each pair, [P, F].

        It takes time about the sum over the pairs of the smaller degree of both.

        Args:
            a: One node of each pair, [P].
            b: The other, [P].
            value: Values of each node, [N, F].
        """
        a, b = a.long(), b.long()
        total = value.new_zeros(len(a), value.shape[1])
        if not len(self._key):
            return total
        is_less = self.degree[a] <= self.degree[b]
        small, large = torch.where(is_less, a, b), torch.where(is_less, b, a)
        for begin, end in _parts(self.degree[small]):
            length = self.degree[small[begin:end]]
            number = torch.repeat_interleave(
                torch.arange(begin, end, device=a.device), length
            )
            start = length.cumsum(0) - length
            within = torch.arange(len(number), device=a.device) - start[number - begin]
            other = self._neighbour[self._first[small[number]] + within]
            wanted = large[number] * self._size + other
            place = torch.searchsorted(self._key, wanted).clamp(max=len(self._key) - 1)
            is_common = self._key[place] == wanted
            total.index_add_(0, number[is_common], value[other[is_common]])
        return total


def _parts(work: Tensor) -> Iterator[tuple[int, int]]:
    """Ranges of entries with about NEIGHBOURS_AT_ONCE work each, one entry at least."""
    if not len(work):
        return iter(())
    part = torch.div(work.cumsum(0), NEIGHBOURS_AT_ONCE, rounding_mode="floor")
    bounds = [0, *(part.diff().nonzero().squeeze(1) + 1).tolist(), len(work)]
    return itertools.pairwise(bounds)
