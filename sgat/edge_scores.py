"""EdgeScores: what a trained model says about each edge."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from sgat.gates import Gates
from sgat.graph import Graph


@dataclasses.dataclass(frozen=True, eq=False)
class EdgeScores:
    """Scores of the edges at evaluation, in the order of the graph.

    Attributes:
        log_alpha: Location log α_ij of the gate, [E].
        probability: P(z_ij ≠ 0), [E].
        gate: Gate z_ij at evaluation, in [0, 1], [E].
        kept: Whether evaluation keeps the edge, [E] bool.
        attention: Share a_ij in what the target hears, [E]; None if not computed.
        loop_attention: Share a_ii of each node's self-loop, [N]; None likewise.
    """

    log_alpha: Tensor
    probability: Tensor
    gate: Tensor
    kept: Tensor
    attention: Tensor | None = None
    loop_attention: Tensor | None = None

    @classmethod
    def from_log_alpha(
        cls, log_alpha: Tensor, graph: Graph, gates: Gates
    ) -> EdgeScores:
        """Everything that follows from log α and the weights of the edges."""
        log_alpha = log_alpha.detach()
        kept = gates.is_kept(log_alpha)
        gate = torch.where(kept, gates.value(log_alpha), 0)
        weight = gate if graph.weight is None else gate * graph.weight.to(gate)
        loop = graph.loop_weights.to(gate)
        row_sum = torch.index_add(loop, 0, graph.dst, weight)
        inverse = torch.where(row_sum > 0, 1 / row_sum, 0)
        return cls(
            log_alpha=log_alpha,
            probability=gates.probability_open(log_alpha),
            gate=gate,
            kept=kept,
            attention=weight * inverse[graph.dst],
            loop_attention=loop * inverse,
        )

    def to(self, device: torch.device | str) -> EdgeScores:
        """The same scores on another device."""
        moved: dict[str, Any] = {
            field.name: None if value is None else value.to(device)
            for field in dataclasses.fields(self)
            for value in [getattr(self, field.name)]
        }
        return EdgeScores(**moved)
