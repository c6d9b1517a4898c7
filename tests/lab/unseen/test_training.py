import contextlib
import dataclasses

import pytest
import torch
from support.small_data import block_graph

from sgat_lab.unseen import training
from sgat_lab.unseen.layers import PeerEdges
from sgat_lab.unseen.peers import KINDS, PeerSetting
from sgat_lab.unseen.scaling import ScaledFeatures
from sgat_lab.unseen.scores import ScoredNodes
from sgat_lab.unseen.training import PeerData, PeerTraining, hide_test

DATA = block_graph()
GCN = PeerSetting("gcn", hidden=16)


def given(data=DATA, metric="accuracy"):
    return PeerData.of(data, ScaledFeatures(data.x), metric, "cpu")


def other_test_labels(data):
    changed = (data.y + 1) % data.num_classes
    return dataclasses.replace(data, y=torch.where(data.test, changed, data.y))


def test_classes_of_test_nodes_are_hidden():
    hidden = hide_test(DATA)
    assert (hidden.y[DATA.test] == -1).all()
    assert torch.equal(hidden.y[DATA.train | DATA.val], DATA.y[DATA.train | DATA.val])


def test_test_labels_change_nothing():
    first, second = (
        PeerTraining(GCN, given(data), seed=0).run(12)
        for data in (DATA, other_test_labels(DATA))
    )
    assert torch.equal(first.logits, second.logits)
    assert first.quality == second.quality


def test_some_epochs_learn_something():
    found = PeerTraining(GCN, given(), seed=0).run(60)
    test = ScoredNodes.of(DATA.test, DATA.y)
    assert float(test.score(found.logits, "accuracy")) > 0.6


def test_the_prediction_is_that_of_the_best_epoch():
    run = PeerTraining(GCN, given(), seed=0, keep_weights=True)
    best, logits = (-1.0, 0.0), None
    for epoch in range(1, 16):
        before = run.quality
        run.run(epoch)
        if run.quality > before:
            best, logits = run.quality, run.logits.clone()
    assert run.quality == best
    assert torch.equal(run.logits, logits)
    again = run.predict(ScaledFeatures(DATA.x), PeerEdges.of(DATA.graph))
    torch.testing.assert_close(again, run.logits)


def test_patience_ends_a_training(monkeypatch):
    monkeypatch.setattr(training, "CHECK", 1)
    still = dataclasses.replace(GCN, lr=0.0, dropout=0.0)
    run = PeerTraining(still, given(), seed=0, patience=4).run(50)
    assert run.has_ended and run.epochs == 5


def test_the_same_seed_is_the_same_training():
    one, two, other = (
        PeerTraining(GCN, given(), seed=seed).run(5).logits for seed in (3, 3, 4)
    )
    assert torch.equal(one, two) and not torch.equal(one, other)


def test_roc_auc_can_choose():
    data = block_graph(num_classes=2)
    run = PeerTraining(GCN, given(data, "roc_auc"), seed=0).run(20)
    val = ScoredNodes.of(data.val, data.y)
    assert run.quality[0] == float(val.score(run.logits, "roc_auc")) > 0.5


def test_other_graphs_need_kept_weights():
    run = PeerTraining(GCN, given(), seed=0)
    with pytest.raises(ValueError, match="`keep_weights` must be on"):
        run.predict(ScaledFeatures(DATA.x), PeerEdges.of(DATA.graph))


@pytest.mark.parametrize("fails", [False, True])
def test_products_in_tf32_end_with_a_training(fails):
    before = torch.get_float32_matmul_precision()
    with contextlib.suppress(KeyError), training.tensor_cores(torch.device("cuda")):
        assert torch.get_float32_matmul_precision() == "high"
        if fails:
            raise KeyError
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_strong", [False, True])
def test_replayed_epochs_learn_as_others(kind, is_strong):
    setting = PeerSetting(kind, is_strong, hidden=16, norm="batch")
    data = PeerData.of(DATA, ScaledFeatures(DATA.x, "cuda"), "accuracy", "cuda")
    found = [
        PeerTraining(setting, data, seed=0, capture=capture).run(60)
        for capture in (True, False)
    ]
    assert found[0].capture and found[0].epochs == 60
    assert abs(found[0].quality[0] - found[1].quality[0]) < 0.2
