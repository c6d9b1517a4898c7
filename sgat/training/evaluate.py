"""evaluate(): score a model on the nodes of a role, with evaluation gates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.node_classifier import NodeClassifier
from sgat.training import metrics


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
    logits: dict[str, list[Tensor]] = {role: [] for role in roles}
    labels: dict[str, list[Tensor]] = {role: [] for role in roles}
    for data in graphs:
        masks = {role: getattr(data, role) for role in roles}
        if not any(bool(mask.any()) for mask in masks.values()):
            continue
        scores = model(data.x, data.graph)
        for role, mask in masks.items():
            logits[role].append(scores[mask])
            labels[role].append(data.y[mask])
    results: list[Evaluation | None] = []
    for role in roles:
        y = torch.cat(labels[role]) if labels[role] else torch.empty(0)
        if not len(y):
            results.append(None)
            continue
        scores = torch.cat(logits[role])
        score = metrics.score(scores, y).item()
        results.append(Evaluation(score, loss_on(scores, y).item()))
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
        if role is not None or has_test:
            mask = getattr(data, role or "test")
        else:
            everyone = torch.ones(data.num_nodes, dtype=torch.bool)
            mask = everyone if data.is_multilabel else data.y >= 0
        found.append(prediction[mask])
        labels.append(data.y[mask])
    number = sum(map(len, labels))
    if not number:
        return None, 0
    score = metrics.score_predictions(torch.cat(found), torch.cat(labels))
    return score.item(), number
