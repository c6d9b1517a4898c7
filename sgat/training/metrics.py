"""Accuracy, micro-F1, and which of the two a task is judged by."""

from __future__ import annotations

import torch
from torch import Tensor


def accuracy(logits: Tensor, y: Tensor) -> Tensor:
    """Share of nodes whose highest score is their class; NaN without nodes.

    Args:
        logits: Class scores, [N, C].
        y: Class of each node, [N].

    Returns:
        A scalar on the device of the scores, in float64.
    """
    return (logits.argmax(dim=1) == y).double().mean()


def micro_f1(logits: Tensor, y: Tensor) -> Tensor:
    """F1 of all (node, label) decisions together; NaN without nodes.

        F1 = 2 TP / (2 TP + FP + FN),   a label is predicted iff its score is positive

    Args:
        logits: Label scores, [N, C].
        y: True labels, 0 or 1, [N, C].

    Returns:
        A scalar on the device of the scores, in float64.
    """
    if not len(y):
        return torch.full((), torch.nan, dtype=torch.float64, device=y.device)
    predicted, true = logits > 0, y > 0
    hits = (predicted & true).sum().double()
    total = predicted.sum() + true.sum()
    return 2 * hits / total.clamp(min=1)


def score_name(is_multilabel: bool) -> str:
    """Name of the score that judges the task: "accuracy" or "micro_f1"."""
    return "micro_f1" if is_multilabel else "accuracy"


def score(logits: Tensor, y: Tensor) -> Tensor:
    """Micro-F1 for label columns [N, C], accuracy for classes [N]."""
    return micro_f1(logits, y) if y.dim() == 2 else accuracy(logits, y)
