"""struc2vec: nodes alike are close, wherever they are."""

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_graphs import barbell, from_networkx, without_edges

from sgat.graph import Graph
from sgat_lab.embeddings.struc2vec import struc2vec


def all_apart(places: np.ndarray) -> np.ndarray:
    return np.linalg.norm(places[:, None] - places, axis=2)


def mirrored() -> Graph:
    """The karate club twice, as two components."""
    club = nx.karate_club_graph()
    return from_networkx(nx.disjoint_union(club, club))


def test_both_ends_of_a_barbell_are_close(seed):
    apart = all_apart(struc2vec(barbell(), seed=seed).places)
    clique = [*range(9), *range(21, 30)]
    scale = apart.mean()
    assert apart[np.ix_(clique, clique)].mean() < 0.2 * scale
    assert apart[9, 20] < 0.2 * scale, "the ends of the path in the cliques"
    mirrors = [apart[10 + step, 19 - step] for step in range(5)]
    assert np.mean(mirrors) < 0.25 * scale
    assert apart[clique, 9].mean() > 0.3 * scale
    assert apart[np.ix_(clique, range(10, 20))].mean() > 0.8 * scale


def test_mirrored_clubs_lie_on_each_other(seed):
    plane = struc2vec(mirrored(), seed=seed)
    apart = all_apart(plane.places)
    node = np.arange(34)
    assert apart[node, node + 34].mean() < 0.15 * apart.mean()
    assert (plane.component == 0).all(), "components are comparable"
    near = plane.near_pairs(78)
    assert ((near[0] < 34) != (near[1] < 34)).any()


def test_relabelled_nodes_are_as_close(seed):
    graph = barbell()
    order = torch.randperm(30)
    moved = Graph.from_edges(order[graph.edge_index], 30)
    before = all_apart(struc2vec(graph, seed=seed).places)
    after = all_apart(struc2vec(moved, seed=seed).places)[np.ix_(order, order)]
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.6


def test_seeds_make_places(seed):
    graph = barbell()
    first = struc2vec(graph, seed=seed).places
    assert (first == struc2vec(graph, seed=seed).places).all()
    assert (first != struc2vec(graph, seed=seed + 1).places).any()


def test_nodes_without_neighbours_are_near_nobody():
    edges = torch.tensor([[0, 1, 2, 4], [1, 2, 0, 5]])
    plane = struc2vec(Graph.from_edges(edges, 8))
    assert (plane.places[[3, 6, 7]] == 0).all()
    assert len(set(plane.component[[0, 3, 6, 7]].tolist())) == 4
    near = plane.near_pairs(99)
    assert set(near.ravel().tolist()) == {0, 1, 2, 4, 5}


@pytest.mark.parametrize("size", [0, 1, 5])
def test_no_edges_leave_all_at_the_origin(size):
    plane = struc2vec(without_edges(size))
    assert (plane.places == 0).all()
    assert plane.near_pairs(0).shape == (2, 0)


def test_one_edge_is_enough():
    plane = struc2vec(Graph.from_edges(torch.tensor([[0], [1]]), 2))
    assert np.isfinite(plane.places).all()
    assert plane.near_pairs(2).shape == (2, 2)
