"""Scores of class probabilities: accuracy, and ROC AUC of two classes.

Nothing waits for the device: the positions of both classes are found beforehand.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

Metric = Literal["accuracy", "roc_auc"]


class ScoredNodes(NamedTuple):
    """Nodes with known classes, found once.

    Attributes:
        node: Their positions, [M].
        y: Their classes, [M].
        positive: Places of those of class 1 among them, if the metric is ROC AUC.
        negative: Places of the others.
    """

    node: Tensor
    y: Tensor
    positive: Tensor
    negative: Tensor

    @classmethod
    def of(cls, mask: Tensor, y: Tensor) -> ScoredNodes:
        """The nodes of a mask, [N] bool, with their classes, [N]."""
        node = mask.nonzero().squeeze(1)
        label = y[node]
        places = ((label == 1).nonzero(), (label != 1).nonzero())
        return cls(node, label, *(place.squeeze(1) for place in places))

    def to(self, device: Any) -> ScoredNodes:
        """The same on another device."""
        return ScoredNodes(*(part.to(device) for part in self))

    def score(self, logits: Tensor, metric: Metric) -> Tensor:
        """Score of class scores of all nodes, [N, C]; a scalar in float64."""
        found = logits[self.node]
        if metric == "accuracy":
            return (found.argmax(dim=1) == self.y).double().mean()
        margin = (found[:, 1] - found[:, 0]).double()
        return roc_auc(margin[self.positive], margin[self.negative])


def roc_auc(positive: Tensor, negative: Tensor) -> Tensor:
    """Chance that a positive outdoes a negative, ties counted half; NaN without either.

    Args:
        positive: Scores of the positives, [P].
        negative: Scores of the negatives, [Q].
    """
    others = negative.sort().values
    below = torch.searchsorted(others, positive, right=False)
    upto = torch.searchsorted(others, positive, right=True)
    return (
        (below + upto).double().mean() / 2 / len(negative)
        if len(negative)
        else (torch.full((), torch.nan, dtype=torch.float64, device=positive.device))
    )
