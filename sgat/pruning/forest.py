"""The maximum spanning forest of scored edges, from any number of passes over them.

Borůvka's method: in each round every component takes its best edge to another one, so
the number of components falls to a half at least. A round is one pass over the edges
in any order and in batches; only the nodes are held in memory.

The spanning tree of SciPy wants all edges at once, adds up rows that name the same
edge, breaks ties by chance, and takes more time and memory. Tested in
tests/pruning/test_choice.py and tests/pruning/test_prune_table.py.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Array = np.ndarray[Any, Any]
Batch = tuple[Array, ...]
"""Source, target (int32), score (floating) and key (int64) of some edges, [B] each."""


def spanning_forest(num_nodes: int, passes: Callable[[], Iterable[Batch]]) -> Array:
    """Keys of the edges of the maximum spanning forest, ascending, directions ignored.

    Of edges with equal scores the one with the lower key is better, so the forest is
    unique. `passes` is called once per round and yields all edges, in batches. Edges of
    one key must be the same edge, or its directions. Takes about 80 bytes per node.
    """
    component = np.arange(num_nodes, dtype=np.int32)
    improve = _kernel()
    keys = [np.empty(0, dtype=np.int64)]
    while True:
        score = np.full(num_nodes, -np.inf)
        key = np.full(num_nodes, -1, dtype=np.int64)
        ends = np.empty((num_nodes, 2), dtype=np.int32)
        for batch in passes():
            improve(*batch, component, score, key, ends)
        # Two components may choose the same edge, which joins them once.
        chosen, place = np.unique(key, return_index=True)
        chosen, place = chosen[chosen >= 0], place[chosen >= 0]
        if not len(chosen):
            return np.sort(np.concatenate(keys))
        keys.append(chosen)
        pair = tuple(component[ends[place]].T)
        joined = coo_array((np.ones(len(place)), pair), shape=(num_nodes, num_nodes))
        component = connected_components(joined, directed=False)[1][component]


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


@functools.cache
def _kernel() -> Callable[..., None]:
    import numba

    return numba.njit(nogil=True, cache=True)(_improve)  # type: ignore[no-any-return]
