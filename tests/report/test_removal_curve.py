import copy
import dataclasses

import pytest
import torch

from sgat.report.removal_curve import removal_curve
from sgat.training.evaluate import evaluate


@pytest.mark.parametrize("name", ["hostile_run", "undirected_run", "several_run"])
def test_every_point_is_the_model_with_its_gate_bias_moved(name, request):
    run = request.getfixturevalue(name)
    calls = []
    curve = removal_curve(
        run.model, run.graphs, steps=5, on_step=lambda *count: calls.append(count)
    )
    assert len(curve) == 7
    assert calls == [(done, 7) for done in range(1, 8)]
    log_alpha = torch.cat([scores.log_alpha for scores in run.scores])
    threshold = run.model.gating.gates.threshold
    for point in curve:
        moved = copy.deepcopy(run.model)
        with torch.no_grad():
            moved.gating.gate_bias += threshold - point.threshold
        val, test = evaluate(moved, run.graphs, ("val", "test"))
        assert point.validation == pytest.approx(val.score)
        assert point.test == pytest.approx(test.score)
        # Moving the bias rounds: both directions of the edge at the border may differ.
        removed = int((log_alpha <= point.threshold).sum())
        assert point.removed * len(log_alpha) == pytest.approx(removed, abs=2.01)


def test_the_curve_runs_from_all_edges_to_none_and_meets_the_run(hostile_run):
    run = hostile_run
    curve = removal_curve(run.model, run.graphs, steps=8)
    shares = [point.removed for point in curve]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    (trained,) = [point for point in curve if point.is_trained]
    assert trained.removed == pytest.approx(run.summary["removed_share"])
    assert trained.test == pytest.approx(run.summary["accuracy"])
    assert trained.validation == pytest.approx(run.summary["validation"])
    data = run.graphs[0]
    alone = data.graph.select(torch.zeros(data.graph.num_edges, dtype=torch.bool))
    with torch.no_grad():
        right = run.model(data.x, alone).argmax(dim=1) == data.y
    assert curve[-1].test == pytest.approx(right[data.test].double().mean().item())


def test_without_edges_or_roles_little_is_left_to_say(hostile_run):
    data = hostile_run.graphs[0]
    none = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    nobody = torch.zeros_like(data.val)
    bare = data.with_split(data.train, nobody, nobody)
    bare = dataclasses.replace(bare, graph=data.graph.select(none))
    (point,) = removal_curve(hostile_run.model, [bare])
    assert (point.removed, point.validation, point.test) == (0, None, None)
    assert point.is_trained
