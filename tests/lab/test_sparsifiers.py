"""Sparsifiers: shares to the link, cases by hand, and definitions written as loops."""

import itertools
import math

import numpy as np
import pytest
import torch
from support.awkward import GRAPHS, random_edges
from support.covering import covering
from torch import Tensor

from sgat.features import SparseFeatures, normalise_rows
from sgat.graph import Graph
from sgat_lab.sparsifiers import (
    SPARSIFIERS,
    find_sparsifier,
    jaccard,
    k_neighbor,
    links,
    local_degree,
    random,
    similarity,
    spectral,
)


def undirected(pairs: list[tuple[int, int]], weight: list[float] | None = None):
    edges = torch.tensor(pairs).T
    given = None if weight is None else torch.tensor(weight)
    return Graph.from_edges(edges, edge_weight=given, make_undirected=True)


def pairs_of(graph: Graph, kept: Tensor) -> set[tuple[int, int]]:
    """The kept edges as pairs of nodes, the smaller first."""
    ends = graph.edge_index[:, kept].sort(dim=0).values
    return {(int(a), int(b)) for a, b in ends.T}


def complete(num_nodes: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(num_nodes), 2))


@pytest.fixture(params=SPARSIFIERS)
def sparsify(request):
    return SPARSIFIERS[request.param]


@covering(
    {
        "sparsify": list(SPARSIFIERS),
        "awkward_graph": list(GRAPHS),
        "keep": [0.01, 0.37, 1.0],
    },
    indirect=["sparsify", "awkward_graph"],
)
def test_the_share_is_met_to_the_link(sparsify, awkward_graph, keep, seed):
    x = torch.rand(awkward_graph.num_nodes, 5)
    kept = sparsify(awkward_graph, x, keep, seed)
    assert kept.dtype == torch.bool and kept.shape == (awkward_graph.num_edges,)
    size = 2 if awkward_graph.is_undirected else 1
    assert int(kept.sum()) == size * round(keep * awkward_graph.num_edges / size)


def test_both_directions_go_as_one(sparsify, seed):
    graph = GRAPHS["random undirected"]()
    kept = sparsify(graph, torch.rand(graph.num_nodes, 5), 0.4, seed)
    assert torch.equal(kept, kept[graph.by_source.edge])
    assert graph.select(kept).is_undirected


def test_the_same_seed_keeps_the_same_edges_in_any_order(sparsify, seed):
    edges = random_edges(29, 211)
    x = torch.rand(29, 5)
    graph = Graph.from_edges(edges, 29)
    mixed = Graph.from_edges(edges[:, torch.randperm(211)], 29)
    kept = sparsify(graph, x, 0.3, seed)
    assert torch.equal(kept, sparsify(mixed, x, 0.3, seed))
    # Without features there is nothing but chance in the choice of any.
    alike = torch.ones(29, 1)
    ring = undirected([(i, (i + 1) % 29) for i in range(29)])
    first, second = (sparsify(ring, alike, 0.5, key) for key in (seed, seed + 1))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("keep", [0.0, -0.5, 1.1])
def test_a_share_of_nothing_or_more_than_all_is_refused(sparsify, keep):
    graph = GRAPHS["chain"]()
    with pytest.raises(ValueError, match=rf"`keep` must be in \(0, 1\], got {keep}."):
        sparsify(graph, torch.ones(11, 1), keep, 0)


def test_an_unknown_name_is_refused():
    message = (
        "Unknown sparsifier 'best'; choose one of random, spectral, local_degree,"
        " k_neighbor, jaccard."
    )
    with pytest.raises(ValueError, match=message):
        find_sparsifier("best")
    assert find_sparsifier("jaccard") is jaccard


def test_links_are_pairs_or_single_edges():
    both = links(undirected([(0, 2), (1, 2)], [3.0, 5.0]))
    # Edges by target: 2→0, 2→1, 0→2, 1→2.
    assert both.of_edge.tolist() == [0, 1, 0, 1]
    assert both.one.tolist() == [2, 2] and both.other.tolist() == [0, 1]
    assert both.weight.tolist() == [3.0, 5.0]
    one_way = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 1]]), 3)
    assert links(one_way).of_edge.tolist() == [0, 1, 2]


def test_random_keeps_every_link_equally_often(seed):
    graph = undirected(complete(7))
    x = torch.ones(7, 1)
    rounds = [random(graph, x, 1 / 3, 1000 * seed + key) for key in range(200)]
    share = torch.stack(rounds).double().mean(dim=0)
    assert (share - 1 / 3).abs().max() < 5 * (2 / 9 / 200) ** 0.5


def test_spectral_draws_by_leverage(seed):
    # 40 cliques of 8 nodes with a tail each: 28 leverages of 1/4 and one of 1, so that
    # the first links to be drawn are tails by 1/8, where chance would give 1/29.
    pairs = [*complete(8), (7, 8)]
    graph = undirected([(a + 9 * k, b + 9 * k) for k in range(40) for a, b in pairs])
    x = torch.ones(360, 1)
    num_tails = 0
    for key in range(1000 * seed, 1000 * seed + 50):
        kept = pairs_of(graph, spectral(graph, x, 12 / (40 * 29), key))
        num_tails += sum(larger % 9 == 8 for _, larger in kept)
    assert abs(num_tails / 600 - 1 / 8) < 5 * (7 / 64 / 600) ** 0.5


def test_local_degree_by_hand():
    # Hub 0 with leaves 1 to 4, and a link 1 - 2 that is the second best of both.
    graph = undirected([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)])
    kept = local_degree(graph, torch.ones(5, 1), 0.8, 0)
    assert pairs_of(graph, kept) == {(0, 1), (0, 2), (0, 3), (0, 4)}


def exponents(graph: Graph) -> dict[tuple[int, int], float]:
    """The smallest exponent at which a link stays, link by link."""
    around: dict[int, set[int]] = {}
    for a, b in graph.edge_index.T.tolist():
        around.setdefault(a, set()).add(b)
    needed = {}
    for a, b in pairs_of(graph, torch.ones(graph.num_edges, dtype=torch.bool)):
        at_ends = []
        for node, other in ((a, b), (b, a)):
            degree = len(around[node])
            larger = sum(len(around[c]) > len(around[other]) for c in around[node])
            at_ends.append(math.log(larger + 1, degree) if degree > 1 else 0.0)
        needed[a, b] = min(at_ends)
    return needed


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.8])
def test_local_degree_keeps_the_smallest_exponents(keep, seed):
    graph = Graph.from_edges(random_edges(31, 113), 31, make_undirected=True)
    needed = exponents(graph)
    kept = pairs_of(graph, local_degree(graph, torch.ones(31, 1), keep, seed))
    dropped = set(needed) - kept
    limit = max(needed[pair] for pair in kept)
    assert all(needed[pair] > limit - 1e-9 for pair in dropped)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_neighbor_leaves_every_node_k_links(k, seed):
    graph = Graph.from_edges(random_edges(31, 331), 31, make_undirected=True)
    num_links = graph.num_edges // 2
    # Nodes draw k links each, so k N are enough for all of them.
    kept = k_neighbor(graph, torch.ones(31, 1), k * 31 / num_links, seed)
    left = torch.bincount(graph.dst[kept].long(), minlength=31)
    degree = graph.row_ptr.diff()
    assert (left >= degree.clamp(max=k)).all()
    # A choice of as many links at random leaves some node without, now and then.
    few = [random(graph, torch.ones(31, 1), 31 / num_links, key) for key in range(9)]
    counts = [torch.bincount(graph.dst[one].long(), minlength=31) for one in few]
    assert any(int(count.min()) == 0 for count in counts)


def test_k_neighbor_draws_heavy_links_first(seed):
    pairs = complete(5)
    weight = [1e9 if pair == (1, 3) else 1.0 for pair in pairs]
    graph = undirected(pairs, weight)
    # Five nodes draw at most five of the ten links as their first.
    kept = [
        (1, 3) in pairs_of(graph, k_neighbor(graph, torch.ones(5, 1), 0.5, key))
        for key in range(1000 * seed, 1000 * seed + 40)
    ]
    assert all(kept)


def test_jaccard_by_hand():
    # Sets {0, 1}, {1, 2}, {1}, {}: 0-1 share 1 of 3, 0-2 and 1-2 share 1 of 2.
    x = torch.tensor([[1.0, 1, 0], [0, 1, 1], [0, 1, 0], [0, 0, 0]])
    one, other = np.array([0, 0, 1, 2, 3]), np.array([1, 2, 2, 3, 3])
    expected = [1 / 3, 1 / 2, 1 / 2, 0, 0]
    for features in (x, SparseFeatures.from_dense(x), normalise_rows(x)):
        np.testing.assert_allclose(similarity(features, one, other), expected)
    graph = undirected([(0, 1), (0, 2), (1, 2)])
    kept = jaccard(graph, x[:3], 2 / 3, 0)
    assert pairs_of(graph, kept) == {(0, 2), (1, 2)}


def test_other_numbers_are_compared_by_the_cosine():
    x = torch.tensor([[3.0, 4.0], [1.0, 0.0], [-3.0, -4.0], [0.0, 0.0]])
    one, other = np.array([0, 0, 0, 3]), np.array([1, 2, 0, 1])
    for features in (x, SparseFeatures.from_dense(x)):
        found = similarity(features, one, other)
        np.testing.assert_allclose(found, [0.6, -1, 1, 0])
    # 0 and one negative number are no set.
    negative = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    assert similarity(negative, np.array([0]), np.array([1])).tolist() == [-1]


def test_features_are_compared_in_blocks(monkeypatch, seed):
    x = torch.randn(29, 7)
    src, dst = random_edges(29, 101).numpy()
    expected = torch.cosine_similarity(x.double()[src], x.double()[dst])
    monkeypatch.setattr("sgat_lab.sparsifiers.BLOCK", 10)
    np.testing.assert_allclose(similarity(x, src, dst), expected)
