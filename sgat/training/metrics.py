"""Predictions from class scores; accuracy and micro-F1 of predictions."""

from __future__ import annotations

import torch
from torch import Tensor


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
