"""Contrast: how much likelier an edge has its signals than a pair from a source.

Boosted trees learn to tell edges from pairs. Each half is scored by the trees of the
other, so that nothing is scored by trees that saw it. The more alike two nodes are, the
higher the score: trees may only rise with the signals of likeness.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from scipy.special import ndtri

Array = np.ndarray[Any, Any]

MOST_EDGES = 60_000
"""Edges that trees are grown from."""
LEAVES, LEAST_IN_LEAF, RATE, LEVELS = 8, 40, 0.18, 63
"""Of the trees; LEVELS are the values of a signal that they tell apart."""
BINS, BINS_OF_MANY, MANY = 5, 8, 30_000
"""Parts of each degree signal, and from how many pairs on there are more of them."""
FEWEST_IN_BIN = 100


def contrast(
    edges: Array,
    pairs: Array,
    rng: np.random.Generator,
    *,
    trees: int,
    num_free: int,
    heed: Array | None = None,
) -> tuple[Array, Array]:
    """Scores of edges [E, F] and pairs [P, F].

    Of the last `num_free` signals two, the degrees, may go any way. The others, of
    classes, rise or fall throughout, as they do on average from pairs to edges.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    signals = np.concatenate([edges, pairs])
    is_edge = np.arange(len(signals)) < len(edges)
    half = rng.integers(0, 2, len(signals))
    learns = np.ones(len(signals), dtype=bool)
    if len(edges) > MOST_EDGES:
        learns[is_edge] = rng.random(len(edges)) < MOST_EDGES / len(edges)
    free = slice(signals.shape[1] - num_free, signals.shape[1] - 2)
    gap = edges[:, free].mean(axis=0) - pairs[:, free].mean(axis=0)
    rise = [1] * free.start + np.sign(gap).astype(int).tolist() + [0, 0]
    score = np.zeros(len(signals))
    heeded = np.ones(len(signals))
    if heed is not None:
        heeded[is_edge] = heed

    def score_half(number: int) -> None:
        seen, other = learns & (half != number), half == number
        if len(np.unique(is_edge[seen])) < 2:
            return
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
        cuts = [_cuts(column, heeded[seen]) for column in signals[seen].T]
        grown.fit(_levels(signals[seen], cuts), is_edge[seen], heeded[seen])
        score[other] = grown.decision_function(_levels(signals[other], cuts))

    # Trees are so small that threads within them mostly wait: one thread for each half.
    with threadpool_limits(1, user_api="openmp"), ThreadPoolExecutor(2) as threads:
        list(threads.map(score_half, range(2)))
    # Ties are broken by chance, the same way for edges and pairs.
    score += 1e-6 * rng.standard_normal(len(score))
    return score[is_edge], score[~is_edge]


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
    columns = torch.from_numpy(np.ascontiguousarray(signals.T))
    found = [
        torch.bucketize(column, torch.from_numpy(cut), out_int32=True)
        for column, cut in zip(columns, cuts, strict=True)
    ]
    levels: Array = torch.stack(found, dim=1).double().numpy()
    return levels


def normal_scores(edges: Array, pairs: Array) -> Array:
    """Where edges stand among pairs, as quantiles of a normal distribution, [E].

    A wrong edge from the source of the pairs has a standard normal score.
    """
    ordered = torch.from_numpy(np.sort(pairs))
    place = torch.searchsorted(ordered, torch.from_numpy(edges)).numpy()
    found: Array = ndtri((place + 0.5) / (len(pairs) + 1))
    return found


def normal_scores_by_degree(
    edges: Array, pairs: Array, edge_degrees: Array, pair_degrees: Array
) -> Array:
    """Normal scores among the pairs with degrees like those of the edge, [E]."""
    bins = BINS_OF_MANY if len(pairs) > MANY else BINS
    of_edges, of_pairs = _bins(edge_degrees, pair_degrees, bins)
    found = np.empty(len(edges))
    for number in np.unique(of_edges):
        like = of_pairs == number
        chosen = pairs[like] if like.sum() >= FEWEST_IN_BIN else pairs
        found[of_edges == number] = normal_scores(edges[of_edges == number], chosen)
    return found


def _bins(edges: Array, pairs: Array, number: int) -> tuple[Array, Array]:
    """Bins of equal size by the first column, and within each by the second."""
    share = np.linspace(0, 1, number + 1)[1:-1]
    cut = np.quantile(pairs[:, 0], share)
    outer = [np.searchsorted(cut, part[:, 0]) for part in (edges, pairs)]
    found = [number * part for part in outer]
    for place in range(number):
        inside = pairs[outer[1] == place, 1]
        if len(inside) < number:
            continue
        cut = np.quantile(inside, share)
        for part, first, result in zip((edges, pairs), outer, found, strict=True):
            here = first == place
            result[here] += np.searchsorted(cut, part[here, 1])
    return found[0], found[1]
