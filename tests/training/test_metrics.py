import math

import torch

from sgat.training import metrics


def test_accuracy_counts_highest_scores():
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 5.0]])
    assert metrics.accuracy(logits, torch.tensor([0, 1, 0])) == 2 / 3


def test_micro_f1_pools_all_labels():
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    y = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    # 2 hits, 1 false alarm, 1 miss
    assert metrics.micro_f1(logits, y) == 2 * 2 / (2 * 2 + 1 + 1)


def test_nothing_true_and_nothing_predicted_scores_zero():
    assert metrics.micro_f1(torch.full((3, 2), -1.0), torch.zeros(3, 2)) == 0.0


def test_no_nodes_have_no_score():
    assert math.isnan(metrics.accuracy(torch.empty(0, 3), torch.empty(0).long()))
    assert math.isnan(metrics.micro_f1(torch.empty(0, 3), torch.empty(0, 3)))


def test_the_shape_of_the_labels_chooses_the_score():
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    assert metrics.score(logits, torch.tensor([0, 1])) == 0.5
    assert metrics.score(logits, torch.tensor([[1.0, 0.0], [1.0, 1.0]])) == 1.0
    assert metrics.score_name(True) == "micro_f1"
    assert metrics.score_name(False) == "accuracy"
