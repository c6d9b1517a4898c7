import copy
import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

import sgat
from sgat.explaining.removal import removal_curve
from sgat.scored import score_graphs
from sgat_lab.trials.evaluation import evaluate

QUICK = {"fast": True, "hidden": 8, "epochs": 8, "keep": 0.5, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted():
    return sgat.SGATClassifier(**QUICK).fit(block_graph(num_nodes=101))


@pytest.fixture(scope="module")
def several():
    return sgat.SGATClassifier(**QUICK).fit(several_graphs())


@pytest.mark.parametrize("name", ["fitted", "several"])
def test_every_point_is_the_model_with_its_gate_bias_moved(name, request):
    classifier = request.getfixturevalue(name)
    model, scored = classifier.model_, classifier.scored_
    curve = removal_curve(model, scored, steps=5)
    assert len(curve) == 7
    log_alpha = torch.cat([part.edges.log_alpha for part in scored])
    threshold = model.gating.gates.threshold
    # Judged once: the verdict on an edge does not depend on where gates open.
    judged = [
        dataclasses.replace(data, graph=model.judged(data.x, data.graph))
        for data in classifier.graphs_
    ]
    for point in curve:
        moved = copy.deepcopy(model)
        with torch.no_grad():
            moved.gating.gate_bias += threshold - point.threshold
        val, test = evaluate(moved, judged, ("val", "test"))
        assert point.validation == pytest.approx(val.score)
        assert point.test == pytest.approx(test.score)
        # Moving the bias rounds: edges that tie at the border may all be beyond it.
        removed = int((log_alpha <= point.threshold).sum())
        at_border = int(((log_alpha - point.threshold).abs() < 1e-6).sum())
        assert abs(round(point.removed * len(log_alpha)) - removed) <= at_border


def test_the_curve_runs_from_all_edges_to_none_and_meets_the_run(fitted):
    curve = removal_curve(fitted.model_, fitted.scored_, steps=8)
    shares = [point.removed for point in curve]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    (trained,) = [point for point in curve if point.is_trained]
    assert trained.removed == pytest.approx((~fitted.edges_["kept"]).mean())
    assert trained.test == pytest.approx(fitted.score())
    assert trained.validation == pytest.approx(fitted.score(role="val"))
    data = fitted.graphs_[0]
    alone = data.graph.select(torch.zeros(data.graph.num_edges, dtype=torch.bool))
    with torch.no_grad():
        right = fitted.model_(data.x, alone).argmax(dim=1) == data.y
    assert curve[-1].test == pytest.approx(right[data.test].double().mean().item())


def test_without_edges_steps_or_roles_little_is_left_to_say(fitted):
    (point,) = removal_curve(fitted.model_, fitted.scored_, steps=0)
    assert point.is_trained and point.test == pytest.approx(fitted.score())
    data = fitted.graphs_[0]
    none = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    nobody = torch.zeros_like(data.val)
    bare = data.with_split(data.train, nobody, nobody)
    bare = dataclasses.replace(bare, graph=data.graph.select(none))
    (point,) = removal_curve(fitted.model_, score_graphs(fitted.model_, [bare]))
    assert (point.removed, point.validation, point.test) == (0, None, None)
    assert point.is_trained
