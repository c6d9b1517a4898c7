"""Sums over common neighbours, against networkx and between both ways of summing."""

import networkx as nx
import pytest
import torch
from support.awkward import GRAPHS, scattered
from torch import Tensor

from sgat.graph import Graph
from sgat.ops import common_neighbours
from sgat.ops.common_neighbours import add_common_by_look_up, sum_common


def plain(graph: Graph) -> nx.Graph:
    found = nx.Graph(graph.edge_index.T.tolist())
    found.add_nodes_from(range(graph.num_nodes))
    return found


def some_pairs(graph: Graph, number: int) -> Tensor:
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randint(graph.num_nodes, (2, number), generator=generator)
    return torch.cat([graph.edge_index, drawn], dim=1)


def sum_by_look_up(graph: Graph, a: Tensor, b: Tensor, value: Tensor) -> Tensor:
    """What devices other than a CPU compute."""
    degree = graph.row_ptr.diff()
    is_less = degree[a] <= degree[b]
    ends = torch.where(is_less, a, b), torch.where(is_less, b, a)
    total = value.new_zeros(len(a), value.shape[1])
    add_common_by_look_up(graph, *ends, value, total)
    return total


@pytest.mark.parametrize("name", [*GRAPHS, "dense"])
def test_sums_are_those_over_the_common_neighbours_of_networkx(
    name: str, monkeypatch: pytest.MonkeyPatch, seed: int
):
    monkeypatch.setattr(common_neighbours, "NEIGHBOURS_AT_ONCE", 37)
    graph = (scattered(23, 301) if name == "dense" else GRAPHS[name]()).undirected()
    net = plain(graph)
    a, b = some_pairs(graph, 101)
    value = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    expected = torch.zeros(len(a), 3, dtype=torch.float64)
    for row, ends in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        # networkx counts the ends of a loop among each other's neighbours, and there
        # are none here.
        common = set(net[ends[0]]) & set(net[ends[1]])
        expected[row] = sum((value[k] for k in common), torch.zeros(3).double())
    found = sum_common(graph, a, b, value)
    assert torch.allclose(found, expected)
    assert torch.allclose(sum_by_look_up(graph, a, b, value), expected)
    assert torch.equal(sum_common(graph, b, a, value), found)


def test_short_lists_are_looked_up_in_long_ones(seed: int):
    # The hub has 263 neighbours, far more than LOOK_UP times those of others.
    leaf = torch.arange(1, 264)
    star = torch.stack([leaf, torch.zeros_like(leaf)])
    chord = torch.randint(1, 264, (2, 97))
    graph = Graph.from_edges(torch.cat([star, chord], dim=1), 264).undirected()
    a, b = graph.edge_index
    value = torch.randn(264, 2, dtype=torch.float64)
    adjacency = torch.zeros(264, 264, dtype=torch.float64)
    adjacency[a, b] = adjacency[b, a] = 1
    both = adjacency[a] * adjacency[b]
    assert both.sum() > 97
    found = sum_common(graph, a, b, value)
    assert torch.allclose(found, both @ value)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(threads: int, seed: int):
    before = torch.get_num_threads()
    graph = scattered(409, 20_011).undirected()
    a, b = graph.edge_index
    value = torch.randn(409, 1, dtype=torch.float64)
    try:
        torch.set_num_threads(threads)
        found = sum_common(graph, a, b, value)
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(found, sum_by_look_up(graph, a, b, value))


def test_the_type_of_the_values_stays():
    graph = scattered(23, 301).undirected()
    for dtype in (torch.float32, torch.float64):
        value = torch.ones(23, 1, dtype=dtype)
        found = sum_common(graph, graph.dst, graph.src, value)
        assert found.dtype == dtype and found.shape == (graph.num_edges, 1)


@pytest.mark.gpu
def test_the_gpu_sums_the_same(seed: int):
    graph = scattered(409, 20_011).undirected()
    a, b = graph.edge_index
    value = torch.randn(409, 2)
    expected = sum_common(graph, a, b, value)
    found = sum_common(graph.to("cuda"), a.cuda(), b.cuda(), value.cuda())
    assert torch.allclose(found.cpu(), expected)
