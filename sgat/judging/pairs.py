"""Pairs of nodes that an edge is compared with: what would a wrong edge join?

Two sources of wrong edges, which between them lie most others:

    any       both ends are any nodes that have an edge
    swapped   the edges (a, x) and (b, y) swap ends: (a, b), without these two edges

An edge counts as left out of its own surroundings, and so do the two of a swapped pair.
So the surroundings of a wrong edge look like those of a pair from its source.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sgat.judging.matrices import contains, sums_at_ends
from sgat.ops.blocks import numbers_from, placed

Array = np.ndarray[Any, Any]

FEWEST, MOST = 2_000, 60_000
"""Pairs of each source."""


class Pairs(NamedTuple):
    """Pairs of one kind.

    Beside each end stands the neighbour that is left out there, and the edge to it; of
    pairs of any nodes nothing is left out. Edges come before swapped pairs, and these
    before pairs of any nodes, in all that is kept for each.
    """

    a: Array  # [P] int32, as all numbers of nodes and edges
    b: Array  # [P]
    out_a: Array  # neighbour of a that is left out, [P]
    out_b: Array  # [P]
    edge_a: Array  # number of the edge (a, out_a), [P]
    edge_b: Array  # [P]
    place: Any  # among all pairs, a slice or numbers
    is_out: bool = True  # whether anything is left out

    @classmethod
    def of_edges(cls, ends: Array, rows: slice | Array) -> Pairs:
        """Some undirected edges of [2, E] as pairs, each without itself."""
        a, b = ends[:, rows]
        if isinstance(rows, slice):
            edge = numbers_from(rows.start, len(a))
        else:
            edge = placed(rows.astype(np.int32))
        return cls(a, b, b, a, edge, edge, rows)

    @classmethod
    def loose(cls, a: Array, b: Array, first: int) -> Pairs:
        """Pairs of which nothing is left out; `first` is the place of the first one."""
        nothing = np.zeros_like(a)
        place = slice(first, first + len(a))
        return cls(a, b, nothing, nothing, nothing, nothing, place, is_out=False)


def draw_pairs(
    ends: Array, numbers: Any, rng: np.random.Generator
) -> tuple[Pairs, Pairs]:
    """Swapped pairs, and pairs of any nodes, for undirected edges, [2, E], each once.

    `numbers` is their `numbered` matrix.
    """
    count = ends.shape[1]
    number = min(max(4 * count, FEWEST), MOST)
    one, other = rng.integers(0, count, (2, number))
    side, back = rng.integers(0, 2, (2, number))
    a, out_a = ends[side, one], ends[1 - side, one]
    b, out_b = ends[back, other], ends[1 - back, other]
    free = (one != other) & (a != b) & ~contains(numbers, a, b)
    a, b, out_a, out_b, edge_a, edge_b = (
        placed(part)[free].astype(np.int32) for part in (a, b, out_a, out_b, one, other)
    )
    last = count + len(a)
    # Nodes without edges, which a table of nodes may be full of, would make any
    # edge look right beside a pair.
    linked = np.flatnonzero(sums_at_ends(ends, numbers.shape[0]))
    c, d = linked[rng.integers(0, len(linked), (2, number))].astype(np.int32)
    free = (c != d) & ~contains(numbers, c, d)
    swapped = Pairs(a, b, out_a, out_b, edge_a, edge_b, slice(count, last))
    return swapped, Pairs.loose(c[free], d[free], last)
