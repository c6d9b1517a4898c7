"""Sparsifiers that learn nothing: each marks a share of the edges to keep.

All have one signature, (graph, x, keep, seed) → mask [E], and keep exactly round(keep ·
number of links) links. A link is both directions of an edge where the graph is
undirected, so that they stay or go as one; otherwise it is a single edge. Ties are
broken at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.ops import noise
from sgat_lab.resistance import leverages

Array = np.ndarray[Any, Any]
Sparsifier = Callable[[Graph, Features, float, int], Tensor]
"""Graph, node features [N, K], share to keep in (0, 1], seed → kept edges, [E] bool."""

CHOICES = 11 << 16
"""First stream of the noise that chooses links."""
TIES = CHOICES + 2
"""Stream of the noise that orders equal links."""
BLOCK = 1 << 14
"""Links whose features are compared at a time."""


class Links(NamedTuple):
    """Units that stay or go together: pairs of opposite edges, or single edges.

    Attributes:
        edge: Position of one edge of each link, [L].
        of_edge: Link of each edge, [E].
        one: Source of that edge, [L].
        other: Its target, [L].
        weight: Its weight, [L].
    """

    edge: Tensor
    of_edge: Tensor
    one: Array
    other: Array
    weight: Array


def links(graph: Graph) -> Links:
    """The links of a graph, in the order of its edges."""
    of_edge = torch.arange(graph.num_edges, device=graph.device)
    if graph.is_undirected:
        first = torch.minimum(of_edge, graph.reverse_edge)
        edge, of_edge = first.unique(return_inverse=True)
    else:
        edge = of_edge
    ends = (graph.src[edge].long(), graph.dst[edge].long(), graph.edge_weight[edge])
    return Links(edge, of_edge, *(part.numpy(force=True) for part in ends))


def random(graph: Graph, x: Features, keep: float, seed: int) -> Tensor:
    """Keep links at random, every choice of so many equally likely."""
    found = links(graph)
    return keep_best(graph, found, np.zeros(len(found.edge)), keep, seed)


def spectral(graph: Graph, x: Features, keep: float, seed: int) -> Tensor:
    """Keep links drawn by effective resistance, which preserves cuts and flows.

    Links are drawn one after the other, each with probability in proportion to w R of
    those left (see `sgat_lab.resistance`); directions are ignored. Spielman &
    Srivastava (STOC 2008) draw with replacement and raise the weights of what they
    draw; here the
    share is exact and weights stay.
    """
    found = links(graph)
    value = leverages(graph.num_nodes, found.one, found.other, found.weight, seed)
    score = _race(_uniform(graph, found, seed, CHOICES), value)
    return keep_best(graph, found, score, keep, seed)


def local_degree(graph: Graph, x: Features, keep: float, seed: int) -> Tensor:
    """Keep every node's links to its best connected neighbours.

    At exponent a in [0, 1], node v keeps its ⌊deg(v)^a⌋ links to the neighbours of the
    highest degree, and a link stays if one of its ends keeps it (Hamann et al., 2016):
    a link needs a = min over its ends of log rank / log deg. The links of the smallest
    a are kept; neighbours of equal degree share a rank, and directions are ignored.
    """
    found = links(graph)
    at, neighbour = _ends(found)
    degree = np.bincount(at, minlength=graph.num_nodes)
    rank = _rank(at, degree[neighbour])
    # A node of degree 1 keeps its link at any exponent; log 1 / log 2 says so, too.
    exponent = np.log(rank) / np.log(np.maximum(degree[at], 2))
    return keep_best(graph, found, -_smaller_end(exponent), keep, seed)


def k_neighbor(graph: Graph, x: Features, keep: float, seed: int) -> Tensor:
    """Keep k random links of every node, drawn in proportion to their weights.

    A link stays if one of its ends draws it. k is as large as the share allows; what is
    left over is filled with links of k + 1, at random. Directions are ignored.
    """
    found = links(graph)
    at, _ = _ends(found)
    uniform = [_uniform(graph, found, seed, CHOICES + end) for end in (0, 1)]
    race = _race(np.concatenate(uniform), np.tile(found.weight, 2))
    return keep_best(graph, found, -_smaller_end(_rank(at, race)), keep, seed)


def jaccard(graph: Graph, x: Features, keep: float, seed: int) -> Tensor:
    """Keep the links between the most similar nodes (Wu et al., IJCAI 2019).

    Similarity is |A ∩ B| / |A ∪ B| of the sets of features where all are 0 or 1 (or 0
    and one other number per node, as after dividing by the sum of the row), and the
    cosine otherwise; 0 for nodes without features.
    """
    found = links(graph)
    return keep_best(graph, found, similarity(x, found.one, found.other), keep, seed)


SPARSIFIERS: dict[str, Sparsifier] = {
    "random": random,
    "spectral": spectral,
    "local_degree": local_degree,
    "k_neighbor": k_neighbor,
    "jaccard": jaccard,
}
"""Every sparsifier by its name."""


def find_sparsifier(name: str) -> Sparsifier:
    """A sparsifier by its name.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in SPARSIFIERS:
        raise ValueError(
            f"Unknown sparsifier {name!r}; choose one of {', '.join(SPARSIFIERS)}."
        )
    return SPARSIFIERS[name]


def similarity(x: Features, one: Array, other: Array) -> Array:
    """Jaccard's index or the cosine of pairs of rows, see `jaccard`, [L]."""
    rows = _scipy_rows(x)
    is_set = _holds_sets(rows)
    if is_set:
        rows.data[:] = 1
    size = rows.power(2).sum(axis=1)
    parts = [np.zeros(0)]
    for start in range(0, len(one), BLOCK):
        here = slice(start, start + BLOCK)
        product = (rows[one[here]] * rows[other[here]]).sum(axis=1)
        sizes = size[one[here]], size[other[here]]
        whole = sum(sizes) - product if is_set else np.sqrt(sizes[0] * sizes[1])
        none = whole == 0
        parts.append(np.where(none, 0, product / np.where(none, 1, whole)))
    return np.concatenate(parts)


def _scipy_rows(x: Features) -> Any:
    if not isinstance(x, SparseFeatures):
        return sparse.csr_array(x.numpy(force=True).astype(np.float64))
    rows = x.to_scipy(np.float64)
    rows.eliminate_zeros()
    return rows


def _holds_sets(rows: Any) -> bool:
    """Whether all entries of a row that are not 0 are the same positive number."""
    if not rows.nnz:
        return True
    size = np.diff(rows.indptr)
    first = rows.data[rows.indptr[:-1][size > 0]]
    return bool(
        (rows.data > 0).all() and (rows.data == first.repeat(size[size > 0])).all()
    )


def _uniform(graph: Graph, found: Links, seed: int, stream: int) -> Array:
    """A number in (0, 1) for each link, [L] float64."""
    drawn = noise.edge_uniform(seed, graph, stream, found.edge)
    return drawn.double().numpy(force=True)


def _race(uniform: Array, weight: Array) -> Array:
    """Scores whose order is that of draws in proportion to the weights, [L].

    log u / w, the highest first (Efraimidis & Spirakis, 2006); -inf for a weight of 0.
    """
    score = np.full(len(weight), -np.inf)
    np.divide(np.log(uniform), weight, out=score, where=weight > 0)
    return score


def _ends(found: Links) -> tuple[Array, Array]:
    """Node and neighbour at all first ends, then at all second ends, [2L] each."""
    at = np.concatenate([found.one, found.other])
    neighbour = np.concatenate([found.other, found.one])
    return at, neighbour


def _smaller_end(value: Array) -> Array:
    """The smaller of the values at the two ends of each link, [2L] → [L]."""
    first, second = np.split(value, 2)
    smaller: Array = np.minimum(first, second)
    return smaller


def _rank(at: Array, score: Array) -> Array:
    """Place of each entry among those at its node, highest score first, from 1.

    Entries of equal score share the first of their places.
    """
    order = np.lexsort((-score, at))
    node, sorted_score = at[order], score[order]
    place = np.arange(len(at))
    new_node = np.r_[True, node[1:] != node[:-1]][: len(at)]
    new_score = np.r_[True, sorted_score[1:] != sorted_score[:-1]][: len(at)]
    start = np.maximum.accumulate(np.where(new_node, place, 0))
    tie_start = np.maximum.accumulate(np.where(new_node | new_score, place, 0))
    rank = np.empty(len(at), dtype=np.int64)
    rank[order] = tie_start - start + 1
    return rank


def keep_best(
    graph: Graph, found: Links, score: Array, keep: float, seed: int
) -> Tensor:
    """Mark the edges of the links with the highest scores, [E].

    Args:
        graph: The edges.
        found: Its links.
        score: Of each link, [L].
        keep: Share of the links to keep, in (0, 1].
        seed: Of the order among equal scores.
    """
    if not 0 < keep <= 1:
        raise ValueError(f"`keep` must be in (0, 1], got {keep}.")
    tie = _uniform(graph, found, seed, TIES)
    kept = np.zeros(len(score), dtype=bool)
    kept[np.lexsort((tie, -score))[: round(keep * len(score))]] = True
    return torch.from_numpy(kept).to(graph.device)[found.of_edge]
