"""ScoredGraph: a graph with its edge and node scores, made once after training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from sgat import ops
from sgat.config.sections import Metric, RealMetric
from sgat.data.node_data import NodeData, labelled
from sgat.gates import Gates
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.training import metrics

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

SMALL_CLASS = 0.2
"""Share of the labelled nodes below which a class makes the classes uneven."""
SCORES = ("log_alpha", "probability", "gate", "kept", "attention")
"""Columns of a score table, after those of the input; `attention` if it is used."""


@dataclasses.dataclass(frozen=True, eq=False)
class EdgeScores:
    """Scores of the edges at evaluation, in the order of the graph; None if unknown."""

    log_alpha: Tensor  # location log α_ij of the gate, [E]
    probability: Tensor  # P(z_ij ≠ 0), of judged edges P(real), [E]
    gate: Tensor  # z_ij at evaluation, in [0, 1], [E]
    kept: Tensor  # whether evaluation keeps the edge, [E] bool
    attention: Tensor | None = None  # share a_ij in the messages to its target, [E]
    loop_attention: Tensor | None = None  # share a_ii of a node's self-loop, [N]

    @classmethod
    def by_model(cls, model: SGAT, log_alpha: Tensor, graph: Graph) -> EdgeScores:
        """The scores of a model: as its read-out uses them, and as its judge judged."""
        found = cls.from_log_alpha(log_alpha, graph, model.gating.gates)
        probability = model.probability_of(found.log_alpha)
        found = dataclasses.replace(found, probability=probability)
        if model.uses_attention:
            return found
        return dataclasses.replace(found, attention=None, loop_attention=None)

    @classmethod
    def from_log_alpha(
        cls, log_alpha: Tensor, graph: Graph, gates: Gates
    ) -> EdgeScores:
        """The scores that a model gives edges of these log α."""
        log_alpha = log_alpha.detach()
        kept = gates.is_kept(log_alpha)
        gate = torch.where(kept, gates.value(log_alpha), 0)
        return cls.from_gates(log_alpha, gate, kept, graph, gates)

    @classmethod
    def from_gates(
        cls, log_alpha: Tensor, gate: Tensor, kept: Tensor, graph: Graph, gates: Gates
    ) -> EdgeScores:
        """All scores, where edges are kept with gates of their own."""
        weight = gate if graph.weight is None else gate * graph.weight.to(gate)
        loop = graph.loop_weights.to(gate)
        row_sum = torch.index_add(loop, 0, graph.dst, weight)
        inverse = torch.where(row_sum > 0, 1 / row_sum, 0)
        attention = weight * inverse[graph.dst], loop * inverse
        return cls(log_alpha, gates.probability_open(log_alpha), gate, kept, *attention)

    @property
    def columns(self) -> dict[str, Tensor]:
        """The scores of a table, by their names in `SCORES`."""
        found = {name: getattr(self, name) for name in SCORES}
        return {name: part for name, part in found.items() if part is not None}

    def to(self, device: torch.device | str) -> EdgeScores:
        """The same scores on another device."""
        known = {name: part for name, part in vars(self).items() if part is not None}
        return EdgeScores(**{name: part.to(device) for name, part in known.items()})


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredGraph:
    """A graph with the scores of its edges and the predictions of its nodes.

    Training ends with one, a run folder stores it, and all that comes later reads it.
    """

    data: NodeData  # with labels and roles
    edges: EdgeScores  # where the graph is
    prediction: Tensor  # class of each node, [N]; or 0 or 1 per label, [N, C]
    probability: Tensor  # of each class or label, [N, C]


@torch.no_grad()
def score_graphs(
    model: SGAT,
    graphs: Sequence[NodeData],
    seen: Sequence[NodeData] | None = None,
    *,
    is_multilabel: bool | None = None,
) -> list[ScoredGraph]:
    """Score every edge of each graph once, and predict its nodes with these scores.

    `seen` is the same data on the model's device, as training had it; None moves it.
    Whether a node can have several labels goes by the data, unless it is said.
    """
    if seen is None:
        device = next(model.parameters()).device
        seen = [data.to(device) for data in graphs]
    scored = []
    for data, there in zip(graphs, seen, strict=True):
        edges, logits = _score(model, there)
        several = data.is_multilabel if is_multilabel is None else is_multilabel
        prediction = metrics.decide(logits, several)
        probability = metrics.probabilities(logits, several)
        edges = edges.to(data.graph.device)
        scored.append(ScoredGraph(data, edges, prediction, probability))
    return scored


def _score(model: SGAT, seen: NodeData) -> tuple[EdgeScores, Tensor]:
    """Scores of the edges, and class scores of the nodes, [N, C], on the CPU."""
    gating, graph = model.gating, model.judged(seen.x, seen.graph)
    scores = gating.score(model.scaling(seen.x), graph)
    opened = ops.open_edges(graph, *scores, gates=gating.gates, backend=gating.backend)
    logits = model(seen.x, opened).cpu()
    metrics.check_logits(logits)
    del opened
    log_alpha = ops.log_alphas(graph, *scores)
    return EdgeScores.by_model(model, log_alpha, graph), logits


def node_score(
    scored: Sequence[ScoredGraph], role: str | None = None, metric: Metric = "auto"
) -> tuple[float | None, int]:
    """Score of the nodes of a role, None where it has no value; their number.

    Without a role the test nodes count, or all labelled nodes if none is for testing.
    """
    if role is None and any(bool(part.data.test.any()) for part in scored):
        role = "test"
    found = []
    for part in scored:
        mask = getattr(part.data, role) if role else labelled(part.data.y)
        if part.data.y.shape != part.prediction.shape:
            raise ValueError(
                "`y` must have the shape of the predictions,"
                f" {list(part.prediction.shape)}, got {list(part.data.y.shape)}."
            )
        found.append((part.prediction[mask], part.probability[mask], part.data.y[mask]))
    prediction, probability, y = map(torch.cat, zip(*found, strict=True))
    value = metrics.score_predictions(prediction, probability, y, metric)
    return metrics.as_number(value), len(y)


def uneven_scores(scored: Sequence[ScoredGraph]) -> dict[str, float | None] | None:
    """Every metric of the test nodes, and the share of their largest class.

    None where no class has less than `SMALL_CLASS` of the labelled nodes, where nodes
    have several labels, and without test nodes.
    """
    y, size = torch.cat([part.data.y for part in scored]), scored[0].data.num_classes
    tested = y[torch.cat([part.data.test for part in scored])]
    if y.dim() == 2 or not len(tested):
        return None
    shares = torch.bincount(y[y >= 0], minlength=size) / (y >= 0).sum()
    if shares.min() >= SMALL_CLASS:
        return None
    names: tuple[RealMetric, ...] = get_args(RealMetric)
    found: dict[str, float | None] = {
        name: node_score(scored, "test", name)[0] for name in names
    }
    return found | {"largest_class": tested.bincount().max().item() / len(tested)}


def edge_table(scored: Sequence[ScoredGraph]) -> Any:
    """One row per edge with the user's node ids, the weight and all scores."""
    tables = []
    for data, found in ((part.data, part.edges) for part in scored):
        src, dst = data.graph.src.cpu().numpy(), data.graph.dst.cpu().numpy()
        ids = data.node_ids
        columns = {
            "src": src if ids is None else ids[src],
            "dst": dst if ids is None else ids[dst],
            "weight": data.graph.edge_weight.cpu().numpy(),
            **{name: np.asarray(part) for name, part in found.columns.items()},
        }
        table = pd.DataFrame(columns)
        if len(scored) > 1:
            table.insert(0, "graph", data.name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def score_table(files: FileGraph, scores: EdgeScores) -> Any:
    """The rows of the user's edge table with the scores of each, M rows.

    A row that stands for both directions gets the larger score of the two. A self-loop
    has no log α, and probability, gate and `kept` are 1, 1 and true. `with_columns`
    says the rest.
    """
    return pa.concat_tables(score_parts(files, scores))


def score_parts(files: FileGraph, scores: EdgeScores) -> Iterator[Any]:
    """The same table some rows at a time."""
    from sgat.data.files.export import parts_with_columns

    loops: dict[str, float | Tensor] = {"probability": 1.0, "gate": 1.0, "kept": True}
    if scores.loop_attention is not None:
        loops["attention"] = scores.loop_attention
    return parts_with_columns(files, scores.columns, loops)


def node_table(scored: Sequence[ScoredGraph]) -> Any:
    """Id, prediction, label, split and probabilities of every node."""
    from sgat.data.files import prediction_table

    tables = []
    for part in scored:
        table = prediction_table(part.data, part.probability)
        if len(scored) > 1:
            name = pa.array([part.data.name] * len(table))
            table = table.add_column(0, "graph", name)
        tables.append(table)
    return pa.concat_tables(tables)
