"""Calibration: a temperature for the class scores, fitted on the validation nodes."""

import dataclasses
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from scipy.optimize import minimize_scalar
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.node_classifier import NodeClassifier
from sgat.training import metrics

LEAST_NODES = 20
"""Validation nodes below which the class scores stay as they are."""
LOWEST, HIGHEST = 0.05, 20.0
"""Bounds of the temperature."""
BINS = 15
"""Bins of equal width by which the calibration error groups probabilities."""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The temperature of a model, and its calibration error on the validation nodes."""

    temperature: float
    error_before: float | None  # with temperature 1; None without validation nodes
    error_after: float | None


def fit_temperature(logits: Tensor, y: Tensor) -> float:
    """The temperature T > 0 whose softmax(logits / T) has the lowest loss.

    The loss shares ε = 1 / (n + 2) of every node among all classes (Platt, 1999), so
    that few nodes that are all right do not ask for certainty. It is convex in 1 / T. T
    is 1 for fewer than `LEAST_NODES` nodes and where no other is better. Logits are
    [n, C], y classes, [n], or labels, [n, C].
    """
    if len(y) < LEAST_NODES:
        return 1.0
    wide, smoothing = logits.double().cpu(), 1 / (len(y) + 2)
    target = y.cpu()
    if y.dim() == 2:
        target = target.double() * (1 - 2 * smoothing) + smoothing

    def loss(log_temperature: float) -> float:
        scaled = wide / math.exp(log_temperature)
        if target.dim() == 2:
            return F.binary_cross_entropy_with_logits(scaled, target).item()
        return F.cross_entropy(scaled, target, label_smoothing=smoothing).item()

    bounds = math.log(LOWEST), math.log(HIGHEST)
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return math.exp(found.x) if found.fun < loss(0.0) else 1.0


def calibration_error(logits: Tensor, y: Tensor) -> float:
    """Mean difference of probabilities and shares of right predictions.

        Σ_b |Σ_{i in bin b} (p_i - right_i)| / n

    p_i is the probability of the predicted class; with several labels, that of each.
    """
    probability = metrics.probabilities(logits.cpu(), y.dim() == 2)
    right = y.cpu() > 0
    if y.dim() == 1:
        probability, predicted = probability.max(dim=1)
        right = predicted == y.cpu()
    value = probability.flatten()
    place = (value * BINS).long().clamp(max=BINS - 1)
    gap = torch.bincount(place, weights=value - right.flatten().double())
    return gap.abs().sum().item() / len(value)


@torch.no_grad()
def calibrate(model: NodeClassifier, graphs: Sequence[NodeData]) -> Calibration:
    """Fit the temperature of a trained model and set it; predictions stay."""
    parts = [data for data in graphs if bool(data.val.any())]
    if not parts:
        return Calibration(1.0, None, None)
    temperature = model.eval().class_temperature.fill_(1)
    logits = torch.cat([model(data.x, data.graph)[data.val] for data in parts])
    metrics.check_logits(logits)
    y = torch.cat([data.y[data.val] for data in parts])
    temperature.fill_(fit_temperature(logits, y))
    before, after = (calibration_error(logits / t, y) for t in (1, temperature))
    return Calibration(temperature.item(), before, after)
