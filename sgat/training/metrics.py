"""Metrics: predictions from class scores, their accuracy or micro-F1, and the loss."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.data.node_data import NodeData, labelled


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


def score_name(is_multilabel: bool) -> str:
    """Name of the score that judges the task: "accuracy" or "micro_f1"."""
    return "micro_f1" if is_multilabel else "accuracy"


def score_predictions(prediction: Tensor, y: Tensor) -> Tensor:
    """Micro-F1 of labels [N, C], accuracy of classes [N]."""
    return (micro_f1 if y.dim() == 2 else accuracy)(prediction, y)


def score(logits: Tensor, y: Tensor) -> Tensor:
    """The same, from class scores [N, C]."""
    return score_predictions(decide(logits, y.dim() == 2), y)


def loss_on(logits: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy (eq. 1) for classes [N]; binary for labels [N, C]."""
    if y.dim() == 2:
        return F.binary_cross_entropy_with_logits(logits, y.to(logits))
    if logits.is_cuda:
        return _cross_entropy(logits, y)
    return F.cross_entropy(logits, y)


def _cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy by elementwise passes: torch's own uses one block of a GPU."""
    log_probability = F.log_softmax(logits, dim=1)
    is_class = y[:, None] == torch.arange(logits.shape[1], device=y.device)
    return -torch.where(is_class, log_probability, 0).sum() / len(y)


def score_nodes(
    graphs: Sequence[NodeData], predictions: Sequence[Tensor], role: str | None = None
) -> tuple[float | None, int]:
    """Score of predictions on the nodes of a role, None without any; their number.

    Without a role the test nodes count, or all labelled nodes if none is for testing.
    """
    has_test = any(bool(data.test.any()) for data in graphs)
    found, labels = [], []
    for data, prediction in zip(graphs, predictions, strict=True):
        named = role is not None or has_test
        mask = getattr(data, role or "test") if named else labelled(data.y)
        found.append(prediction[mask])
        labels.append(data.y[mask])
    number = sum(map(len, labels))
    if not number:
        return None, 0
    value = score_predictions(torch.cat(found), torch.cat(labels))
    return value.item(), number
