"""Example and KnownNodes: nodes whose class is known, here and in other graphs.

The number of a node means nothing in another graph, or in a part of this one. Its
features are the same wherever it stands, so known nodes are found again by them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.judging.matrices import slices

ENTRIES_AT_ONCE = 1 << 22
"""Entries of a feature matrix that are worked on together."""


class Example(NamedTuple):
    """A graph with features, and with labels as far as they may be looked at."""

    graph: Graph
    x: Features  # [N, K]
    label: Tensor  # class of each node, -1 where it is unknown, [N] int64

    @classmethod
    def of(
        cls,
        graph: Graph,
        x: Features,
        y: Tensor | None = None,
        train: Tensor | None = None,
    ) -> Example:
        """An example that knows the classes of training nodes, of all without `train`.

        Several labels per node, [N, C], leave all classes unknown.
        """
        return cls(graph, x, known_labels(graph, y, train))

    @property
    def known(self) -> Tensor:
        """Nodes whose class is known, [N] bool."""
        return self.label >= 0


def known_labels(graph: Graph, y: Tensor | None, train: Tensor | None) -> Tensor:
    """Class of each node that may be looked at, -1 of the others, [N] int64."""
    label = torch.full((graph.num_nodes,), -1, device=graph.device)
    if y is not None and y.dim() == 1:
        label = y.long() if train is None else torch.where(train, y.long(), label)
    return label


class KnownNodes(NamedTuple):
    """A table of nodes whose class is known."""

    fingerprint: Tensor  # ascending, [T] int64
    label: Tensor  # [T] int64

    @classmethod
    def of(cls, x: Features, y: Tensor, known: Tensor) -> KnownNodes:
        """The nodes with features of their own whose class may be looked at.

        Nodes that share their features, or have none, are left out.
        """
        fingerprint = fingerprints(x)
        kept = known & _is_single(fingerprint)
        found, order = fingerprint[kept].sort()
        return cls(found, y[kept][order])

    def labels(self, x: Features) -> Tensor:
        """Class of each node that is known, -1 of the others, [N].

        A node is known if its features are those of a node of the table, to the bit in
        single precision, and those of no other node here.
        """
        fingerprint = fingerprints(x)
        unknown = torch.full_like(fingerprint, -1)
        if not len(self.fingerprint):
            return unknown
        place = torch.searchsorted(self.fingerprint, fingerprint)
        place = place.clamp(max=len(self.fingerprint) - 1)
        is_known = (self.fingerprint[place] == fingerprint) & _is_single(fingerprint)
        return torch.where(is_known, self.label[place], unknown)


def fingerprints(x: Features) -> Tensor:
    """A number for each row of features, [N] int64.

        Σ_k mix(k, bits of x_ik)     over entries that are not 0, modulo 2⁶⁴

    Sums of whole numbers do not depend on their order, so dense and sparse features
    have the same on every device.
    """
    if isinstance(x, SparseFeatures):
        total = x.column.new_zeros(len(x.column) + 1)
        for part in slices(len(x.column), ENTRIES_AT_ONCE):
            total[1:][part] = _mixed(x.column[part], x.value[part])
        return total.cumsum(0)[x.row_ptr].diff()
    column = torch.arange(x.shape[1], device=x.device)
    parts = x.split(max(ENTRIES_AT_ONCE // max(x.shape[1], 1), 1))
    return torch.cat([_mixed(column, part).sum(dim=1) for part in parts])


def _mixed(column: Tensor, value: Tensor) -> Tensor:
    """A scattered number for each entry, 0 for an entry of 0, int64."""
    bits = value.detach().float().view(torch.int32).long() & 0xFFFFFFFF
    # The finaliser of SplitMix64; products wrap around.
    mixed = (column << 32) | bits
    mixed = (mixed ^ _shifted(mixed, 30)) * -0x40A7B892E31B1A47
    mixed = (mixed ^ _shifted(mixed, 27)) * -0x6B2FB644ECCEEE15
    return torch.where(value != 0, mixed ^ _shifted(mixed, 31), 0)


def _shifted(number: Tensor, places: int) -> Tensor:
    """Bits moved right, with zeros from the left: torch would repeat the sign."""
    return (number >> places) & ((1 << (64 - places)) - 1)


def _is_single(fingerprint: Tensor) -> Tensor:
    """Whether no other node has it, nor is it that of no features, [N] bool."""
    number, place, count = fingerprint.unique(return_inverse=True, return_counts=True)
    is_single: Tensor = (number != 0) & (count == 1)
    return is_single[place]
