"""The score of a model against the share of edges that are removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from sgat import ops
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.scored import ScoredGraph
from sgat.training import metrics
from sgat.training.budget import bias_shift
from sgat.training.metrics import score_nodes

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
    scored: Sequence[ScoredGraph],
    seen: Sequence[NodeData] | None = None,
    *,
    steps: int = STEPS,
) -> list[RemovalPoint]:
    """Evaluate a trained model with more and more of its edges removed.

    All log α are moved alike until so many edges fall below the threshold, which is
    what training does to keep exactly a share: gates of the edges left move with them.
    No weight is trained again. Edges that tie stay or go together.

    Args:
        model: The trained network, in evaluation mode.
        scored: The graphs; the share is counted over the edges of all together.
        seen: The same data on the model's device; None moves it there.
        steps: Number of steps from no edge to all edges removed; 0 makes none.

    Returns:
        Points by ascending share, that of the trained threshold among them; only that
        one where there are no edges or no steps.
    """
    device = next(model.parameters()).device
    graphs = [part.data for part in scored]
    seen = [data.to(device) for data in graphs] if seen is None else seen
    gates = model.gating.gates
    sizes = [data.graph.num_edges for data in graphs]
    log_alpha = torch.cat([part.edges.log_alpha for part in scored]).to(device)
    num_edges = len(log_alpha)

    def point(predictions: list[Tensor], shift: Tensor) -> RemovalPoint:
        removed = int((~gates.is_kept(log_alpha + shift)).sum())
        return RemovalPoint(
            removed=removed / max(num_edges, 1),
            threshold=gates.threshold - float(shift),
            validation=score_nodes(graphs, predictions, "val")[0],
            test=score_nodes(graphs, predictions, "test")[0],
        )

    made = point([part.prediction for part in scored], log_alpha.new_zeros(()))
    points = [dataclasses.replace(made, is_trained=True)]
    for step in range(steps + 1 if num_edges and steps else 0):
        shift = bias_shift(log_alpha, round((1 - step / steps) * num_edges), gates)
        moved = (log_alpha + shift).split(sizes)
        predictions = [
            _prediction(model, *pair) for pair in zip(seen, moved, strict=True)
        ]
        points.append(point(predictions, shift))
    return sorted(points, key=lambda point: (point.removed, point.threshold))


def _prediction(model: SGAT, data: NodeData, log_alpha: Tensor) -> Tensor:
    """Predictions of the nodes with gates at these locations, on the CPU."""
    gating, graph = model.gating, data.graph
    zero = log_alpha.new_zeros(graph.num_nodes)
    opened = ops.open_edges(
        graph, zero, zero, log_alpha, gates=gating.gates, backend=gating.backend
    )
    return metrics.decide(model(data.x, opened), data.is_multilabel).cpu()
