import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn import metrics as sklearn

from sgat.training import metrics
from sgat.training.metrics import _cross_entropy

SHOWN = ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision")


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


@pytest.mark.parametrize("metric", ["auto", *SHOWN])
@pytest.mark.parametrize("num_classes", [2, 5])
def test_no_nodes_have_no_score(metric, num_classes):
    nobody = torch.empty(0, dtype=torch.long)
    found = metrics.score(torch.empty(0, num_classes), nobody, metric)
    assert found.isnan() and metrics.as_number(found) is None
    if metric == "auto":
        labels = torch.empty(0, num_classes)
        assert metrics.score(labels, labels).isnan()


def logits_with_ties(num_nodes, num_classes, seed):
    generator = torch.Generator().manual_seed(seed)
    # Few values, so that many nodes tie; exact multiples keep ties after softmax.
    return torch.randint(-2, 3, (num_nodes, num_classes), generator=generator).float()


def by_scikit_learn(metric, probability, prediction, y):
    """The metric of the docstrings by scikit-learn, one class against the rest."""
    if metric in ("accuracy", "balanced_accuracy"):
        return getattr(sklearn, f"{metric}_score")(y, prediction)
    if metric == "macro_f1":
        return sklearn.f1_score(y, prediction, average="macro")
    of_column = getattr(sklearn, f"{metric}_score")
    size = probability.shape[1]
    columns = [c for c in range(size) if (y == c).any()]
    if size == 2:
        columns = [int(metric == "roc_auc" or 2 * (y == 0).sum() >= len(y))]
    return np.mean([of_column(y == c, probability[:, c]) for c in columns])


@pytest.mark.parametrize("metric", SHOWN)
@pytest.mark.parametrize("num_classes", [2, 3, 7])
@pytest.mark.parametrize("ties", [True, False])
def test_scores_are_those_of_scikit_learn(metric, num_classes, ties, seed):
    logits = logits_with_ties(101, num_classes, seed)
    generator = torch.Generator().manual_seed(seed)
    if not ties:
        logits += torch.randn(logits.shape, generator=generator)
    # With seven classes, the last two have no nodes; predictions still name them.
    y = torch.randint(min(num_classes, 5), (101,), generator=generator)
    y[0] = 0
    y[1] = 1
    probability = metrics.probabilities(logits, False).numpy()
    prediction = metrics.decide(logits, False).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that are only predicted
        expected = by_scikit_learn(metric, probability, prediction, y.numpy())
    found = metrics.score(logits, y, metric)
    assert found.dtype == torch.float64 and found.shape == ()
    assert found.item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rare", [0, 1])
def test_average_precision_is_that_of_the_rarer_class_whatever_its_place(rare):
    y = torch.full((50,), 1 - rare)
    y[[3, 41]] = rare
    logits = torch.zeros(50, 2)
    logits[[3, 7, 8, 41], rare] = torch.tensor([4.0, 3.0, 2.0, 1.0])
    assert metrics.score(logits, y, "average_precision") == (1 + 2 / 4) / 2


@pytest.mark.parametrize("metric", metrics.RANKED)
def test_sums_of_many_ranks_are_not_rounded(metric, seed):
    logits, y = torch.randn(30011, 2), torch.arange(30011) % 5 % 2
    probability = metrics.probabilities(logits, False)[:, 1]
    expected = getattr(sklearn, f"{metric}_score")(y, probability)
    assert metrics.score(logits, y, metric).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "macro_f1"])
def test_several_labels_are_scored_one_by_one(metric, seed):
    logits = logits_with_ties(97, 5, seed)
    y = (logits_with_ties(97, 5, seed + 1) > 0).float()
    truth, probability = y.numpy(), metrics.probabilities(logits, True).numpy()
    if metric == "macro_f1":
        expected = sklearn.f1_score(truth, logits.numpy() > 0, average="macro")
    else:
        expected = getattr(sklearn, f"{metric}_score")(truth, probability)
    assert metrics.score(logits, y, metric).item() == pytest.approx(expected)
    # A label that no node has and none is predicted to have does not count.
    empty = torch.zeros(97, 1)
    more = torch.cat([logits, empty - 1], dim=1), torch.cat([y, empty], dim=1)
    assert metrics.score(*more, metric).item() == pytest.approx(expected)


@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("only", [0, 1])
def test_one_class_alone_cannot_be_ranked(num_classes, only):
    logits, y = torch.randn(11, num_classes), torch.full((11,), only)
    for metric in metrics.RANKED:
        assert metrics.score(logits, y, metric).isnan()
    recall = (logits.argmax(dim=1) == only).double().mean()
    assert metrics.score(logits, y, "balanced_accuracy") == recall


def test_equal_probabilities_are_worth_a_guess():
    y = torch.tensor([0, 0, 0, 1])
    logits = torch.zeros(4, 2)
    assert metrics.score(logits, y, "roc_auc") == 0.5
    assert metrics.score(logits, y, "average_precision") == 0.25
    assert metrics.score(logits, y, "balanced_accuracy") == 0.5


def test_scores_without_a_number_do_not_break_an_order():
    logits = torch.full((5, 3), torch.nan)
    y = torch.tensor([0, 1, 2, 0, 1])
    for metric in metrics.RANKED:
        assert metrics.score(logits, y, metric).isfinite()


def test_auto_goes_by_the_shape_of_the_labels():
    logits = torch.tensor([[1.0, -1.0], [1.0, 1.0]])
    assert metrics.score(logits, torch.tensor([0, 1])) == 0.5
    assert metrics.score(logits, torch.tensor([[1.0, 0.0], [1.0, 1.0]])) == 1.0
    assert metrics.score_name(True) == "micro_f1"
    assert metrics.score_name(False) == "accuracy"
    assert metrics.score_name(False, "roc_auc") == "roc_auc"
    assert metrics.TITLES.keys() == {*SHOWN, "micro_f1"}


def test_a_metric_without_a_value_is_refused():
    y = torch.zeros(7, dtype=torch.long)
    metrics.check_metric("balanced_accuracy", y, 3, "training")
    with pytest.raises(ValueError) as error:
        metrics.check_metric("roc_auc", y, 3, "validation")
    assert str(error.value) == (
        "`metric` must be auto where all validation nodes are of one class, got"
        " 'roc_auc'."
    )
    with pytest.raises(ValueError) as error:
        metrics.check_metric("accuracy", torch.ones(7, 3), 3, "training")
    assert str(error.value) == (
        "`metric` must be auto, roc_auc, average_precision or macro_f1 where nodes have"
        " several labels, got 'accuracy'."
    )


def test_class_weights_are_inverse_frequencies_with_mean_one():
    y = torch.tensor([0] * 6 + [1] * 3 + [3])
    weight = metrics.class_weights(y, 5)
    assert weight[:2].tolist() == pytest.approx([10 / 18, 10 / 9])
    assert weight[2] == weight[4] == 0 and weight[3] == pytest.approx(10 / 3)
    assert weight[y].mean() == pytest.approx(1.0)
    with pytest.raises(ValueError) as error:
        metrics.class_weights(torch.ones(3, 2), 2)
    assert str(error.value) == (
        "`class_weights` must be false where nodes have several labels."
    )


@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 2.0, 1.0, 0.1, 3.0])])
def test_the_cross_entropy_for_gpus_is_that_of_torch(weight):
    logits = torch.randn(31, 5, dtype=torch.float64)
    # A class that is ruled out has probability 0 and a logarithm without end.
    logits[:, 4] = -torch.inf
    logits.requires_grad_()
    y = torch.randint(4, (31,))
    weight = None if weight is None else weight.double()
    losses = [fn(logits, y, weight) for fn in (_cross_entropy, F.cross_entropy)]
    torch.testing.assert_close(*losses)
    grads = [torch.autograd.grad(loss, logits)[0] for loss in losses]
    torch.testing.assert_close(*grads)
    torch.testing.assert_close(metrics.loss_on(logits, y, weight), losses[0])
