"""Verdict: the prediction of one node, in the user's class names."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.training import metrics


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The prediction of one node.

    Attributes:
        prediction: The class; with several labels per node, the list of labels.
        probabilities: Probability of each class or label, by its name.
    """

    prediction: Any
    probabilities: dict[Any, float]

    @property
    def confidence(self) -> float | None:
        """Probability of the predicted class; None with several labels."""
        if isinstance(self.prediction, list):
            return None
        return self.probabilities[self.prediction]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        named = {str(name): value for name, value in self.probabilities.items()}
        return {"prediction": self.prediction, "probabilities": named}


def verdict_of(data: NodeData, prediction: Tensor, probability: Tensor) -> Verdict:
    """The prediction of one node by names, from a `ScoredGraph`'s, [C] or a scalar."""
    named = dict(zip(data.classes, probability.tolist(), strict=True))
    return Verdict(label_of(data, prediction), named)


def verdict_from(data: NodeData, logits: Tensor) -> Verdict:
    """The same from the class scores of the node, [C]."""
    several = data.is_multilabel
    prediction = metrics.decide(logits, several)
    return verdict_of(data, prediction, metrics.probabilities(logits, several))


def label_of(data: NodeData, y: Tensor) -> Any:
    """The class with the number y, None for -1; or the labels that are positive."""
    if data.is_multilabel:
        return [name for name, on in zip(data.classes, y > 0, strict=True) if on]
    return data.classes[int(y)] if int(y) >= 0 else None
