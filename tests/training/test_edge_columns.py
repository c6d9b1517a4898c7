"""Gates that learn look at columns of edges; their gradients are right."""

import dataclasses

import pytest
import torch
from support.awkward import GRAPHS
from support.small_data import block_graph

from sgat import ModelConfig, ops
from sgat.config import TrainConfig
from sgat.data.files import FeatureColumn
from sgat.data.node_data import NodeData, fingerprint
from sgat.graph import Graph
from sgat.judging import judge
from sgat.models import SGAT
from sgat.training.choosing import Search
from sgat.training.fresh_model import build_sgat
from sgat.training.loop import Training

F = 3
COLUMNS = tuple(FeatureColumn(f"c{k}", "number", (), (0.0,), (1.0,)) for k in range(F))
LEARNED = ("additive", "cosine", "bilinear", "gatv2", "structure", "revised")


def with_columns(data: NodeData, attr: torch.Tensor) -> NodeData:
    graph = dataclasses.replace(data.graph, edge_attr=attr)
    return dataclasses.replace(data, graph=graph, edge_columns=COLUMNS)


def given(name: str = "random directed") -> tuple[torch.Tensor, Graph]:
    """Features, and a judged graph whose edges have numbers, in float64."""
    graph = GRAPHS[name]()
    odds = torch.randn(graph.num_edges).double()
    attr = torch.randn(graph.num_edges, F).double()
    x = torch.randn(graph.num_nodes, 5).double()
    return x, dataclasses.replace(graph, log_odds=odds, edge_attr=attr)


def network(scorer: str, backend: str = "auto", **options) -> SGAT:
    options = {"heads": 2, "rank": 3, "backend": backend, **options}
    torch.manual_seed(0)
    model = SGAT(5, 7, 2, scorer=scorer, edge_dim=F, **options).double()
    torch.nn.init.normal_(model.gating.attr_weight)
    return model


@pytest.mark.parametrize("scorer", LEARNED)
@pytest.mark.parametrize("name", ["random directed", "isolated node", "no edges"])
def test_gradients_are_those_of_the_reference(scorer: str, name: str, seed: int):
    x, graph = given(name)
    found = {}
    for backend in ("cpu", "reference"):
        model = network(scorer, backend)
        output = model.compute(x, graph, seed=seed)
        loss = output.logits.square().sum() + 0.1 * output.opened.penalty
        loss = loss + (0 if output.extra_loss is None else output.extra_loss)
        weights = [model.gating.attr_weight, model.gating.weight]
        grads = torch.autograd.grad(loss, weights, materialize_grads=True)
        found[backend] = loss.detach(), *grads
    for ours, theirs in zip(*found.values(), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert bool(found["cpu"][1].any()) == (name != "no edges")


@pytest.mark.parametrize("scorer", LEARNED)
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_term_is_that_of_the_formula(scorer: str, symmetric: bool, seed: int):
    x, graph = given("random undirected" if symmetric else "random directed")
    model = network(scorer, symmetric=symmetric)
    after, weight = model.log_alpha(x, graph), model.gating.attr_weight
    term = graph.edge_attr @ weight
    if symmetric:
        term = (term + term[graph.reverse_edge]) / 2
    torch.nn.init.zeros_(weight)
    torch.testing.assert_close(after, model.log_alpha(x, graph) + term)


def test_the_price_of_a_revision_counts_the_columns(seed: int):
    x, graph = given()
    model = network("revised").train()
    gating = model.gating
    gating.scorer.learn_from(11)
    price = model.compute(x, graph, seed=seed).extra_loss
    # Nothing else is corrected at the start.
    mean = (graph.edge_attr @ gating.attr_weight).square().mean()
    torch.testing.assert_close(price, mean / 11)


def test_a_model_of_data_without_columns_has_no_weight_for_them():
    config = ModelConfig(scorer="additive", readout="linear")
    names = set(build_sgat(config, 5, 2, 9).state_dict())
    more = set(build_sgat(config, 5, 2, 9, COLUMNS).state_dict())
    assert more - names == {"convs.0.attr_weight"} and not names - more
    config = dataclasses.replace(config, scorer="evidence")
    assert build_sgat(config, 5, 2, 9, COLUMNS).gating.attr_weight is None


@pytest.mark.parametrize("scorer", ["additive", "revised"])
def test_columns_of_zeros_change_no_bit_of_a_training(scorer: str):
    data = block_graph(num_nodes=61)
    config = ModelConfig(scorer=scorer, readout="linear", hidden=5)
    zeros = with_columns(data, torch.zeros(data.graph.num_edges, F))
    found = []
    for each in (data, zeros):
        training = Training([each], config, TrainConfig(epochs=4, device="cpu"))
        result = training.run()
        state = result.model.state_dict()
        assert not state.pop("convs.0.attr_weight", torch.zeros(F)).any()
        found.append((result.records, state))
    (one, first), (other, second) = found
    assert [r.loss for r in one] == [r.loss for r in other]
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_budget_pulls_no_weight_of_a_column_back_to_0():
    data = block_graph(num_nodes=61)
    data = with_columns(data, torch.randn(data.graph.num_edges, F))
    config = ModelConfig(scorer="additive", readout="linear", hidden=5)
    training = Training([data], config, TrainConfig(keep=0.5, device="cpu"))
    groups = training.epochs.optimiser.param_groups
    weight = training.model.gating.attr_weight
    (own,) = [g for g in groups if any(p is weight for p in g["params"])]
    assert own["weight_decay"] == 0


def test_other_columns_are_other_data():
    data = block_graph(num_nodes=61)
    zeros = torch.zeros(data.graph.num_edges, F)
    marks = [fingerprint([each]) for each in (data, with_columns(data, zeros))]
    marks.append(fingerprint([with_columns(data, zeros + 1)]))
    assert len(set(marks)) == 3


def test_evidence_has_no_weights_and_asks_the_judge():
    data = block_graph(num_nodes=61)
    attr = torch.randn(data.graph.num_edges, F)
    settings = {"readout": "linear", "hidden": 5}
    train = TrainConfig(epochs=1, device="cpu")
    for scorer in ("evidence", "auto"):
        model = ModelConfig(scorer=scorer, **settings)
        given = with_columns(data, attr)
        search = Search([given], model, train)
        assert search.first.model.gating.attr_weight is None
        (seen,) = search.observed.graphs
        wanted = judge(given.graph, data.x, data.y, train=data.train).graph.log_odds
        assert torch.equal(seen.graph.log_odds, wanted)


def test_the_paper_s_free_gates_look_too(seed: int):
    data = block_graph(num_nodes=61)
    data = with_columns(data, torch.randn(data.graph.num_edges, F))
    config = ModelConfig(gate_mode="transductive", readout="linear", hidden=5)
    result = Training([data], config, TrainConfig(epochs=2, device="cpu")).run()
    assert result.sgat.gating.attr_weight.any()
    opened = ops.open_edges(data.graph, *result.sgat.gating.score(data.x, data.graph))
    assert opened.penalty.isfinite()
