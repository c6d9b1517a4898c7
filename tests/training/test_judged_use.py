"""Judged edges removed, weighed or all used: gates, messages and score tables."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph
from torch import Tensor

import sgat
from sgat import SGAT, ops
from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.explaining.removal import removal_curve
from sgat.gates import chosen_gates
from sgat.graph import Graph
from sgat.scored import EdgeScores
from sgat.training.fresh_model import fresh_model
from sgat.training.loop import fit

READOUTS = ["linear", "attention", "diffusion", "beliefs", "deep"]
USES = ["weigh", "all"]


@pytest.fixture(scope="module")
def data() -> NodeData:
    sizes = {"num_nodes": 101, "num_classes": 5, "degree": 8, "num_features": 17}
    return block_graph(**sizes, noise_rate=0.4, feature_signal=3.0)


def judged(data: NodeData, spread: float = 6.0) -> Graph:
    """The graph with odds of its own, the same in both directions, and weights."""
    graph = data.graph
    draw = torch.Generator().manual_seed(5)
    low, high = torch.minimum(graph.src, graph.dst), torch.maximum(graph.src, graph.dst)
    table = torch.randn(graph.num_nodes, graph.num_nodes, generator=draw) * spread
    odds = table[low.long(), high.long()].clamp(-12, 12)
    return dataclasses.replace(graph, log_odds=odds, weight=1 + odds.abs() / 7)


def as_weights(graph: Graph, use: str) -> Graph:
    """The graph that messages of such a use go by, all gates open."""
    factor = torch.sigmoid(graph.log_odds) if use == "weigh" else torch.ones(())
    return dataclasses.replace(
        graph, weight=graph.edge_weight * factor, square_sum=graph.square_sums
    )


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("use", USES)
def test_messages_count_by_the_probability_or_all_alike(
    data: NodeData, use: str, readout: str, training: bool, backend: str, seed: int
):
    options = {"scorer": "evidence", "judged_edges": use, "readout": readout}
    model = SGAT(17, 5, 5, backend=backend, **options).train(training)
    if readout == "beliefs":
        torch.nn.init.normal_(model.classifier.compatible)
    graph = judged(data)
    found = model.compute(data.x, graph, seed=seed)
    plain = ops.all_open(as_weights(graph, use), backend=backend)
    expected = model.compute(data.x, plain, seed=seed)
    torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-4)
    assert int(found.opened.num_open) == graph.num_edges
    removed = SGAT(17, 5, 5, scorer="evidence", readout=readout).train(training)
    opened = removed.compute(data.x, graph, seed=seed).opened
    assert 0 < int(opened.num_open) < graph.num_edges


@pytest.mark.parametrize("use", ["remove", *USES])
def test_score_tables_show_what_the_judge_said(data: NodeData, use: str):
    model = SGAT(17, 5, 5, scorer="evidence", judged_edges=use, gate_bias=0.3).eval()
    graph = judged(data)
    real = torch.sigmoid(graph.log_odds)
    with torch.no_grad():
        # As a table stores them.
        log_alpha = model.log_alpha(data.x, graph).float()
    scores = EdgeScores.by_model(model, log_alpha, graph)
    torch.testing.assert_close(scores.probability, real, rtol=1e-4, atol=1e-5)
    assert torch.equal(scores.log_alpha.argsort(), graph.log_odds.argsort())
    if use == "remove":
        assert torch.equal(scores.kept, graph.log_odds > -0.3)
        return
    assert bool(scores.kept.all())
    # The bias is part of every log α, as it is where edges are removed.
    weight = torch.sigmoid(graph.log_odds + 0.3) if use == "weigh" else real * 0 + 1
    torch.testing.assert_close(scores.gate, weight, rtol=1e-4, atol=2e-6)


def test_edges_are_kept_by_their_probability_where_some_are_removed(data: NodeData):
    clf = sgat.SGATClassifier(hidden=5, epochs=3, device="cpu", readout="attention")
    edges = clf.fit(data).edges_
    assert (edges["kept"] == (edges["probability"] > 0.5)).all()
    assert 0 < edges["kept"].sum() < len(edges)


@pytest.mark.parametrize("use", USES)
def test_a_classifier_learns_with_all_edges_and_is_read_back(
    data: NodeData, use: str, tmp_path
):
    options = {"readout": "deep", "model": {"judged_edges": use}, "device": "cpu"}
    clf = sgat.SGATClassifier(hidden=5, epochs=20, **options).fit(data)
    assert clf.edges_["kept"].all() and clf.noise_share_ > 0
    wanted = clf.edges_["probability"] if use == "weigh" else 1.0
    assert np.allclose(clf.edges_["gate"], wanted, atol=2e-6)
    plain = sgat.SGATClassifier(hidden=5, epochs=20, readout="deep", device="cpu")
    real = plain.fit(data).edges_["probability"]
    assert np.allclose(clf.edges_["probability"], real, atol=2e-5)
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert np.array_equal(loaded.predict_proba(data), clf.predict_proba())
    assert chosen_gates(loaded.config_.model) == loaded.model_.gating.gates
    # Rules may remove edges later: the least likely go first.
    small = clf.sparsify(keep=0.5)
    assert small.graph.num_edges <= 0.5 * data.graph.num_edges
    assert (clf.history_["kept_share"] == 1).all()


@pytest.mark.parametrize("use", USES)
def test_without_some_edges_the_others_count_as_before(data: NodeData, use: str):
    options = {"readout": "attention", "model": {"judged_edges": use}}
    clf = sgat.SGATClassifier(hidden=5, epochs=20, device="cpu", **options).fit(data)
    model, part = clf.model_, clf.scored_[0]
    curve = removal_curve(model, [part], steps=2)
    (point,) = [point for point in curve if 0.3 < point.removed < 0.7]
    kept = part.edges.log_alpha > point.threshold
    weight: Tensor = part.edges.gate * data.graph.edge_weight
    small = data.graph.select(kept, weight)
    with torch.no_grad():
        predicted = model(data.x, ops.all_open(small)).argmax(dim=1)
    right = (predicted == data.y)[data.test].double().mean()
    assert point.test == pytest.approx(float(right))


def test_a_share_to_keep_removes_edges(data: NodeData):
    for use in USES:
        model = paper_model(scorer="evidence", judged_edges=use)
        sentence = (
            "`judged_edges` must be remove with `keep`, which removes edges, got"
            f" {use}."
        )
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            fit([data], model, TrainConfig(keep=0.5))


@pytest.mark.parametrize("use", USES)
def test_gates_that_go_by_something_else_judge_no_edges(data: NodeData, use: str):
    sentence = (
        "`judged_edges` must be remove unless gates go by evidence, got"
        f" {use!r} with the scorer additive."
    )
    for given in ("additive", None):
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            SGAT(17, 5, 5, scorer=given, judged_edges=use)
    model = ModelConfig(scorer="cosine", readout="linear", judged_edges=use)
    with pytest.raises(ValueError, match="with the scorer cosine"):
        fresh_model(model, [data], TrainConfig(), None)
