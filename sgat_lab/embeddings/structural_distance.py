"""Structural distance: how unlike the degrees around two nodes are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgat_lab.embeddings.neighbours import Array, Integers, NeighbourLists

AT_ONCE = 4_000_000
"""Entries for which there is room while rings are collected."""


class Rings(NamedTuple):
    """Degrees of the nodes exactly k hops from each node, k = 0 to `hops` - 1.

    Attributes:
        hops: Number of rings of a node.
        ptr: Ring k of node u stands at positions ptr[u hops + k] to the next.
        degree: Degrees of a ring, ascending, each once.
        frequency: How many nodes of the ring have it.
    """

    hops: int
    ptr: Integers
    degree: Array
    frequency: Array


def collect(linked: NeighbourLists, hops: int) -> Rings:
    """The rings of all nodes, as compressed degree sequences (OPT1)."""
    from sgat_lab.embeddings.kernels.rings import collect_rings

    size = len(linked.degree)
    degrees, rank = np.unique(linked.degree, return_inverse=True)
    step = max(AT_ONCE // (hops * max(len(degrees), 1)), 1)
    ptrs, ranks, counts, total = [np.zeros(1, np.int64)], [], [], 0
    for begin in range(0, size, step):
        end = min(begin + step, size)
        room = (end - begin) * hops * len(degrees)
        ring_ptr = np.zeros((end - begin) * hops + 1, np.int64)
        ring_rank, ring_count = np.empty(room, np.int64), np.empty(room)
        written = collect_rings(
            begin,
            end,
            *linked,
            rank,
            len(degrees),
            hops,
            ring_ptr,
            ring_rank,
            ring_count,
        )
        ptrs.append(ring_ptr[1:] + total)
        ranks.append(ring_rank[:written].copy())
        counts.append(ring_count[:written].copy())
        total += written
    degree = degrees[np.concatenate([*ranks, []]).astype(np.int64)].astype(np.float64)
    return Rings(hops, np.concatenate(ptrs), degree, np.concatenate([*counts, []]))


def structural_distance(rings: Rings, one: Integers, other: Integers) -> Array:
    """Structural distance of pairs of nodes within 0 to `hops` - 1 hops, [P, hops].

        f_k(u, v) = f_k-1(u, v) + warping(R_k(u), R_k(v)),   f_-1 = 0

    with R_k the ring of nodes k hops away, and the cost of dynamic time warping that of
    compressed sequences (Ribeiro et al., eq. 1 and 10). Infinite where a ring is empty.

    Args:
        rings: The rings of all nodes.
        one: A node of each pair, [P].
        other: The other one, [P].
    """
    from sgat_lab.embeddings.kernels.rings import compare_rings

    found = np.empty((len(one), rings.hops))
    longest = int(np.diff(rings.ptr).max(initial=1))
    compare_rings(one, other, *rings, longest, found)
    return found
