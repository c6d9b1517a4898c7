"""Metrics: predictions from class scores, how good they are, and the loss.

Everything here is tensors on the device of its arguments, of shapes that do not depend
on their values, so that an epoch with its evaluation can be captured.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.config.sections import Metric

TITLES = {
    **{"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"},
    **{"macro_f1": "macro-F1", "roc_auc": "ROC AUC"},
    **{"average_precision": "average precision", "micro_f1": "micro-F1"},
}
"""Metrics by the names of settings and files, and as people read them."""


def check_logits(logits: Tensor) -> None:
    """Refuse class scores that are no numbers, as finite but huge weights give."""
    if not bool(logits.isfinite().all()):
        raise ValueError(
            "The class scores of the model are not finite: its weights, or the"
            " features, are too large; train it again, or scale the features."
        )


def decide(logits: Tensor, is_multilabel: bool) -> Tensor:
    """The class of the highest score, [N]; or the labels of positive score, [N, C]."""
    return logits > 0 if is_multilabel else logits.argmax(dim=-1)


def probabilities(logits: Tensor, is_multilabel: bool) -> Tensor:
    """Probability of each class or label, [..., C] in float64."""
    wide = logits.double()
    return wide.sigmoid() if is_multilabel else wide.softmax(dim=-1)


def accuracy(prediction: Tensor, y: Tensor) -> Tensor:
    """Share of nodes whose predicted class is theirs, [N] each; NaN without nodes."""
    return (prediction == y).double().mean()


def micro_f1(prediction: Tensor, y: Tensor) -> Tensor:
    """F1 of all (node, label) decisions together, [N, C]; NaN without nodes.

    F1 = 2 TP / (2 TP + FP + FN)
    """
    if not len(y):
        return torch.full((), torch.nan, dtype=torch.float64, device=y.device)
    true = y > 0
    hits = (prediction & true).sum().double()
    total = prediction.sum() + true.sum()
    return 2 * hits / total.clamp(min=1)


def balanced_accuracy(prediction: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """Mean recall TP / (TP + FN) of the classes that nodes have; NaN without nodes."""
    hits, true, _ = _counts(prediction, y, num_classes)
    return _mean_where(true > 0, hits / true)


def macro_f1(prediction: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """Mean F1 of the classes, or labels, that nodes have or are predicted to have."""
    hits, true, predicted = _counts(prediction, y, num_classes)
    total = true + predicted
    return _mean_where(total > 0, 2 * hits / total)


def roc_auc(probability: Tensor, y: Tensor) -> Tensor:
    """Chance that a node of a class has a higher probability of it than another node.

        AUC = (Σ_{i of the class} rank_i - P (P + 1) / 2) / (P (N - P))

    Ranks of nodes that tie are their mean. With two classes it is that of the last;
    with more, or with several labels per node, the mean over those that some nodes
    have and some have not; NaN without any. `probability` is [N, C].
    """
    return _mean_of_columns(_roc_auc, probability, y)


def average_precision(probability: Tensor, y: Tensor) -> Tensor:
    """Mean over the nodes of a class of the precision at the probability of each.

        AP = (1 / P) Σ_{i of the class} #{j of the class: p_j ≥ p_i} / #{j: p_j ≥ p_i}

    With two classes it is that of the one with fewer nodes, of equals the last: a rare
    class is what is looked for. More, and several labels, are as in `roc_auc`.
    """
    if y.dim() == 1 and probability.shape[1] == 2:
        is_first = 2 * (y == 0).sum() < len(y)
        probability = torch.where(is_first, probability.flip(1), probability)
        y = torch.where(is_first, 1 - y, y)
    return _mean_of_columns(_average_precision, probability, y)


RANKED = {"roc_auc": roc_auc, "average_precision": average_precision}
"""Metrics of probabilities; the others are of predictions."""
BY_CLASS = {"macro_f1": macro_f1, "balanced_accuracy": balanced_accuracy}


def _columns(y: Tensor, num_classes: int) -> Tensor:
    """Whether each node is of each class, or has each label, [N, C] bool."""
    if y.dim() == 2:
        return y > 0
    return y[:, None] == torch.arange(num_classes, device=y.device)


def _counts(prediction: Tensor, y: Tensor, num_classes: int) -> tuple[Tensor, ...]:
    """Nodes of each class that are found, that there are, that are predicted, [C]."""
    true, predicted = (_columns(part, num_classes) for part in (y, prediction))
    parts = (true & predicted, true, predicted)
    return tuple(part.sum(dim=0).double() for part in parts)


def _mean_where(counts: Tensor, value: Tensor) -> Tensor:
    """Mean of the values that count, [C] each; NaN if none does."""
    return torch.where(counts, value, 0).sum() / counts.sum()


def _mean_of_columns(
    measure: Callable[[Tensor, Tensor], Tensor], probability: Tensor, y: Tensor
) -> Tensor:
    true = _columns(y, probability.shape[1])
    if y.dim() == 1 and probability.shape[1] == 2:
        true, probability = true[:, 1:], probability[:, 1:]
    # Training that diverges is told by its loss; NaN has no place in an order.
    pairs = zip(probability.nan_to_num().T.contiguous(), true.T, strict=True)
    found = torch.stack([measure(*pair) for pair in pairs])
    return _mean_where(true.any(dim=0) & ~true.all(dim=0), found)


def _roc_auc(value: Tensor, true: Tensor) -> Tensor:
    ordered, number = value.sort().values, true.sum().double()
    below = torch.searchsorted(ordered, value)
    rank = (below + torch.searchsorted(ordered, value, right=True) + 1).double() / 2
    above = torch.where(true, rank, 0).sum() - number * (number + 1) / 2
    return above / (number * (len(true) - number))


def _average_precision(value: Tensor, true: Tensor) -> Tensor:
    ordered, order = value.sort()
    hit = true[order].long()
    first = torch.searchsorted(ordered, ordered)  # of those that tie
    before = (hit.cumsum(0) - hit)[first]
    precision = (hit.sum() - before).double() / (len(hit) - first)
    return (precision * hit).sum() / hit.sum()


def score_name(is_multilabel: bool, metric: Metric = "auto") -> str:
    """Name of the score that judges the task, a key of `TITLES`."""
    usual = "micro_f1" if is_multilabel else "accuracy"
    return usual if metric == "auto" else metric


def score_predictions(
    prediction: Tensor, probability: Tensor, y: Tensor, metric: Metric = "auto"
) -> Tensor:
    """Score of predicted classes [N] or labels [N, C] with their probabilities [N, C].

    A scalar in float64, without waiting for the device; NaN where it has no value.
    """
    if metric in RANKED:
        return RANKED[metric](probability, y)
    if metric in BY_CLASS:
        return BY_CLASS[metric](prediction, y, probability.shape[1])
    return (micro_f1 if y.dim() == 2 else accuracy)(prediction, y)


def score(logits: Tensor, y: Tensor, metric: Metric = "auto") -> Tensor:
    """The same, from class scores [N, C]."""
    several = y.dim() == 2
    values = probabilities(logits, several) if metric in RANKED else logits
    return score_predictions(decide(logits, several), values, y, metric)


def as_number(score: Tensor) -> float | None:
    """A score as a number, which waits for the device; None for NaN."""
    return None if score.isnan() else score.item()


def check_metric(metric: Metric, y: Tensor, num_classes: int, role: str) -> None:
    """Refuse a metric that has no value on the nodes of a role."""
    if y.dim() == 2 and metric in ("accuracy", "balanced_accuracy"):
        raise ValueError(
            "`metric` must be auto, roc_auc, average_precision or macro_f1 where nodes"
            f" have several labels, got {metric!r}."
        )
    if score(y.new_zeros(len(y), num_classes).float(), y, metric).isnan():
        raise ValueError(
            f"`metric` must be auto where all {role} nodes are of one class, got"
            f" {metric!r}."
        )


def class_weights(y: Tensor, num_classes: int) -> Tensor:
    """Weight of each class in the loss, [C]: w_c ∝ 1 / n_c, mean over the nodes 1."""
    if y.dim() == 2:
        raise ValueError(
            "`class_weights` must be false where nodes have several labels."
        )
    number = _columns(y, num_classes).sum(dim=0)
    return torch.where(number > 0, len(y) / (number * (number > 0).sum()), 0.0)


def loss_on(logits: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean cross-entropy (eq. 1) for classes [N]; binary for labels [N, C].

    With a weight for each class, [C], the mean is weighted.
    """
    if y.dim() == 2:
        each = F.binary_cross_entropy_with_logits(
            logits, y.to(logits), reduction="none"
        )
        return each.mean(0).mean()  # a sum of all would round by the number of threads
    if logits.is_cuda:
        return _cross_entropy(logits, y, weight)
    return F.cross_entropy(logits, y, weight)


def _cross_entropy(logits: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    """Cross-entropy by elementwise passes: torch's own uses one block of a GPU."""
    log_probability = F.log_softmax(logits, dim=1)
    chosen = torch.where(_columns(y, logits.shape[1]), log_probability, 0)
    if weight is None:
        return -chosen.sum() / len(y)
    return -(chosen.sum(dim=0) * weight).sum() / weight[y].sum()
