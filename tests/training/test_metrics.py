import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from support.small_data import block_graph, several_graphs

from sgat.training import metrics
from sgat.training.metrics import _cross_entropy, score_nodes


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


def test_the_cross_entropy_for_gpus_is_that_of_torch():
    logits = torch.randn(31, 5, dtype=torch.float64)
    # A class that is ruled out has probability 0 and a logarithm without end.
    logits[:, 4] = -torch.inf
    logits.requires_grad_()
    y = torch.randint(4, (31,))
    losses = [function(logits, y) for function in (_cross_entropy, F.cross_entropy)]
    torch.testing.assert_close(*losses)
    grads = [torch.autograd.grad(loss, logits)[0] for loss in losses]
    torch.testing.assert_close(*grads)


def test_without_a_role_test_nodes_are_scored_else_all_that_are_labelled():
    data = block_graph()
    y = data.y.clone()
    y[:100] = -1
    nobody = torch.zeros_like(data.test)
    untested = dataclasses.replace(data.with_split(data.train, nobody, nobody), y=y)
    predicted = torch.randint(3, (data.num_nodes,))
    right = predicted == data.y
    for graph, role, mask in (
        (data, None, data.test),
        (data, "train", data.train),
        (untested, None, y >= 0),
    ):
        score, number = score_nodes([graph], [predicted], role)
        assert number == int(mask.sum()) > 0
        assert score == pytest.approx(right[mask].double().mean().item())
    assert score_nodes([untested], [predicted], "test") == (None, 0)


def test_predictions_on_several_graphs_are_scored_together():
    graphs = several_graphs()
    every = [torch.randn(data.num_nodes, 7) > 0 for data in graphs]
    found, number = score_nodes(graphs, every)
    assert number == graphs[4].num_nodes
    predicted, labels = every[4], graphs[4].y > 0
    both = int((predicted & labels).sum())
    assert found == pytest.approx(2 * both / int(predicted.sum() + labels.sum()))
    trained = sum(data.num_nodes for data in graphs[:3])
    assert score_nodes(graphs, every, "train")[1] == trained
