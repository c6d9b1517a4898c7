"""Geom-GCN against loops over nodes, and its neighbours in the plane."""

import numpy as np
import pytest
import torch
from small_data import block_graph

from sgat.baselines import geom_gcn
from sgat.baselines.geom_gcn import (
    GeomGCN,
    build,
    direction,
    kinds_of,
    matrices,
    near_pairs,
)
from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.isomap import isomap


def pairs_of(near: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(near[0].tolist(), near[1].tolist(), strict=True))


def test_directions_are_those_of_the_paper():
    places = np.array([[0.0, 0.0], [-1, -1], [1, -1], [-1, 1], [1, 1], [0, 0]])
    src, dst = np.arange(1, 6), np.zeros(5, dtype=int)
    assert direction(places, src, dst).tolist() == [0, 1, 2, 3, 3]


def test_near_pairs_are_the_closest_as_many_as_asked_for(seed):
    places = np.random.default_rng(seed).standard_normal((37, 2))
    component = np.zeros(37, dtype=int)
    found = near_pairs(places, component, 58)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    closest = np.sort(apart[np.triu_indices(37, 1)])[28]
    expected = np.argwhere((apart <= closest + 1e-12) & ~np.eye(37, dtype=bool))
    assert pairs_of(found) == set(map(tuple, expected.tolist()))
    assert found.shape == (2, 58)


def test_nodes_in_one_place_are_near_and_other_components_are_not():
    places = np.array([[0.0, 0], [0, 0], [0, 0], [5, 5], [0, 0]])
    component = np.array([0, 0, 0, 0, 1])
    found = near_pairs(places, component, 2)
    assert pairs_of(found) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)}
    everyone = near_pairs(places, component, 99)
    assert len(pairs_of(everyone)) == 12, "never across components"


def test_no_edges_have_no_near_pairs():
    assert near_pairs(np.zeros((4, 2)), np.arange(4), 0).shape == (2, 0)


def test_too_many_nodes_in_one_place_are_refused(monkeypatch):
    monkeypatch.setattr(geom_gcn, "MOST_PAIRS", 5)
    with pytest.raises(ValueError, match="finds 6 pairs of nodes in one place"):
        near_pairs(np.zeros((3, 2)), np.zeros(3, dtype=int), 2)


def test_the_model_is_its_formula(seed):
    draw = np.random.default_rng(seed)
    graph = Graph.from_edges(torch.tensor([[0, 1, 1, 2, 4], [1, 0, 2, 1, 2]]), 5)
    places, near = draw.standard_normal((5, 2)), np.array([[0, 3, 3], [3, 0, 2]])
    x = torch.randn(5, 7)
    model = GeomGCN(7, 3, 2, dropout=0.0).eval()
    model.reset_parameters(torch.Generator().manual_seed(seed))

    neighbours = [
        *((0, int(j), int(i)) for j, i in graph.edge_index.T),
        *((1, int(j), int(i)) for j, i in near.T),
        *((2, i, i) for i in range(5)),
    ]
    heard = [sum(i == node for *_, i in neighbours) for node in range(5)]
    assert heard == [3, 3, 4, 2, 1]

    def layer(x, weight):
        blocks = weight.chunk(9, dim=1)
        out = [torch.zeros(5, blocks[0].shape[1]) for _ in range(9)]
        for space, j, i in neighbours:
            right, upper = places[j] >= places[i]
            kind = 8 if space == 2 else 4 * space + int(right) + 2 * int(upper)
            out[kind][i] += x[j] @ blocks[kind] / (heard[i] * heard[j]) ** 0.5
        return out

    first, second = (p.weight.detach() for p in model.projections)
    hidden = torch.cat(layer(x, first), dim=1).clamp(min=0)
    expected = torch.stack(layer(hidden, second)).mean(dim=0)
    geom_gcn._matrices[graph] = kinds_of(graph, places, near)
    with torch.no_grad():
        output = model.compute(x, graph)
    torch.testing.assert_close(output.logits, expected)
    torch.testing.assert_close(output.embedding, hidden)


def test_all_edges_and_as_many_near_pairs_are_heard():
    graph = block_graph().graph
    found = [len(m.values()) for m in matrices(graph)]
    assert sum(found[:4]) == graph.num_edges
    near = near_pairs(*isomap(graph), graph.num_edges)
    assert sum(found[4:8]) == near.shape[1] >= graph.num_edges
    assert found[8] == graph.num_nodes
    assert matrices(graph) is matrices(graph)


def test_other_embeddings_are_refused():
    config = ModelConfig(method="geom_gcn", options={"embedding": "poincare"})
    with pytest.raises(ValueError, match="must be 'isomap', got 'poincare'"):
        build(config, block_graph())
