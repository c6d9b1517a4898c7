"""Places of nodes against scikit-learn's Isomap and cases worked by hand."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from sklearn.manifold import Isomap

from sgat.graph import Graph
from sgat_lab.embeddings import isomap as module
from sgat_lab.embeddings.isomap import isomap


def random_tree_with_shortcuts(seed: int, size: int = 61) -> Graph:
    draw = np.random.default_rng(seed)
    parent = [int(draw.integers(node)) for node in range(1, size)]
    far = draw.integers(size, size=(2, 13))
    edges = np.concatenate([[parent, np.arange(1, size)], far], axis=1)
    edges = edges[:, edges[0] != edges[1]]
    return Graph.from_edges(
        torch.from_numpy(edges), size, make_undirected=True, say_merged=False
    )


def hops(graph: Graph) -> np.ndarray:
    shape = (graph.num_nodes, graph.num_nodes)
    ones = np.ones(graph.num_edges)
    matrix = csr_array((ones, (graph.dst.numpy(), graph.src.numpy())), shape=shape)
    return shortest_path(matrix, unweighted=True)


def up_to_sign(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return one * np.sign((one * other).sum(axis=0))


@pytest.mark.parametrize("size", [61, 211])
def test_places_are_those_of_scikit_learn(seed, size):
    graph = random_tree_with_shortcuts(seed, size)
    theirs = Isomap(n_neighbors=None, radius=1.0, metric="precomputed").fit_transform(
        hops(graph)
    )
    ours, component = isomap(graph)
    assert (component == 0).all()
    np.testing.assert_allclose(up_to_sign(ours, theirs), theirs, atol=2e-6)


def test_a_path_lies_on_a_line_one_step_apart():
    chain = torch.tensor([[0, 1, 2], [1, 2, 3]])
    places, _ = isomap(Graph.from_edges(chain, 4))
    assert np.abs(np.diff(places[:, 0])) == pytest.approx([1, 1, 1])
    assert places[:, 1] == pytest.approx(0)


def test_components_are_placed_apart_and_lonely_nodes_at_the_origin():
    edges = torch.tensor([[0, 1, 4], [1, 2, 5]])
    places, component = isomap(Graph.from_edges(edges, 6))
    assert len(set(component.tolist())) == 3
    assert sorted(places[[0, 1, 2], 0]) == pytest.approx([-1, 0, 1])
    assert sorted(places[[4, 5], 0]) == pytest.approx([-0.5, 0.5])
    assert (places[3] == 0).all()


def test_relabelling_moves_places_along(seed):
    graph = random_tree_with_shortcuts(seed)
    order = torch.randperm(graph.num_nodes)
    moved = Graph.from_edges(order[graph.edge_index], graph.num_nodes)
    places, again = isomap(graph)[0], isomap(moved)[0][order]
    np.testing.assert_allclose(up_to_sign(again, places), places, atol=2e-6)


def test_landmarks_give_nearly_the_same_places(seed, monkeypatch):
    graph = random_tree_with_shortcuts(seed, 211)
    exact, _ = isomap(graph)
    monkeypatch.setattr(module, "MOST_EXACT", 100)
    monkeypatch.setattr(module, "LANDMARKS", 101)
    near, _ = isomap(graph)
    # The plane may be turned; distances in it are not.
    apart = [np.linalg.norm(z[:, None] - z, axis=2).ravel() for z in (exact, near)]
    assert np.corrcoef(apart[0], apart[1])[0, 1] > 0.85
