"""The score of a model against the share of edges that are removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sgat import ops
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.training import metrics
from sgat.training.budget import bias_shift

STEPS = 20


@dataclasses.dataclass(frozen=True)
class RemovalPoint:
    """The model with its lowest-scored edges removed.

    Attributes:
        removed: Share of all edges that is removed.
        threshold: The log α up to which they are.
        validation: Score on the validation nodes; None without any.
        test: Score on the test nodes; None without any.
        is_trained: Whether this is the threshold the model was trained with.
    """

    removed: float
    threshold: float
    validation: float | None
    test: float | None
    is_trained: bool = False


@torch.no_grad()
def removal_curve(
    model: SGAT,
    graphs: Sequence[NodeData],
    *,
    steps: int = STEPS,
    on_step: Callable[[int, int], None] | None = None,
) -> list[RemovalPoint]:
    """Evaluate a trained model with more and more of its edges removed.

    All log α are moved alike until so many edges fall below the threshold, which is
    what training does to keep exactly a share: gates of the edges left move with them.
    No weight is trained again. Edges that tie stay or go together.

    Args:
        model: The trained network, in evaluation mode.
        graphs: The data; the share is counted over the edges of all graphs together.
        steps: Number of steps from no edge to all edges removed.
        on_step: Called with the number of evaluations done and to do.

    Returns:
        Points by ascending share, that of the trained threshold among them; only that
        one where there are no edges.
    """
    gating = model.gating
    gates = gating.gates
    scores = [gating.score(data.x, model.judged(data.x, data.graph)) for data in graphs]
    parts = [
        ops.log_alphas(data.graph, *score)
        for data, score in zip(graphs, scores, strict=True)
    ]
    log_alpha = torch.cat(parts)
    num_edges = len(log_alpha)
    shares = [step / steps for step in range(steps + 1)] if num_edges else []
    kept = [round((1 - share) * num_edges) for share in shares]
    shifts = [(bias_shift(log_alpha, k, gates), False) for k in kept]
    shifts.append((log_alpha.new_zeros(()), True))
    points = []
    for done, (shift, is_trained) in enumerate(shifts):
        logits = [
            model(
                data.x,
                ops.open_edges(
                    data.graph,
                    *score._replace(dst=score.dst + shift),
                    gates=gates,
                    backend=gating.backend,
                ),
            )
            for data, score in zip(graphs, scores, strict=True)
        ]
        removed = int((~gates.is_kept(log_alpha + shift)).sum())
        points.append(
            RemovalPoint(
                removed=removed / max(num_edges, 1),
                threshold=gates.threshold - float(shift),
                validation=_score(logits, graphs, "val"),
                test=_score(logits, graphs, "test"),
                is_trained=is_trained,
            )
        )
        if on_step is not None:
            on_step(done + 1, len(shifts))
    return sorted(points, key=lambda point: (point.removed, point.threshold))


def _score(
    logits: Sequence[Tensor], graphs: Sequence[NodeData], role: str
) -> float | None:
    masks = [getattr(data, role) for data in graphs]
    if not any(bool(mask.any()) for mask in masks):
        return None
    found = torch.cat([part[mask] for part, mask in zip(logits, masks, strict=True)])
    labels = [data.y[mask] for data, mask in zip(graphs, masks, strict=True)]
    return metrics.score(found, torch.cat(labels)).item()
