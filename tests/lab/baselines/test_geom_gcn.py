"""Geom-GCN against loops over nodes, and its neighbours in the plane."""

import numpy as np
import pytest
import torch
from support.small_data import block_graph

from sgat.graph import Graph
from sgat_lab.baselines.baseline import PerGraph
from sgat_lab.baselines.geom_gcn import METHOD, GeomGCN, kinds_of, matrices
from sgat_lab.config import MethodConfig
from sgat_lab.embeddings.named import EMBEDDINGS
from sgat_lab.embeddings.plane import Plane


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
    plane = Plane(places, np.zeros(5, dtype=int))
    model.matrices = PerGraph(lambda graph: kinds_of(graph, plane, near))
    with torch.no_grad():
        output = model.compute(x, graph)
    torch.testing.assert_close(output.logits, expected)
    torch.testing.assert_close(output.embedding, hidden)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_all_edges_and_as_many_near_pairs_are_heard(embedding):
    graph = block_graph().graph
    found = [len(m.values()) for m in matrices(graph, embedding)]
    assert sum(found[:4]) == graph.num_edges
    near = EMBEDDINGS[embedding](graph).near_pairs(graph.num_edges)
    assert sum(found[4:8]) == near.shape[1] >= graph.num_edges
    assert found[8] == graph.num_nodes
    assert min(found) > 0, "every direction has neighbours"


def test_embeddings_of_one_graph_are_kept_apart():
    graph = block_graph().graph
    values = [matrices(graph, name)[0].to_dense() for name in EMBEDDINGS]
    assert not torch.equal(values[0], values[1])
    assert not torch.equal(values[1], values[2])


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_the_option_says_where_nodes_are(embedding):
    config = MethodConfig(method="geom_gcn", options={"embedding": embedding})
    assert METHOD.build(config, block_graph()).embedding == embedding


def test_unknown_embeddings_are_refused():
    config = MethodConfig(method="geom_gcn", options={"embedding": "umap"})
    with pytest.raises(
        ValueError, match="one of isomap, poincare, struc2vec, got 'umap'"
    ):
        METHOD.build(config, block_graph())
