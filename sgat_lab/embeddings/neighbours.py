"""Neighbours of every node, directions left aside, for the embeddings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sgat.graph import Graph

Array = NDArray[np.float64]
Integers = NDArray[np.signedinteger[Any]]


class NeighbourLists(NamedTuple):
    """The neighbours of every node.

    Attributes:
        ptr: Neighbours of node i stand at positions ptr[i] to ptr[i + 1], [N + 1].
        neighbour: Neighbours of each node, ascending.
    """

    ptr: Integers
    neighbour: Integers

    @property
    def degree(self) -> Integers:
        """Number of neighbours of each node, [N]."""
        return np.diff(self.ptr)

    @property
    def matrix(self) -> csr_array:
        """Ones where two nodes are linked, [N, N]."""
        size = len(self.ptr) - 1
        ones = np.ones(len(self.neighbour), dtype=np.int8)
        return csr_array((ones, self.neighbour, self.ptr), (size, size))


def neighbours_of(graph: Graph) -> NeighbourLists:
    """The neighbours in a graph, without weights, directions and self-loops."""
    both = graph.undirected()
    ptr, neighbour = both.row_ptr, both.src.long()
    return NeighbourLists(ptr.numpy(force=True), neighbour.numpy(force=True))
