import dataclasses
import json
import math

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.explaining.node_explanation import Verdict, label_of, verdict_from, verdict_of


@pytest.fixture
def one():
    """Nodes of one class each, whose names are no strings."""
    return dataclasses.replace(block_graph(num_nodes=61), classes=("x", 7, None))


def test_the_likeliest_class_is_told_by_its_name(one):
    found = verdict_from(one, torch.tensor([0.0, math.log(2), math.log(5)]))
    assert found.prediction is None
    wanted = {"x": 1 / 8, 7: 2 / 8, None: 5 / 8}
    assert found.probabilities == pytest.approx(wanted)
    assert found.confidence == found.probabilities[None]
    assert json.loads(json.dumps(found.to_dict()))["probabilities"].keys() == {
        *("x", "7", "None")
    }


def test_several_labels_are_those_above_one_half():
    data = several_graphs()[0]
    logits = torch.full((data.num_classes,), -1.0)
    logits[[1, 4]] = torch.tensor([0.5, math.log(3)])
    found = verdict_from(data, logits)
    assert found.prediction == [data.classes[1], data.classes[4]]
    assert found.confidence is None
    assert found.probabilities[data.classes[4]] == pytest.approx(3 / 4)
    assert sum(found.probabilities.values()) > 1


def test_stored_predictions_are_told_as_they_are(one):
    found = verdict_of(one, torch.tensor(1), torch.tensor([0.5, 0.25, 0.25]))
    assert found == Verdict(7, {"x": 0.5, 7: 0.25, None: 0.25})


@pytest.mark.parametrize(("y", "label"), [(0, "x"), (1, 7), (-1, None)])
def test_labels_have_their_names_and_may_be_unknown(one, y, label):
    assert label_of(one, torch.tensor(y)) == label


def test_a_node_may_have_no_label_at_all():
    data = several_graphs()[0]
    assert label_of(data, torch.zeros(data.num_classes)) == []


def test_a_verdict_keeps_what_it_is_given():
    assert Verdict("a", {"a": 0.9, "b": 0.1}).confidence == 0.9
