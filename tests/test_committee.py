import copy
import dataclasses

import pandas as pd
import pytest
import torch
from support.small_data import block_graph, several_graphs

import sgat
from sgat import ops
from sgat.committee import Committee
from sgat.config import Config, ModelConfig
from sgat.explaining.edge_effects import effect_without
from sgat.explaining.node_explanation import explain_node
from sgat.explaining.removal import removal_curve
from sgat.scored import score_graphs
from sgat.training import saved_model
from sgat.training.fresh_model import build_sgat

SIZES = 13, 3, 41
CONFIGS = [
    ModelConfig(hidden=5, scorer="cosine", readout="attention", symmetric=True),
    ModelConfig(hidden=3, scorer="additive", readout="diffusion", symmetric=True),
    ModelConfig(hidden=4, scorer="additive", readout="linear", layers=3),
]


def committee(data, *, is_multilabel=False):
    sizes = data.num_features, data.num_classes, data.graph.num_edges
    members = [build_sgat(config, *sizes).eval() for config in CONFIGS]
    return Committee(members, is_multilabel=is_multilabel).eval()


@pytest.fixture
def data(seed):
    return block_graph(num_nodes=61)


@torch.no_grad()
def test_probabilities_are_the_mean_over_the_same_open_edges(data):
    model = committee(data)
    first = model.members[0]
    opened = first.compute(data.x, data.graph).opened
    parts = [member(data.x, opened).softmax(1) for member in model.members]
    found = model(data.x, data.graph).softmax(1)
    assert torch.allclose(found, torch.stack(parts).mean(0), atol=1e-6)
    # The class scores are logs of probabilities already.
    assert torch.allclose(model(data.x, data.graph).exp(), found, atol=1e-6)


@torch.no_grad()
def test_several_labels_have_the_log_odds_of_the_mean(seed):
    data = several_graphs()[0]
    model = committee(data, is_multilabel=True)
    opened = model.members[0].compute(data.x, data.graph).opened
    parts = [member(data.x, opened).sigmoid() for member in model.members]
    found = model(data.x, data.graph).sigmoid()
    assert torch.allclose(found, torch.stack(parts).mean(0), atol=1e-6)


@torch.no_grad()
def test_all_about_edges_is_that_of_the_first(data):
    model = committee(data)
    first = model.members[0]
    for name in ("log_alpha", "score_edges"):
        found = getattr(model, name)(data.x, data.graph)
        assert torch.equal(found, getattr(first, name)(data.x, data.graph))
    assert model.gating is first.gating and model.odds_line == first.odds_line
    assert model.noise_share is None and model.readout == "attention"
    # Explanations look as far as any member does.
    assert model.reach == 10 > first.reach
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = model.no_such_name


@torch.no_grad()
def test_a_pruned_graph_gives_the_same_answer(data):
    model = committee(data)
    pruned = model.prune(data.x, data.graph)
    assert torch.allclose(model(data.x, pruned), model(data.x, data.graph), atol=1e-5)


def test_new_weights_and_copies_are_of_all_members(data):
    model = committee(data)
    other = copy.deepcopy(model)
    before = model(data.x, data.graph)
    assert torch.equal(other(data.x, data.graph), before)
    other.reset_parameters(torch.Generator().manual_seed(5))
    for one, two in zip(model.members, other.members, strict=True):
        assert not torch.equal(one.gating.weight, two.gating.weight)


def test_scores_explanations_and_curves_take_a_committee(data):
    model = committee(data)
    (scored,) = score_graphs(model, [data])
    with torch.no_grad():
        expected = model(data.x, data.graph).softmax(1).double()
    assert torch.allclose(scored.probability, expected, atol=1e-6)
    node = explain_node(model, [scored], 7)
    assert node.reach == model.reach
    edge = torch.tensor([0])
    assert effect_without(model, scored, edge) is not None
    trained = [p for p in removal_curve(model, [scored], steps=2) if p.is_trained]
    assert len(trained) == 1


def test_a_committee_is_saved_and_read(data, tmp_path):
    model = committee(data)
    header = saved_model.model_header(data, 1, CONFIGS)
    saved = saved_model.SavedModel(Config(model=CONFIGS[0]), model, header)
    table = sgat.scored.edge_table(score_graphs(model, [data]))
    history = pd.DataFrame()
    saved_model.write_model(tmp_path / "m", saved, history, table)
    found = saved_model.read_model(tmp_path / "m").model
    assert isinstance(found, Committee) and len(found.members) == 3
    with torch.no_grad():
        assert torch.equal(found(data.x, data.graph), model(data.x, data.graph))
    assert sgat.load(tmp_path / "m").predict([data])[0].shape == (61,)


def test_judged_once_for_all_members(data, monkeypatch):
    config = dataclasses.replace(CONFIGS[0], scorer="evidence")
    members = [build_sgat(config, *SIZES).eval() for _ in range(2)]
    model = Committee(members, is_multilabel=False)
    seen = []
    judge = type(members[0].judge)
    whole = judge.log_odds
    monkeypatch.setattr(
        judge, "log_odds", lambda *given: seen.append(1) or whole(*given)
    )
    model(data.x, data.graph)
    assert len(seen) == 1
    assert isinstance(
        model.compute(data.x, ops.all_open(data.graph)).logits, torch.Tensor
    )
