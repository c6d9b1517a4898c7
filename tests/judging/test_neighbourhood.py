"""What surrounds an edge, against graphs from which the edge is really removed."""

import math

import pytest
import torch
from support.awkward import GRAPHS, scattered
from torch import Tensor

from sgat.graph import Graph
from sgat.judging import neighbourhood
from sgat.judging.neighbourhood import (
    NUM_FEATURES,
    Neighbourhood,
    neighbour_sum,
    random_pairs,
)


def adjacency(graph: Graph) -> Tensor:
    found = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    src, dst = graph.edge_index
    found[src, dst] = found[dst, src] = 1
    return found


def by_hand(vector: Tensor, joined: Tensor, a: int, b: int) -> list[float]:
    """The features of a pair that no edge joins, from the adjacency matrix."""
    joined = joined.clone()
    assert joined[a, b] == 0
    degree = joined.sum(dim=1)
    mean = [joined[node] @ vector / (degree[node] + 1) for node in (a, b)]
    size = [math.log1p(degree[node]) for node in (a, b)]
    common = (joined[a] * joined[b]).nonzero()[:, 0].tolist()
    return [
        float(vector[a] @ vector[b]),
        float(vector[a] @ mean[1] + vector[b] @ mean[0]),
        float(mean[0] @ mean[1]),
        size[0] + size[1],
        abs(size[0] - size[1]),
        math.log1p(10 * sum(1 / float(degree[k]) for k in common)),
    ]


@pytest.fixture(autouse=True)
def few_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "PAIRS_AT_ONCE", 13)


@pytest.mark.parametrize("name", ["isolated node", "chain", "random directed", "dense"])
def test_features_of_an_edge_are_those_of_the_graph_without_it(name: str, seed: int):
    graph = scattered(17, 101) if name == "dense" else GRAPHS[name]()
    view = graph.undirected()
    vector = torch.randn(graph.num_nodes, 5, dtype=torch.float64)
    around = Neighbourhood.of(vector, view)
    found = around.features(view.dst, view.src, are_edges=True)
    assert found.shape == (view.num_edges, NUM_FEATURES)
    for row, a, b in zip(
        found.tolist(), view.dst.tolist(), view.src.tolist(), strict=True
    ):
        without = adjacency(graph)
        without[a, b] = without[b, a] = 0
        assert row == pytest.approx(by_hand(vector, without, a, b), abs=1e-5)


def test_features_of_other_pairs_are_those_of_the_graph_as_it_is(seed: int):
    graph = scattered(17, 61).undirected()
    vector = torch.randn(17, 5, dtype=torch.float64)
    joined = adjacency(graph)
    a, b = (joined == 0).fill_diagonal_(False).nonzero().T
    found = Neighbourhood.of(vector, graph).features(a, b, are_edges=False)
    assert len(found) > 26
    for row, i, j in zip(found.tolist(), a.tolist(), b.tolist(), strict=True):
        assert row == pytest.approx(by_hand(vector, joined, i, j), abs=1e-5)


def test_both_directions_have_the_same_features_to_the_bit(seed: int):
    graph = scattered(53, 401).undirected()
    around = Neighbourhood.of(torch.randn(53, 5), graph)
    for ends, are_edges in (
        ((graph.dst, graph.src), True),
        (random_pairs(graph, 101), False),
    ):
        a, b = ends
        found = around.features(a, b, are_edges=are_edges)
        assert torch.equal(found, around.features(b, a, are_edges=are_edges))


def test_no_pairs_have_no_features():
    graph = GRAPHS["no edges"]()
    none = torch.zeros(0, dtype=torch.long)
    found = Neighbourhood.of(torch.randn(5, 3), graph)
    assert found.features(none, none, are_edges=True).shape == (0, NUM_FEATURES)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_sum_over_neighbours_is_a_product_with_the_weights(name: str, seed: int):
    graph = GRAPHS[name]()
    x = torch.randn(graph.num_nodes, 3)
    weight = torch.zeros(graph.num_nodes, graph.num_nodes)
    src, dst = graph.edge_index
    weight[dst, src] = graph.edge_weight
    assert torch.allclose(neighbour_sum(x, graph), weight @ x, atol=2e-4)


def test_random_pairs_are_different_nodes_that_no_edge_joins(seed: int):
    graph = scattered(23, 151).undirected()
    a, b = random_pairs(graph, 5003, seed=seed)
    joined = adjacency(graph).bool()
    assert not joined[a, b].any() and not (a == b).any()
    # All of them, each about as often.
    free = (~joined).fill_diagonal_(False)
    count = torch.zeros(23, 23).index_put((a, b), torch.ones(len(a)), accumulate=True)
    assert torch.equal(count > 0, free)
    assert count.max() < 4 * count[free].mean()
    same = random_pairs(graph, 5003, seed=seed)
    assert torch.equal(torch.stack(same), torch.stack((a, b)))
    other = random_pairs(graph, 5003, seed=seed + 1)
    assert len(other[0]) != len(a) or not torch.equal(other[0], a)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_random_pairs_are_all_that_were_drawn_and_no_edge_joins(name: str, seed: int):
    graph = GRAPHS[name]().undirected()
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(graph.num_nodes, (2, 211), generator=generator)
    joined = adjacency(graph).bool()
    is_free = ~joined[drawn[0], drawn[1]] & (drawn[0] != drawn[1])
    found = torch.stack(random_pairs(graph, 211, seed=seed))
    assert torch.equal(found, drawn[:, is_free])


@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_a_graph_in_which_all_are_joined_has_no_such_pairs(num_nodes: int):
    edges = torch.combinations(torch.arange(num_nodes)).T.reshape(2, -1)
    graph = Graph.from_edges(edges, num_nodes, make_undirected=True)
    a, b = random_pairs(graph, 101)
    assert len(a) == len(b) == 0
