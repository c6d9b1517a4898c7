"""Scaled features: the model scales what it is given, exactly once wherever it goes."""

import dataclasses

import numpy as np
import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

import sgat
from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.explaining import explain_node
from sgat.features import FeatureScaling, SparseFeatures
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.pruning.table_scores import node_scores
from sgat.scored import score_graphs
from sgat.training import checkpoint, files
from sgat.training.loop import Training, fit

TRAIN = TrainConfig(epochs=4, device="cpu")


def uneven(*, sparse: bool = False, **options) -> NodeData:
    """Features whose rows and columns differ in size."""
    data = block_graph(num_nodes=61, **options)
    generator = torch.Generator().manual_seed(3)
    x = data.x * torch.rand(data.x.shape[1], generator=generator) * 9
    x = x * (1 + torch.rand(len(x), 1, generator=generator)) + 1
    if sparse:
        mask = torch.rand(x.shape, generator=generator) < 0.4
        return dataclasses.replace(data, x=SparseFeatures.from_dense(x * mask))
    return dataclasses.replace(data, x=x)


def by_hand(data: NodeData, how: str) -> NodeData:
    scaling = FeatureScaling(data.num_features, how)
    scaling.fit([data.x])
    return dataclasses.replace(data, x=scaling(data.x))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", ["rows", "standard"])
@pytest.mark.parametrize("keep", [None, 0.5])
def test_training_sees_what_features_scaled_beforehand_would_be(
    how: str, sparse: bool, keep: float | None
):
    data, train = uneven(sparse=sparse), dataclasses.replace(TRAIN, keep=keep)
    model = paper_model(hidden=5)
    found = fit([data], dataclasses.replace(model, scaling=how), train)
    expected = fit([by_hand(data, how)], model, train)
    plain = fit([data], model, train)
    losses = [[r.loss for r in part.records] for part in (found, expected, plain)]
    assert losses[0] == losses[1] != losses[2]
    scores = score_graphs(found.sgat, [data])[0]
    other = score_graphs(expected.sgat, [by_hand(data, how)])[0]
    assert torch.equal(scores.probability, other.probability)
    assert torch.equal(scores.edges.log_alpha, other.edges.log_alpha)
    assert found.graphs[0].x is data.x, "the data itself stays"


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("how", ["rows", "standard"])
@pytest.mark.parametrize("scorer", ["additive", "evidence"])
def test_a_model_that_is_read_back_scales_as_it_did(
    how: str, sparse: bool, scorer: str, tmp_path
):
    data = uneven(sparse=sparse)
    options = {"scorer": scorer, "readout": "deep", "model": {"scaling": how}}
    clf = sgat.SGATClassifier(hidden=5, epochs=6, device="cpu", **options).fit(data)
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert np.array_equal(loaded.predict_proba(data), clf.predict_proba())
    assert loaded.score_edges(data).equals(clf.edges_)
    model, graph = loaded.model_, loaded.model_.judged(data.x, data.graph)
    logits = model(data.x, graph).detach().double()
    assert torch.equal(logits.softmax(1), torch.as_tensor(clf.predict_proba()))
    pruned = model(data.x, model.prune(data.x, graph)).double()
    torch.testing.assert_close(pruned, logits, rtol=1e-5, atol=1e-5)
    log_alpha = model.log_alpha(data.x, graph).detach().numpy()
    assert np.array_equal(log_alpha, clf.edges_["log_alpha"])
    found = explain_node(model, clf.scored_, 7)
    named = list(found.verdict.probabilities.values())
    assert named == pytest.approx(logits.softmax(1)[7].tolist(), abs=1e-5)
    # A part of the data has other columns; those of training count.
    x = (data.x.to_dense() if sparse else data.x)[:30]
    small = loaded.predict_proba(x.numpy(), np.empty((2, 0), int))
    alone = Graph.from_edges(torch.empty(2, 0, dtype=torch.long), 30)
    assert np.allclose(model(x, alone).detach().softmax(1), small, atol=1e-6)
    if how == "standard":
        twice = model(model.scaling(x), alone).detach().softmax(1)
        assert not np.allclose(twice, small, atol=1e-2)


@pytest.mark.parametrize("how", ["rows", "standard"])
def test_the_judge_sees_features_as_they_are(how: str):
    data = uneven()
    found = [
        Training([data], paper_model(scorer="evidence", scaling=scaling), TRAIN)
        for scaling in ("none", how)
    ]
    odds = [training.graphs[0].graph.log_odds for training in found]
    assert torch.equal(*odds)
    known = [training.model.judge.known_fingerprint for training in found]
    assert torch.equal(*known) and len(known[0])


def test_numbers_come_from_the_graphs_that_train():
    graphs = several_graphs()
    model = paper_model(hidden=5, scaling="standard")
    scaling = Training(graphs, model, TRAIN).model.scaling
    x = torch.cat([data.x for data in graphs[:3]])
    torch.testing.assert_close(scaling.mean, x.mean(0))


def test_tables_are_scored_by_scaled_features(seed: int):
    model, x = SGAT(7, 5, 3, scaling="standard"), torch.randn(13, 7) * 5 + 2
    model.scaling.fit([x])
    plain = SGAT(7, 5, 3)
    plain.load_state_dict(model.state_dict(), strict=False)
    found, expected = node_scores(model, x), node_scores(plain, model.scaling(x))
    assert np.array_equal(found.dst, expected.dst)


def test_a_resumed_run_scales_by_its_file(tmp_path):
    path, model = tmp_path / "state.safetensors", paper_model(scaling="standard")
    data = uneven()
    begun = Training([data], model, TRAIN)
    begun.run_epochs()
    checkpoint.save(begun, path)
    tensors, state = files.load_tensors(path)
    for group in ("model", "best"):
        tensors[f"{group}.scaling.spread"] *= 2
    files.save_tensors(path, tensors, state)
    other = Training([data], model, TRAIN)
    before = other.epochs.seen[0].x
    checkpoint.restore(other, path)
    torch.testing.assert_close(other.epochs.seen[0].x, before / 2)
    assert other.epoch == 1 and other.graphs[0].x is data.x
