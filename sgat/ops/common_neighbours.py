"""Common neighbours: sums over the nodes next to both ends of a pair."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

NEIGHBOURS_AT_ONCE = 1 << 22
"""Neighbours that are looked up together."""


class Neighbours:
    """Who is next to whom, directions left aside.

    Args:
        dst: Target of each edge, [E].
        src: Source of each edge, [E].
        num_nodes: Number of nodes N.

    Attributes:
        degree: Number of neighbours of each node, [N].
    """

    def __init__(self, dst: Tensor, src: Tensor, num_nodes: int) -> None:
        self._size = max(num_nodes, 1)
        src, dst = src.long(), dst.long()
        # Sorted numbers node · N + neighbour.
        pairs = [src * self._size + dst, dst * self._size + src]
        self._key = torch.cat(pairs).unique()
        owner = torch.div(self._key, self._size, rounding_mode="floor")
        self._neighbour = self._key - owner * self._size
        self.degree = torch.bincount(owner, minlength=num_nodes)
        self._ptr = torch.cat([self.degree.new_zeros(1), self.degree.cumsum(0)])

    def sum_common(self, a: Tensor, b: Tensor, value: Tensor) -> Tensor:
        """Σ of values over the common neighbours of each pair, [P, F].

        It takes time about the sum over the pairs of the smaller degree of both. Summed
        in float64, so that the order of a device does not show.

        Args:
            a: One node of each pair, [P].
            b: The other, [P].
            value: Values of each node, [N, F].
        """
        a, b = a.long(), b.long()
        is_less = self.degree[a] <= self.degree[b]
        small, large = torch.where(is_less, a, b), torch.where(is_less, b, a)
        wide = value.detach().double()
        total = wide.new_zeros(len(a), value.shape[1])
        if total.is_cpu:
            from sgat.ops.cpu.common_neighbours import sum_common

            sum_common(self._ptr, self._neighbour, small, large, wide, total)
        else:
            self._add_common(small, large, wide, total)
        return total.to(value.dtype)

    def _add_common(
        self, small: Tensor, large: Tensor, value: Tensor, total: Tensor
    ) -> None:
        """The sums on any device: look every neighbour of one end up at the other."""
        for begin, end in _parts(self.degree[small]):
            length = self.degree[small[begin:end]]
            number = torch.repeat_interleave(
                torch.arange(begin, end, device=small.device), length
            )
            start = length.cumsum(0) - length
            within = torch.arange(len(number), device=small.device)
            within -= start[number - begin]
            other = self._neighbour[self._ptr[small[number]] + within]
            wanted = large[number] * self._size + other
            place = torch.searchsorted(self._key, wanted).clamp(max=len(self._key) - 1)
            is_common = self._key[place] == wanted
            total.index_add_(0, number[is_common], value[other[is_common]])


def _parts(work: Tensor) -> list[tuple[int, int]]:
    """Ranges of entries with about NEIGHBOURS_AT_ONCE work each, one entry at least."""
    if not len(work) or not bool(work.any()):
        return []
    part = torch.div(work.cumsum(0), NEIGHBOURS_AT_ONCE, rounding_mode="floor")
    bounds = [0, *(part.diff().nonzero().squeeze(1) + 1).tolist(), len(work)]
    return list(itertools.pairwise(bounds))
