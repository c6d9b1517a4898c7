"""Score and loss of any model on the nodes of some roles."""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.node_classifier import NodeClassifier
from sgat.training.metrics import loss_on, score


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
