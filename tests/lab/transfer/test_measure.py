import dataclasses

import pytest
import torch
from support.small_data import block_graph

from sgat.estimator import SGATClassifier
from sgat_lab.transfer import countries, measure
from sgat_lab.transfer.countries import Countries
from sgat_lab.transfer.measure import CASE, OURS, Leg, Transfer, legs, without

NAMES = ["DE", "ES", "RU"]


def graphs_of(labels_of_targets=0):
    made = [
        block_graph(num_classes=2, seed=seed, num_nodes=53 + 2 * seed)
        for seed in range(7)
    ]
    return [
        dataclasses.replace(data, y=(data.y + labels_of_targets * (n > 0)) % 2)
        for n, data in enumerate(made)
    ]


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(countries, "load", lambda name, root: graphs_of())
    return Transfer(Countries(), NAMES, device="cpu", epochs=3)


@pytest.fixture
def quick(monkeypatch):
    calls = []

    class Quick(SGATClassifier):
        def fit(self, data):
            calls.append(data)
            self.epochs, self.readout = 5, "linear"
            return super().fit(data)

    monkeypatch.setattr(measure, "SGATClassifier", Quick)
    return calls


def test_legs_are_all_sources_methods_and_seeds():
    found = legs(NAMES, ["gcn-plain", "sgat"], range(2))
    assert len(found) == 3 + 6
    assert Leg("RU", "gcn-plain", (0, 1)) in found and Leg("DE", "sgat", (1,)) in found


def test_seeds_with_every_target_are_left_out():
    row = dict(zip(CASE, ("DE", "ES", "sgat", 0.0), strict=True))
    work = [Leg("DE", "sgat", (0,)), Leg("DE", "sgat", (1,))]
    assert without(work, NAMES, [row]) == work
    assert without(work, NAMES, [row, row | {"target": "RU"}]) == work[1:]


def test_a_peer_scores_every_other_country(made):
    rows = list(made.rows(Leg("DE", "gcn-strong", (0,))))
    assert [row["target"] for row in rows] == ["ES", "RU"]
    for row in rows:
        assert 0 <= row["roc_auc"] <= 1 and 0 <= row["accuracy"] <= 1
        assert '"kind":"gcn"' in row["setting"]
    assert rows[0]["source_roc_auc"] == rows[1]["source_roc_auc"]


@pytest.mark.parametrize("method", OURS)
def test_ours_scores_every_other_country(made, quick, method):
    rows = list(made.rows(Leg("DE", method, (0,))))
    assert [row["target"] for row in rows] == ["ES", "RU"]
    assert len(quick) == (3 if OURS[method].has_second_round else 1)
    first = quick[0]
    is_standard = bool((first.x.mean(dim=0).abs() < 1e-3).all())
    assert is_standard == OURS[method].standardises
    for both in quick[1:]:
        source, target = both
        assert source is first and target.train.any() and not target.val.any()


@pytest.mark.parametrize("method", ["gcn-plain", "sgat-pseudo"])
def test_labels_of_targets_are_not_seen(made, quick, monkeypatch, method):
    leg = Leg("DE", method, (0,))
    made.targets = ["ES"]
    rows = list(made.rows(leg))
    monkeypatch.setattr(countries, "load", lambda name, root: graphs_of(1))
    others = Transfer(Countries(), ["ES"], device="cpu", epochs=3).rows(leg)
    for row, other in zip(rows, others, strict=True):
        assert other["accuracy"] == pytest.approx(1 - row["accuracy"])
        assert other["roc_auc"] == pytest.approx(1 - row["roc_auc"])
        assert other["source_roc_auc"] == row["source_roc_auc"]


def test_probabilities_are_scored_on_all_nodes(made):
    data = made.countries.graphs["ES"]
    perfect = torch.nn.functional.one_hot(data.y, 2).double()
    row = made._row(Leg("DE", "sgat", (0,)), "ES", 0, 0.5, perfect)
    assert row["roc_auc"] == row["accuracy"] == 1.0
