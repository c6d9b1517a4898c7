"""Edges in rows, by target and by source, and what the loops over them are given.

Tested by tests/lab/unseen/attention/test_operation.py.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

SLOPE = 0.2
"""Slope of the LeakyReLU below 0."""


class EdgeRows(NamedTuple):
    """Edges in rows: by target, or by source."""

    ptr: Tensor  # edges of row i stand at ptr[i] to ptr[i + 1], [N + 1] int64
    column: Tensor  # the other end of each edge, [E] int32
    edge: Tensor  # its position among the edges that were given, [E] int32
    order: Tensor  # rows, those with most edges first, [N] int32

    @classmethod
    def of(cls, row: Tensor, column: Tensor, num_nodes: int) -> EdgeRows:
        """The edges with these ends, in their order within a row."""
        edge = torch.argsort(row, stable=True)
        count = torch.bincount(row, minlength=num_nodes)
        ptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
        # Rows that take long begin first, so that none is left at the end.
        order = torch.argsort(count, descending=True, stable=True)
        return cls(ptr, column[edge].int(), edge.int(), order.int())


class AttentionEdges(NamedTuple):
    """The edges that attention goes over, loops included if it has any."""

    targets: EdgeRows
    sources: EdgeRows

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> AttentionEdges:
        """Edges src → dst, [2, E], duplicates counted as often as they are given."""
        src, dst = edge_index
        return cls(
            EdgeRows.of(dst, src, num_nodes),
            EdgeRows.of(src, dst, num_nodes),
        )

    @property
    def num_edges(self) -> int:
        """Number of edges E."""
        return len(self.targets.column)


class AttendInputs(NamedTuple):
    """Inputs of the loops, all contiguous."""

    x: Tensor  # [N, H, D]
    src_score: Tensor  # [N, H]
    dst_score: Tensor  # [N, H]
    kept: Tensor | None  # [E, H]
    edges: AttentionEdges
    with_products: bool
