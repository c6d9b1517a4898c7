import math

import pytest
import torch

from sgat.training import metrics


def test_the_highest_score_decides_or_each_positive_one():
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, -1.0, 5.0]])
    assert metrics.decide(logits, False).tolist() == [0, 1, 2]
    assert metrics.decide(logits, True)[2].tolist() == [True, False, True]


def test_probabilities_are_wide_and_by_row():
    logits = torch.tensor([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]], dtype=torch.float16)
    found = metrics.probabilities(logits, False)
    assert found.dtype == torch.float64
    assert found[0].tolist() == pytest.approx([1 / 3] * 3)
    assert found[1, 1] == pytest.approx(math.exp(-100))
    assert metrics.probabilities(logits, True)[1].tolist() == [1.0, 0.5, 0.5]


def test_accuracy_counts_what_is_right():
    assert metrics.accuracy(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 0])) == 2 / 3


def test_micro_f1_pools_all_labels():
    predicted = torch.tensor([[True, False], [True, True]])
    y = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    # 2 hits, 1 false alarm, 1 miss
    assert metrics.micro_f1(predicted, y) == 2 * 2 / (2 * 2 + 1 + 1)


def test_nothing_true_and_nothing_predicted_scores_zero():
    nothing = torch.zeros(3, 2)
    assert metrics.micro_f1(nothing > 0, nothing) == 0.0


def test_no_nodes_have_no_score():
    nobody = torch.empty(0, dtype=torch.long)
    assert math.isnan(metrics.accuracy(nobody, nobody))
    assert math.isnan(metrics.micro_f1(torch.empty(0, 3) > 0, torch.empty(0, 3)))


def test_the_shape_of_the_labels_chooses_the_score():
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    assert metrics.score(logits, torch.tensor([0, 1])) == 0.5
    assert metrics.score(logits, torch.tensor([[1.0, 0.0], [1.0, 1.0]])) == 1.0
    assert metrics.score_name(True) == "micro_f1"
    assert metrics.score_name(False) == "accuracy"
