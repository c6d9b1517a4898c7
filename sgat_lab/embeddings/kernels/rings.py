"""Degrees of the nodes around a node, and dynamic time warping between them.

Tested by `tests/lab/embeddings/test_structural_distance.py`.
"""

from __future__ import annotations

import numba
import numpy as np

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@compiled
def collect_rings(
    begin, end, ptr, neighbour, rank, num_ranks, hops, ring_ptr, ring_rank, ring_count
):
    """Write which degrees the nodes exactly k hops away have, and how often.

    Covers nodes `begin` to `end`. Ring k of node u takes the entries from position
    ring_ptr[(u - begin) * hops + k] on, in ascending order of the rank of the degree.
    Returns the number of entries.
    """
    seen = np.full(len(rank), -1, np.int64)
    queue = np.empty(len(rank), np.int64)
    counts = np.zeros(num_ranks, np.int64)
    written = 0
    for node in range(begin, end):
        queue[0], head, tail = node, 0, 1
        seen[node] = node
        for hop in range(hops):
            level_end = tail
            for place in range(head, level_end):
                counts[rank[queue[place]]] += 1
            for each in range(num_ranks):
                if counts[each] > 0:
                    ring_rank[written], ring_count[written] = each, counts[each]
                    counts[each] = 0
                    written += 1
            ring_ptr[(node - begin) * hops + hop + 1] = written
            if hop == hops - 1:
                break
            for place in range(head, level_end):
                at = queue[place]
                for edge in range(ptr[at], ptr[at + 1]):
                    other = neighbour[edge]
                    if seen[other] != node:
                        seen[other] = node
                        queue[tail] = other
                        tail += 1
            head = level_end
    return written


@compiled
def warp(degree, count, other_degree, other_count, row):
    """The smallest cost of walking along two sequences together, both to the end.

    dist(a, b) = (max(a_degree, b_degree) / min(a_degree, b_degree) - 1)
                 max(a_count, b_count)

    `row` is room for as many numbers as the other sequence has entries.
    """
    for i in range(len(degree)):
        diagonal = 0.0 if i == 0 else np.inf
        before = np.inf
        for j in range(len(other_degree)):
            ratio = degree[i] / other_degree[j]
            cost = max(ratio, 1 / ratio) - 1
            cost *= max(count[i], other_count[j])
            above = np.inf if i == 0 else row[j]
            before = cost + min(diagonal, above, before)
            diagonal = above
            row[j] = before
    return row[len(other_degree) - 1]


@compiled
def compare_rings(one, other, hops, ring_ptr, ring_degree, ring_count, longest, found):
    """found_p,k = Σ over rings 0 to k of their warping; infinite from empty ones on."""
    row = np.empty(longest)
    for pair in range(len(one)):
        total = 0.0
        for hop in range(hops):
            a, a_end = ring_ptr[one[pair] * hops + hop : one[pair] * hops + hop + 2]
            b, b_end = ring_ptr[other[pair] * hops + hop : other[pair] * hops + hop + 2]
            if a == a_end or b == b_end:
                total = np.inf
            if total < np.inf:
                total += warp(
                    ring_degree[a:a_end],
                    ring_count[a:a_end],
                    ring_degree[b:b_end],
                    ring_count[b:b_end],
                    row,
                )
            found[pair, hop] = total
