"""The maximum spanning forest of scored edges, from any number of passes over them.

Borůvka's method: in each round every component takes its best edge to another one, so
the number of components falls to a half at least. A round is one pass over the edges
in any order and in batches; only the nodes are held in memory.

Tables of any size need this, so graphs in memory take it, too. The spanning tree of
SciPy wants all edges at once, adds up rows that name the same edge, and breaks ties by
chance unless ranks replace the scores. With ranks, 10 million edges between a million
nodes gave the same forest in 6.3 s of processor time and 440 MiB, against 2.9 s and 30
MiB here; merged batch by batch, in 11.4 s and 110 MiB. Tested in
tests/pruning/test_choice.py and tests/pruning/test_prune_table.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Batch = tuple[Array, ...]
"""Source, target, score and key of some edges."""


def spanning_forest(num_nodes: int, passes: Callable[[], Iterable[Batch]]) -> Array:
    """Keys of the edges of the maximum spanning forest, directions ignored.

    Of edges with equal scores the one with the lower key is better, so the forest is
    unique. Takes about 50 bytes per node.

    Args:
        num_nodes: Number of nodes N.
        passes: Called once per round; yields all edges, in batches: source and target
            [B] int32, score [B] floating, key [B] int64. Edges of the same key must be
            the same edge, or the directions of one.

    Returns:
        Keys in ascending order, [F] int64: N minus the number of components.
    """
    component = np.arange(num_nodes, dtype=np.int32)
    improve, join = _kernels()
    keys = [np.empty(0, dtype=np.int64)]
    while True:
        score = np.full(num_nodes, -np.inf)
        key = np.full(num_nodes, -1, dtype=np.int64)
        ends = np.empty((num_nodes, 2), dtype=np.int32)
        for batch in passes():
            improve(*batch, component, score, key, ends)
        chosen = join(component, key, ends)
        if not len(chosen):
            return np.sort(np.concatenate(keys))
        keys.append(chosen)


def _improve(  # type: ignore[no-untyped-def]  # Numba reads the source
    src, dst, score, key, component, best_score, best_key, ends
):
    for edge in range(len(src)):
        one, other = component[src[edge]], component[dst[edge]]
        if one == other:
            continue
        for place in (one, other):
            if (
                best_key[place] < 0
                or score[edge] > best_score[place]
                or (score[edge] == best_score[place] and key[edge] < best_key[place])
            ):
                best_score[place], best_key[place] = score[edge], key[edge]
                ends[place, 0], ends[place, 1] = src[edge], dst[edge]


def _join(component, key, ends):  # type: ignore[no-untyped-def]
    root = np.arange(len(component)).astype(np.int32)
    chosen = np.empty(len(component), np.int64)
    count = 0
    for place in range(len(component)):
        if key[place] < 0:
            continue
        one, other = component[ends[place, 0]], component[ends[place, 1]]
        while root[one] != one:
            root[one] = root[root[one]]
            one = root[one]
        while root[other] != other:
            root[other] = root[root[other]]
            other = root[other]
        # Two components may choose the same edge, which joins them once.
        if one != other:
            root[one] = other
            chosen[count] = key[place]
            count += 1
    for node in range(len(component)):
        place = component[node]
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        component[node] = place
    return chosen[:count]


@functools.cache
def _kernels() -> tuple[Callable[..., None], Callable[..., Array]]:
    import numba

    compile = numba.njit(nogil=True, cache=True)
    return compile(_improve), compile(_join)
