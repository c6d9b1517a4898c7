"""NodeExplanation: why a node got its prediction, edge by edge."""

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData
from sgat.explaining.edge_effects import Count, both_ways, logits_without
from sgat.models import SGAT
from sgat.readouts.deep import DeepReadout
from sgat.readouts.diffusion import DiffusionReadout
from sgat.scored import ScoredGraph
from sgat.training import metrics

TOP = 30
"""Kept edges that are dropped in turn, unless asked otherwise."""
MOST_SEARCHED = 20_000
"""Ids among which a similar one is looked for."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The prediction of one node, in the user's class names."""

    prediction: Any  # the class; with several labels per node, the list of labels
    probabilities: dict[Any, float]  # of each class or label

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


@dataclasses.dataclass(frozen=True, eq=False)
class NodeExplanation:
    """Why a node got its prediction.

    `table` has a row per edge into the node, the kept first, by attention (by gate
    where the read-out uses none), then the removed, by log α: neighbour, kept,
    log_alpha, probability, gate, attention, label, prediction; and of an edge that was
    dropped, `change` of the probability of the predicted class and what the prediction
    `becomes`, missing if it stays. With several labels, `change` is that of
    the label it moves most, `change_of`. `own_share` is the share of the node itself in
    what it receives in a layer, or in a step of diffusion.
    """

    node: Any  # the user's id
    graph: str  # its name
    verdict: Verdict
    label: Any  # its class, None without; or the list of its labels
    split: str | None  # train, val, test, or None
    own_share: float | None  # None with "beliefs" and "deep", where it is no share
    reach: int  # number of steps that messages travel; at 0 it receives none
    alone: Verdict  # prediction if the node received no messages
    dropped: int  # kept edges that were dropped in turn: of the most attention
    table: Any  # a `DataFrame`

    @property
    def num_kept(self) -> int:
        """Number of edges into the node that are kept."""
        return int(self.table["kept"].sum())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
            **{key: plain(getattr(self, key)) for key in ("node", "label")},
            "verdict": self.verdict.to_dict(),
            "alone": self.alone.to_dict(),
            "table": rows_of(self.table),
        }


def explain_node(
    model: SGAT,
    scored: Sequence[ScoredGraph],
    node: Any,
    *,
    graph: str | None = None,
    top: int = TOP,
    progress: Count | None = None,
) -> NodeExplanation:
    """Explain the prediction of one node.

    Each kept edge into the node is dropped in turn, and the node evaluated again: the
    numbers are exact. All other edges keep their gates, also where gates look at the
    graph around an edge. Where the edges of the data have no direction, both directions
    of an edge are dropped.

    Args:
        model: The trained network, in evaluation mode.
        scored: The graphs with their scores, such as `SGATClassifier.scored_`.
        node: The user's id of the node, or the same as text.
        graph: Name of its graph, where there are several.
        top: Most edges to drop in turn: those of the most attention.
        progress: Called with the number of edges dropped so far, and of all.

    Raises:
        ValueError: If there is no such node or graph.
    """
    if top < 0:
        raise ValueError(f"`top` must be at least 0, got {top}.")
    part = chosen_graph(scored, graph)
    data, scores = part.data, part.edges
    number = find_node(data, node)
    edges = _ordered_edges(part, number)
    kept = edges[scores.kept[edges]][:top]
    sets = [both_ways(data, edge) for edge in kept[:, None]]
    changed = logits_without(model, part, number, [edges, *sets], progress=progress)
    table = _neighbour_table(part, edges)
    _add_changes(table, part, number, changed[1:])
    loop = scores.loop_attention
    return NodeExplanation(
        node=_id(data, number),
        graph=data.name,
        verdict=verdict_of(data, part.prediction[number], part.probability[number]),
        label=label_of(data, data.y[number]),
        split=(*ROLES, None)[int(data.role[number])],
        own_share=None if loop is None else _own_share(model, float(loop[number])),
        reach=model.reach,
        alone=verdict_from(data, changed[0]),
        dropped=len(sets),
        table=table,
    )


def find_node(data: NodeData, node: Any) -> int:
    """The number of the node with this id; the error names a similar one."""
    size, text = data.num_nodes, str(node)
    if data.node_ids is None:
        # Another spelling of a number, such as 007, is another id.
        if text.isdecimal() and int(text) < size and text == str(int(text)):
            return int(text)
        raise ValueError(
            f"There is no node {text!r} in {data.name!r}; its nodes are 0 to"
            f" {size - 1}."
        )
    names = [str(name) for name in data.node_ids]
    if text in names:
        return names.index(text)
    alike = [name for name in names if abs(len(name) - len(text)) <= 2]
    close = difflib.get_close_matches(text, alike[:MOST_SEARCHED], 1, 0.0)
    found = close[0] if close else names[0]
    raise ValueError(f"There is no node {text!r} in {data.name!r}; there is {found!r}.")


def chosen_graph(scored: Sequence[ScoredGraph], name: str | None) -> ScoredGraph:
    """The graph of this name; None takes the only one."""
    if name is None and len(scored) == 1:
        return scored[0]
    names = [part.data.name for part in scored]
    if name in names:
        return scored[names.index(name)]
    raise ValueError(f"`graph` must be one of {', '.join(names)}, got {name!r}.")


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


def _own_share(model: SGAT, loop_attention: float) -> float | None:
    if isinstance(model.classifier, DeepReadout):
        return None
    if isinstance(model.classifier, DiffusionReadout):
        return model.classifier.own_share(loop_attention)
    return loop_attention


def _ordered_edges(scored: ScoredGraph, node: int) -> Tensor:
    """Edges into a node: the kept by attention or gate, then the removed by log α."""
    start, stop = scored.data.graph.row_ptr[node : node + 2].tolist()
    scores = scored.edges
    edges = torch.arange(start, stop)
    share = scores.gate if scores.attention is None else scores.attention
    keys = [scores.log_alpha, share, scores.kept]
    order = np.lexsort([-key[edges].double().numpy() for key in keys])
    return edges[torch.from_numpy(order)]


def _neighbour_table(scored: ScoredGraph, edges: Tensor) -> Any:
    data = scored.data
    sources = data.graph.src[edges].tolist()
    columns: dict[str, Any] = {"neighbour": [_id(data, j) for j in sources]}
    found = scored.edges.columns
    for name in sorted(found, key="kept".__ne__):
        columns[name] = found[name][edges].numpy()
    for name, value in (("label", data.y), ("prediction", scored.prediction)):
        columns[name] = [_text(label_of(data, value[j])) for j in sources]
    return pd.DataFrame(columns)


def _add_changes(table: Any, scored: ScoredGraph, node: int, after: Tensor) -> None:
    """Add what dropping each of the first edges changes; the rest is missing."""
    data = scored.data
    before, old = scored.probability[node], scored.prediction[node]
    change, becomes, change_of = [], [], []
    for logits in after:
        probability = metrics.probabilities(logits, data.is_multilabel)
        difference = probability - before
        at = int(difference.abs().argmax() if data.is_multilabel else old)
        change.append(float(difference[at]))
        change_of.append(data.classes[at])
        new = label_of(data, metrics.decide(logits, data.is_multilabel))
        becomes.append(None if new == label_of(data, old) else _text(new))
    rest = [None] * (len(table) - len(change))
    table["change"] = pd.array([*change, *rest], dtype="Float64")
    table["becomes"] = pd.Series([*becomes, *rest], dtype=object)
    if data.is_multilabel:
        table["change_of"] = pd.Series([*change_of, *rest], dtype=object)


def _text(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _id(data: NodeData, number: int) -> Any:
    return number if data.node_ids is None else plain(data.node_ids[number])


def plain(value: Any) -> Any:
    """A value that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as plain values, None for what is missing."""
    return list(table.astype(object).where(table.notna(), None).to_dict("records"))
