"""Verdict: what a model says of one node, in the user's class names."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor

from sgat.data.node_data import NodeData


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a model says of a node.

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


def verdict_of(data: NodeData, logits: Tensor) -> Verdict:
    """What the class scores of one node, [C], say."""
    probability = probabilities(data, logits).tolist()
    named = dict(zip(data.classes, probability, strict=True))
    if data.is_multilabel:
        return Verdict(label_of(data, logits), named)
    return Verdict(data.classes[int(logits.argmax())], named)


def probabilities(data: NodeData, logits: Tensor) -> Tensor:
    """Probability of each class or label, [..., C] in float64."""
    wide = logits.double()
    return wide.sigmoid() if data.is_multilabel else wide.softmax(dim=-1)


def label_of(data: NodeData, y: Tensor) -> Any:
    """The class with the number y, None for -1; or the labels that are positive."""
    if data.is_multilabel:
        return [name for name, on in zip(data.classes, y > 0, strict=True) if on]
    return data.classes[int(y)] if int(y) >= 0 else None
