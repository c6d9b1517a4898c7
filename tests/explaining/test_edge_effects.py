import dataclasses

import pytest
import torch
from support.awkward import GRAPHS
from support.covering import covering

from sgat.data.node_data import NodeData
from sgat.explaining import edge_effects
from sgat.explaining.edge_effects import (
    Effect,
    effect_without,
    estimated_effects,
    logits_without,
)
from sgat.features import SparseFeatures
from sgat.models import SGAT
from sgat.ops import reference
from sgat.readouts.beliefs import BeliefReadout
from sgat.scored import score_graphs


def node_data(graph, seed: int) -> NodeData:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(graph.num_nodes, 5, generator=generator)
    y = torch.zeros(graph.num_nodes, dtype=torch.long)
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    return NodeData(graph, x, y, nobody, nobody, nobody, ("a", "b", "c"))


def some_model(seed: int, **options) -> SGAT:
    if options.get("readout") == "diffusion":
        options["steps"] = options.pop("layers", 2)
    model = SGAT(5, 7, 3, gate_bias=0.3, **options)
    generator = torch.Generator().manual_seed(seed)
    model.reset_parameters(generator)
    if isinstance(model.classifier, BeliefReadout):
        # They start at 0, and then nobody is heard.
        torch.nn.init.normal_(model.classifier.compatible, generator=generator)
    return model.eval()


@torch.no_grad()
def plain_logits(model, data, scores, dropped, node=slice(None)):
    """All nodes, with the gates of the dropped edges set to 0, by the reference."""
    gate = scores.gate.clone()
    gate[dropped] = 0
    opened = reference.with_gates(data.graph, gate, torch.zeros(()))
    return model(data.x, opened)[node]


def chances(logits, told):
    """Probability of what is predicted, summed over the nodes."""
    each = torch.arange(len(told))
    return logits.double().softmax(dim=1)[each, told.argmax(dim=1)].sum()


@covering(
    {
        "awkward_graph": list(GRAPHS),
        "layers": [1, 2, 3],
        "readout": ["linear", "attention", "diffusion", "beliefs", "deep"],
    },
    indirect=["awkward_graph"],
)
def test_a_node_without_an_edge_is_what_the_whole_graph_says(
    awkward_graph, layers, readout, seed
):
    data = node_data(awkward_graph, seed)
    model = some_model(seed, layers=layers, readout=readout)
    scored = score_graphs(model, [data])[0]
    scores = scored.edges
    node = int(awkward_graph.row_ptr.diff().argmax())
    start, stop = awkward_graph.row_ptr[node : node + 2].tolist()
    edges = torch.arange(start, min(stop, start + 20))
    # Edges elsewhere count, too: they reach the node through its neighbours.
    other = torch.arange(awkward_graph.num_edges)[::7][:5]
    sets = [torch.arange(0), *edges.split(1), edges, other]
    found = logits_without(model, scored, node, sets)
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
    scored = score_graphs(model, [data])[0]
    sets = list(torch.arange(graph.num_edges).split(3))
    done: list[tuple[int, int]] = []
    at_once = logits_without(model, scored, 3, sets)
    monkeypatch.setattr(edge_effects, "MOST_ENTRIES", 1)
    one_by_one = logits_without(
        model, scored, 3, sets, progress=lambda *counts: done.append(counts)
    )
    torch.testing.assert_close(at_once, one_by_one, rtol=1e-4, atol=1e-5)
    assert done == [(number, len(sets)) for number in range(1, len(sets) + 1)]
    assert at_once.std(dim=0).max() > 1e-4


def test_no_sets_give_no_scores(seed):
    data = node_data(GRAPHS["chain"](), seed)
    model = some_model(seed)
    scored = score_graphs(model, [data])[0]
    assert logits_without(model, scored, 0, []).shape == (0, 3)


@covering(
    {
        "awkward_graph": list(GRAPHS),
        "layers": [1, 2, 3],
        "readout": ["linear", "attention", "diffusion", "beliefs", "deep"],
    },
    indirect=["awkward_graph"],
)
def test_the_effect_on_all_nodes_is_what_the_whole_graph_says(
    awkward_graph, layers, readout, seed
):
    data = node_data(awkward_graph, seed)
    model = some_model(seed, layers=layers, readout=readout)
    scored = score_graphs(model, [data])[0]
    scores = scored.edges
    before = plain_logits(model, data, scores, torch.arange(0))
    edges = torch.arange(awkward_graph.num_edges)[::5][:9]
    for dropped in (*edges.split(1), edges):
        found = effect_without(model, scored, dropped)
        after = plain_logits(model, data, scores, dropped)
        change = chances(after, before) - chances(before, before)
        # Single precision, summed over all nodes.
        rounding = max(1e-4, 1e-6 * awkward_graph.num_nodes)
        assert found.change == pytest.approx(float(change), abs=rounding)
        flips = after.argmax(dim=1) != before.argmax(dim=1)
        assert found.flips == int(flips.sum())
        moved = (after - before).abs().amax(dim=1) > 1e-5
        assert int(moved.sum()) <= found.reached <= awkward_graph.num_nodes


def test_several_labels_count_each(seed):
    graph = GRAPHS["random undirected"]()
    data = node_data(graph, seed)
    y = torch.zeros(graph.num_nodes, 3)
    data = dataclasses.replace(data, y=y)
    model = some_model(seed)
    scored = score_graphs(model, [data])[0]
    scores = scored.edges
    dropped = torch.arange(0, graph.num_edges, 3)
    before = plain_logits(model, data, scores, torch.arange(0))
    after = plain_logits(model, data, scores, dropped)
    is_on = before > 0
    one, other = (
        torch.where(is_on, p, 1 - p).sum()
        for p in (before.double().sigmoid(), after.double().sigmoid())
    )
    found = effect_without(model, scored, dropped)
    assert found.change == pytest.approx(float(other - one), abs=1e-4)
    assert found.flips == int((is_on != (after > 0)).any(dim=1).sum())


@pytest.mark.parametrize("readout", ["linear", "diffusion", "beliefs"])
def test_the_estimate_is_the_derivative_over_the_attention_that_is_left(
    awkward_graph, readout, seed
):
    data = node_data(awkward_graph, seed)
    model = some_model(seed, readout=readout)
    scored = score_graphs(model, [data])[0]
    scores = scored.edges
    found = estimated_effects(model, scored)
    gate = scores.gate.clone().requires_grad_()
    opened = reference.with_gates(data.graph, gate, torch.zeros(()), with_closed=True)
    logits = model(data.x, opened)
    chances(logits, logits).backward()
    wanted = -gate.detach() * gate.grad
    if readout != "beliefs":
        wanted /= (1 - scores.attention).clamp(min=0.01)
    assert found.shape == (awkward_graph.num_edges,)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-5)
    assert not found[~scores.kept].any()


def test_gates_that_see_the_whole_graph_stay_as_they_are(seed):
    # Common neighbours of a part of the graph would be fewer, and the gates others.
    graph = GRAPHS["random undirected"]()
    data = node_data(graph, seed)
    model = some_model(seed, scorer="structure", layers=1)
    torch.nn.init.normal_(model.gating.scorer.common_weight, std=3.0)
    scored = score_graphs(model, [data])[0]
    whole = model(data.x, graph).detach()
    for node in range(graph.num_nodes):
        found = logits_without(model, scored, node, [torch.arange(0)])[0]
        torch.testing.assert_close(found, whole[node], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "deaf",
    [
        {"readout": "beliefs", "layers": 0},
        {"readout": "diffusion", "layers": 0},
        {"readout": "diffusion", "restart": 1.0},
    ],
)
def test_where_nobody_is_heard_no_edge_has_an_effect(deaf, seed):
    graph = GRAPHS["random undirected"]()
    data = node_data(graph, seed)
    model = some_model(seed, **deaf)
    scored = score_graphs(model, [data])[0]
    scores = scored.edges
    assert model.reach == 0 and scores.kept.any()
    assert not estimated_effects(model, scored).any()
    every = torch.arange(graph.num_edges)
    assert effect_without(model, scored, every) == Effect(0.0, 0, 0)
    alone = logits_without(model, scored, 3, [every])
    torch.testing.assert_close(alone[0], model(data.x, graph)[3].detach())
