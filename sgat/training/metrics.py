"""Metrics: predictions from class scores, their accuracy or micro-F1, and the loss.

Tested by tests/training/test_metrics.py and tests/training/test_evaluate.py.
"""

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.data.node_data import NodeData, labelled
from sgat.node_classifier import NodeClassifier


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


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Score and loss of a model on the nodes of one role."""

    score: float
    loss: float


@torch.no_grad()
def evaluate(
    model: NodeClassifier, graphs: Sequence[NodeData], roles: Sequence[str]
) -> list[Evaluation | None]:
    """Score a model with evaluation gates on the nodes of each role.

    Over all graphs together; None for a role that no node has.
    """
    model.eval()
    found: dict[str, list[tuple[Tensor, Tensor]]] = {role: [] for role in roles}
    for data in graphs:
        masks = {role: getattr(data, role) for role in roles}
        if any(bool(mask.any()) for mask in masks.values()):
            logits = model(data.x, data.graph)
            for role, mask in masks.items():
                found[role].append((logits[mask], data.y[mask]))
    results: list[Evaluation | None] = []
    for parts in found.values():
        if not any(len(y) for _, y in parts):
            results.append(None)
            continue
        logits, y = (torch.cat(side) for side in zip(*parts, strict=True))
        results.append(Evaluation(score(logits, y).item(), loss_on(logits, y).item()))
    return results


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
