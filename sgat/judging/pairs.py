"""Pairs of nodes that an edge is compared with: what would a wrong edge join?

Two sources of wrong edges, which between them lie most others:

    any       both ends are any nodes that have an edge
    swapped   the edges (a, x) and (b, y) swap ends: (a, b), without these two edges

An edge counts as left out of its own surroundings, and so do the two of a swapped pair.
So the surroundings of a wrong edge look like those of a pair from its source.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sgat.judging.matrices import contains, numbered

Array = np.ndarray[Any, Any]

FEWEST, MOST = 2_000, 60_000
"""Pairs of each source."""


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Edges first, then swapped pairs, then pairs of any nodes.

    Beside each end stands the neighbour that is left out there, and the edge to it; of
    pairs of any nodes nothing is left out.
    """

    a: Array  # [P] int32, as all numbers of nodes and edges
    b: Array  # [P]
    out_a: Array  # neighbour of a that is left out, [P]
    out_b: Array  # [P]
    edge_a: Array  # number of the edge (a, out_a), [P]
    edge_b: Array  # [P]
    is_out: Array  # whether anything is left out, 1 or 0, [P] float32
    edges: slice
    swapped: slice
    any: slice
    numbers: Any  # the matrix of the edges, see `numbered`

    @classmethod
    def of(cls, ends: Array, num_nodes: int, rng: np.random.Generator) -> Pairs:
        """Draw pairs for undirected edges, [2, E], each once."""
        count = ends.shape[1]
        number = min(max(4 * count, FEWEST), MOST)
        numbers = numbered(ends, num_nodes)
        one, other = rng.integers(0, count, (2, number))
        side, back = rng.integers(0, 2, (2, number))
        a, out_a = ends[side, one], ends[1 - side, one]
        b, out_b = ends[back, other], ends[1 - back, other]
        free = (one != other) & (a != b) & ~contains(numbers, a, b)
        swapped = [part[free] for part in (a, b, out_a, out_b, one, other)]
        # Nodes without edges, which a table of nodes may be full of, would make any
        # edge look right beside a pair.
        linked = np.flatnonzero(np.bincount(ends.ravel(), minlength=num_nodes))
        c, d = linked[rng.integers(0, len(linked), (2, number))]
        free = (c != d) & ~contains(numbers, c, d)
        nothing = np.zeros(int(free.sum()), dtype=np.int64)
        loose = [c[free], d[free], *(nothing,) * 4]
        own = np.arange(count)
        edges = [ends[0], ends[1], ends[1], ends[0], own, own]
        joined = [
            np.concatenate(part, dtype=np.int32)
            for part in zip(edges, swapped, loose, strict=True)
        ]
        first, second = count, count + len(swapped[0])
        is_out = np.ones(len(joined[0]), dtype=np.float32)
        is_out[second:] = 0
        a, b, out_a, out_b, edge_a, edge_b = joined
        bounds = slice(0, first), slice(first, second), slice(second, None)
        return cls(a, b, out_a, out_b, edge_a, edge_b, is_out, *bounds, numbers)
