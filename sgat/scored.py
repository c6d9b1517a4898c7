"""What a trained model says about every edge and node, as scores and as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.gates import Gates
from sgat.graph import Graph
from sgat.models import SGAT

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

SCORES = ("log_alpha", "probability", "gate", "kept", "attention")
"""Columns of a score table, after those of the input."""


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


def edge_scores(model: SGAT, graphs: Sequence[NodeData]) -> list[EdgeScores]:
    """Scores of all edges of each graph, on the CPU."""
    gates = model.gating.gates
    scores = []
    with torch.no_grad():
        for data in graphs:
            log_alpha = model.log_alpha(data.x, data.graph)
            found = EdgeScores.from_log_alpha(log_alpha, data.graph, gates)
            scores.append(found.to("cpu"))
    return scores


def edge_table(graphs: Sequence[NodeData], scores: Sequence[EdgeScores]) -> Any:
    """One row per edge with the user's node ids, the weight and all scores."""
    tables = []
    for data, found in zip(graphs, scores, strict=True):
        src, dst = data.graph.src.cpu().numpy(), data.graph.dst.cpu().numpy()
        ids = data.node_ids
        columns = {
            "src": src if ids is None else ids[src],
            "dst": dst if ids is None else ids[dst],
            "weight": data.graph.edge_weight.cpu().numpy(),
            "log_alpha": found.log_alpha.numpy(),
            "probability": found.probability.numpy(),
            "gate": found.gate.numpy(),
            "kept": found.kept.numpy(),
            "attention": np.asarray(found.attention),
        }
        table = pd.DataFrame(columns)
        if len(graphs) > 1:
            table.insert(0, "graph", data.name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def score_table(files: FileGraph, scores: EdgeScores) -> Any:
    """The rows of the user's edge table with the five scores of each, M rows.

    A row that stands for both directions gets the larger score of the two. A self-loop
    has no log α, and probability, gate and `kept` are 1, 1 and true. `with_columns`
    says the rest.
    """
    from sgat.data.files import with_columns

    loops: dict[str, float | Tensor] = {"probability": 1.0, "gate": 1.0, "kept": True}
    if scores.loop_attention is not None:
        loops["attention"] = scores.loop_attention
    values = {name: getattr(scores, name) for name in SCORES}
    return with_columns(files, values, loops)


@torch.no_grad()
def node_table(model: SGAT, graphs: Sequence[NodeData]) -> Any:
    """Id, prediction, label, split and probabilities of every node."""
    import pyarrow as pa

    from sgat.data.files import prediction_table

    tables = []
    for data in graphs:
        logits = model(data.x, data.graph).double()
        squash = torch.sigmoid if data.is_multilabel else _softmax
        table = prediction_table(data, squash(logits))
        if len(graphs) > 1:
            table = table.add_column(0, "graph", pa.array([data.name] * len(table)))
        tables.append(table)
    return pa.concat_tables(tables)


def _softmax(logits: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=1)
