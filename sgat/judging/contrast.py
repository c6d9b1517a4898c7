"""Contrast: how much likelier an edge has its signals than a pair from a source.

Boosted trees learn to tell edges from pairs. Each half is scored by the trees of the
other, so that nothing is scored by trees that saw it. The more alike two nodes are, the
higher the score: trees may only rise with the signals of likeness.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Lock
from typing import Any

import numpy as np
from scipy.special import ndtri

from sgat.judging.signals import OfEdges, edge_blocks
from sgat.ops.blocks import (
    add_noise,
    block_rows,
    empty,
    in_blocks,
    placed,
    random_bits,
    random_rows,
)
from sgat.ops.device_array import host
from sgat.ops.tree_scores import tree_scores

Array = np.ndarray[Any, Any]

MOST_EDGES = 60_000
"""Edges that trees are grown from."""
LEAST_HEED = 0.02
"""Weight at least of an edge, next to 1 of a sure one, where trees learn of edges."""
LEAVES, LEAST_IN_LEAF, RATE, LEVELS = 8, 40, 0.18, 63
"""Of the trees; LEVELS are the values of a signal that they tell apart."""
BINS, BINS_OF_MANY, MANY = 5, 8, 30_000
"""Parts of each degree signal, and from how many pairs on there are more of them."""
FEWEST_IN_BIN = 100
BESIDE_GPU = 4
"""Threads of each half of the trees beside a GPU."""
TIES = 1e-6
"""Noise of the scores, so that none are equal."""
_checking = Lock()
"""scikit-learn changes the warning filters of the process while it checks its input and
bins it: two threads that do so at once can lose them, and warn of it."""


def contrast(
    edges: Array | OfEdges,
    pairs: Array,
    rng: np.random.Generator,
    *,
    trees: int,
    num_free: int,
    doubt: Array | None = None,
) -> tuple[Array, Array]:
    """Scores of edges [E, F] and pairs [P, F].

    The signals of edges are read for those that trees are grown from, then by blocks.
    The more likely an edge is wrong, by `doubt`, [E], the less trees learn of it.
    Of the last `num_free` signals two, the degrees, may go any way. The others, of
    classes, rise or fall throughout, as they do on average from pairs to edges.
    """
    from threadpoolctl import threadpool_limits

    number, width = len(edges), pairs.shape[1]
    half = random_bits(number + len(pairs), 2, rng)
    if number > MOST_EDGES:
        learns = random_rows(number, MOST_EDGES, rng)
    else:
        learns = np.arange(number)
    signals = np.concatenate([host(edges[learns]), pairs])
    of_edges = signals[: len(learns)]
    free = slice(width - num_free, width - 2)
    gap = of_edges[:, free].mean(0, dtype=float) - pairs[:, free].mean(0, dtype=float)
    rise = [1] * free.start + np.sign(gap).astype(int).tolist() + [0, 0]
    is_edge = np.arange(len(signals)) < len(learns)
    of_pairs = host(half[number:])
    of_signals = np.concatenate([host(half[learns]), of_pairs])
    heeded = np.ones(len(signals))
    if doubt is not None:
        # In double precision: a quantile may lie where weights of just 1 would end.
        heeded[is_edge] = np.maximum(1 - host(doubt[learns]).astype(float), LEAST_HEED)

    def grow(place: int) -> tuple[Array, Array, Array]:
        """Trees that score this half, grown from the other."""
        seen = of_signals != place
        given = signals[seen], is_edge[seen], heeded[seen]
        # Trees are so small that threads within them mostly wait, but where a GPU does
        # the rest. And the threads of scikit-learn's own binning would take the warning
        # filters from each other. The limit is that of the calling thread.
        with threadpool_limits(block_rows(1, BESIDE_GPU), user_api="openmp"):
            return _grow(*given, trees=trees, rise=rise)

    with ThreadPoolExecutor(2) as threads:
        halves = zip(*threads.map(grow, range(2)), strict=True)
    grown = [np.stack(part) for part in halves]
    # Ties are broken by chance, the same way for edges and pairs.
    found, own = empty(number, float), [placed(part) for part in grown]
    of_all = edges.blocks if isinstance(edges, OfEdges) else edge_blocks(number)
    for rows in of_all:
        found[rows] = tree_scores(edges[rows], half[rows], *own)
    add_noise(found, TIES, rng)
    noise = TIES * rng.standard_normal(len(pairs))
    return found, tree_scores(pairs, of_pairs, *grown) + noise


def _grow(
    signals: Array, is_edge: Array, heeded: Array, *, trees: int, rise: list[int]
) -> tuple[Array, Array, Array]:
    """Trees as `tree_scores` takes them: cuts, leaves in reach and their values.

    Without edges or without pairs, every score is 0.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    width = signals.shape[1]
    all_cuts = np.full((width, 63), np.inf, dtype=signals.dtype)
    # After the trees comes one of a single leaf, where they begin.
    reach = np.full((width, 64, -(-(trees + 1) // 8) * 8), 255, dtype=np.uint8)
    value = np.zeros((reach.shape[2], 256))
    if len(np.unique(is_edge)) < 2:
        return all_cuts, reach, value
    cuts = [_cuts(column, heeded) for column in signals.T]
    grown = HistGradientBoostingClassifier(
        max_iter=trees,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=LEAST_IN_LEAF,
        learning_rate=RATE,
        max_bins=LEVELS,
        monotonic_cst=rise,
        early_stopping=False,
        random_state=0,
    )
    levels, bin_data = _levels(signals, cuts), grown._bin_data
    with ExitStack() as alone:
        alone.enter_context(_checking)

        def binned(*args: Any, **options: Any) -> Any:
            """The last step before the trees grow: now it is the other's turn."""
            with alone:
                return bin_data(*args, **options)

        grown._bin_data = binned
        grown.fit(levels, is_edge, heeded)
    for row, cut in zip(all_cuts, cuts, strict=True):
        row[: len(cut)] = cut
    value[trees, 255] = grown._baseline_prediction.item()
    for tree, (found,) in enumerate(grown._predictors):
        _read_tree(found.nodes, reach[:, :, tree], value[tree])
    return all_cuts, reach, value


def _read_tree(nodes: Array, reach: Array, value: Array) -> None:
    """Fill in which leaves each level can reach, [F, 64], and what they add."""
    leaves = np.flatnonzero(nodes["is_leaf"]).tolist()

    def below(place: int) -> int:
        """The leaves below a node, as bits."""
        node = nodes[place]
        if node["is_leaf"]:
            bit = 1 << leaves.index(place)
            value[bit] = node["value"]
            return bit
        left, right = below(node["left"]), below(node["right"])
        first = int(node["num_threshold"]) + 1
        reach[node["feature_idx"], first:] &= 255 - left
        reach[node["feature_idx"], :first] &= 255 - right
        return left | right

    reach &= below(0)


def _cuts(value: Array, weight: Array) -> Array:
    """Quantiles by weight that part a signal into LEVELS; fewer where it has fewer.

    The trees' own search for them sorts the signal once for each quantile.
    """
    order = np.argsort(value)
    value, total = value[order], weight[order].cumsum()
    distinct = value[np.flatnonzero(np.diff(value, prepend=-np.inf))]
    if len(distinct) <= LEVELS:
        middles: Array = (distinct[1:] + distinct[:-1]) / 2
        return middles
    wanted = np.linspace(0, 100, LEVELS + 1)[1:-1] / 100 * total[-1]
    place = np.searchsorted(total, wanted).clip(max=len(value) - 2)
    # Between two values if the quantile is: any cut there parts them.
    after = place + (total[place] == wanted)
    return np.unique((value[place] + value[after]) / 2)


def _levels(signals: Array, cuts: list[Array]) -> Array:
    """Number of cuts below each signal, as trees take them, [P, F]."""
    columns = zip(signals.T, cuts, strict=True)
    return np.stack([np.searchsorted(cut, c) for c, cut in columns], 1).astype(float)


def normal_scores(edges: Array, pairs: Array) -> Array:
    """Where edges stand among pairs, as quantiles of a normal distribution, [E].

    A wrong edge from the source of the pairs has a standard normal score.
    """
    one_bin = np.zeros(0), np.zeros((1, 0))
    nothing = np.broadcast_to(0.0, (len(edges), 2))
    return _scores_in_bins(edges, nothing, [pairs], one_bin)


def normal_scores_by_degree(
    edges: Array, pairs: Array, edge_degrees: Array, pair_degrees: Array
) -> Array:
    """Normal scores among the pairs with degrees like those of the edge, [E]."""
    number = BINS_OF_MANY if len(pairs) > MANY else BINS
    cuts = _bin_cuts(pair_degrees, number)
    of_pairs = host(_bins(pair_degrees, *cuts))
    like = [pairs[of_pairs == place] for place in range(number**2)]
    chosen = [part if len(part) >= FEWEST_IN_BIN else pairs for part in like]
    return _scores_in_bins(edges, edge_degrees, chosen, cuts)


def _scores_in_bins(
    edges: Array, degrees: Array, pairs: list[Array], cuts: tuple[Array, Array]
) -> Array:
    """Normal scores among the pairs of the bin of each edge, [E]."""
    ordered = [placed(np.sort(part)) for part in pairs]
    quantiles = ((np.arange(len(p) + 1) + 0.5) / (len(p) + 1) for p in pairs)
    scores = [placed(ndtri(part)) for part in quantiles]
    found, degrees = empty(len(edges), np.float32), placed(degrees)

    def work(rows: slice) -> None:
        here, result = edges[rows], found[rows]
        of_edges = _bins(degrees[rows], *cuts)
        order = np.argsort(of_edges, kind="stable")
        bounds = host(np.searchsorted(of_edges[order], np.arange(len(pairs) + 1)))
        for place in range(len(pairs)):
            inside = order[bounds[place] : bounds[place + 1]]
            at = np.searchsorted(ordered[place], here[inside])
            result[inside] = scores[place][at]

    in_blocks(work, len(edges))
    return found


def _bin_cuts(pairs: Array, number: int) -> tuple[Array, Array]:
    """Cuts of the first column, and of the second within each part of it.

    They part pairs into bins of equal size. A part of few pairs is one bin.
    """
    share = np.linspace(0, 1, number + 1)[1:-1]
    cut = np.quantile(pairs[:, 0], share)
    outer = np.searchsorted(cut, pairs[:, 0])
    inner = np.full((number, number - 1), np.inf)
    for place in range(number):
        inside = pairs[outer == place, 1]
        if len(inside) >= number:
            inner[place] = np.quantile(inside, share)
    return cut, inner


def _bins(degrees: Array, cut: Array, inner: Array) -> Array:
    """Number of the bin of each row, [P] uint8."""
    outer = np.searchsorted(cut, degrees[:, 0])
    within = (placed(inner)[outer] < degrees[:, 1:]).sum(axis=1)
    found: Array = (len(inner) * outer + within).astype(np.uint8)
    return found
