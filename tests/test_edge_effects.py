import dataclasses

import pytest
import torch
from ops.awkward import GRAPHS

from sgat import edge_effects
from sgat.data.node_data import NodeData
from sgat.edge_effects import logits_without
from sgat.features import SparseFeatures
from sgat.models import SGAT
from sgat.ops import reference
from sgat.tables import edge_scores


def node_data(graph, seed: int) -> NodeData:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(graph.num_nodes, 5, generator=generator)
    y = torch.zeros(graph.num_nodes, dtype=torch.long)
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    return NodeData(graph, x, y, nobody, nobody, nobody, ("a", "b", "c"))


def some_model(seed: int, **options) -> SGAT:
    model = SGAT(5, 7, 3, gate_bias=0.3, **options)
    model.reset_parameters(torch.Generator().manual_seed(seed))
    return model.eval()


@torch.no_grad()
def plain_logits(model, data, scores, dropped, node):
    """All nodes, with the gates of the dropped edges set to 0, by the reference."""
    gate = scores.gate.clone()
    gate[dropped] = 0
    opened = reference.with_gates(data.graph, gate, torch.zeros(()))
    return model(data.x, opened)[node]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("readout", ["linear", "attention"])
def test_a_node_without_an_edge_is_what_the_whole_graph_says(
    awkward_graph, layers, readout, seed
):
    data = node_data(awkward_graph, seed)
    model = some_model(seed, layers=layers, readout=readout)
    scores = edge_scores(model, [data])[0]
    node = int(awkward_graph.row_ptr.diff().argmax())
    start, stop = awkward_graph.row_ptr[node : node + 2].tolist()
    edges = torch.arange(start, min(stop, start + 20))
    # Edges elsewhere count, too: they reach the node through its neighbours.
    other = torch.arange(awkward_graph.num_edges)[::7][:5]
    sets = [torch.arange(0), *edges.split(1), edges, other]
    found = logits_without(model, data, scores, node, sets)
    for dropped, logits in zip(sets, found, strict=True):
        wanted = plain_logits(model, data, scores, dropped, node)
        torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-5)
    whole = model(data.x, data.graph)[node].detach()
    torch.testing.assert_close(found[0], whole, rtol=1e-4, atol=1e-5)


def test_few_copies_at_a_time_say_the_same(monkeypatch, seed):
    graph = GRAPHS["random undirected"]()
    data = node_data(graph, seed)
    data = dataclasses.replace(data, x=SparseFeatures.from_dense(data.x.relu()))
    model = some_model(seed)
    scores = edge_scores(model, [data])[0]
    sets = list(torch.arange(graph.num_edges).split(3))
    done: list[int] = []
    at_once = logits_without(model, data, scores, 3, sets)
    monkeypatch.setattr(edge_effects, "MOST_ENTRIES", 1)
    one_by_one = logits_without(model, data, scores, 3, sets, progress=done.append)
    torch.testing.assert_close(at_once, one_by_one, rtol=1e-4, atol=1e-5)
    assert done == list(range(1, len(sets) + 1))
    assert at_once.std(dim=0).max() > 1e-4


def test_no_sets_give_no_scores(seed):
    data = node_data(GRAPHS["chain"](), seed)
    model = some_model(seed)
    scores = edge_scores(model, [data])[0]
    assert logits_without(model, data, scores, 0, []).shape == (0, 3)
