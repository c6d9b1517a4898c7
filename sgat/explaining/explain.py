"""Why a node got its prediction: whom it heard, whom not, and what if."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.estimator import SGATClassifier
from sgat.explaining.edge_effects import logits_without
from sgat.explaining.important_edges import both_ways, important_edges
from sgat.explaining.node_verdict import Verdict, label_of, probabilities, verdict_of
from sgat.explaining.removal import Removal, describe_removal
from sgat.models import SGAT
from sgat.readouts.diffusion import DiffusionReadout
from sgat.runs.finished_run import FinishedRun, open_run
from sgat.scored import EdgeScores, edge_scores

Source = str | Path | FinishedRun | SGATClassifier
"""Where a trained model and its data are: a run folder, an open run, a classifier."""
TOP = 30
"""Kept edges that are dropped in turn, unless asked otherwise."""
MOST_SEARCHED = 20_000
"""Ids among which a similar one is looked for."""


@dataclasses.dataclass(frozen=True, eq=False)
class NodeExplanation:
    """Why a node got its prediction.

    Attributes:
        node: The user's id of the node.
        graph: Name of its graph.
        verdict: What the model says of it.
        label: Its class, None without; or the list of its labels.
        split: train, val, test, or None.
        own_share: How much of what it hears in a layer, or in a step of diffusion, is
            itself; None with a read-out of beliefs, where a node has its own say
            whoever it hears.
        reach: How many steps away the model hears a node; at 0 nobody is heard,
            whatever edges are kept.
        alone: What the model would say if the node heard nobody.
        dropped: Number of kept edges that were dropped in turn: those of the most
            attention.
        table: One row per node it could hear, the kept first, by attention, then the
            removed, by log α: neighbour, kept, log_alpha, probability, gate, attention,
            label, prediction; and of an edge that was dropped, `change` of the
            probability of the predicted class and what the prediction `becomes`,
            missing if it stays. With several labels, `change` is that of the label it
            moves most, `change_of`.
    """

    node: Any
    graph: str
    verdict: Verdict
    label: Any
    split: str | None
    own_share: float | None
    reach: int
    alone: Verdict
    dropped: int
    table: Any

    @property
    def num_kept(self) -> int:
        """Number of edges into the node that are kept."""
        return int(self.table["kept"].sum())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
            **{key: _plain(getattr(self, key)) for key in ("node", "label")},
            "verdict": self.verdict.to_dict(),
            "alone": self.alone.to_dict(),
            "table": _rows(self.table),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class GraphExplanation:
    """What was removed from a graph, and what the rest hangs on.

    Attributes:
        graph: Name of the graph.
        removal: Before and after, kept against removed.
        important: The kept edges that matter most, see `important_edges`.
        reach: How many steps away the model hears a node; at 0 no edge matters.
    """

    graph: str
    removal: Removal
    important: Any
    reach: int

    @property
    def table(self) -> Any:
        """One row per number, of the graph before and after or of the edges."""
        sides = self.removal.before.numbers, self.removal.after.numbers
        rows = [
            {"name": name, "title": title, "before": before, "after": sides[1][name][1]}
            for name, (title, before) in sides[0].items()
        ]
        rows += [
            {"name": c.name, "title": c.title, "kept": c.kept, "removed": c.removed}
            for c in self.removal.contrasts
        ]
        columns = ["name", "title", "before", "after", "kept", "removed"]
        return pd.DataFrame(rows, columns=columns).astype(
            dict.fromkeys(columns[2:], "Float64")
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            "graph": self.graph,
            **self.removal.to_dict(),
            "important": _rows(self.important),
            "reach": self.reach,
        }


def explain_node(
    source: Source,
    node: Any,
    *,
    graph: str | None = None,
    top: int = TOP,
    progress: Callable[[int, int], None] | None = None,
) -> NodeExplanation:
    """Explain the prediction of one node.

    Each kept edge into the node is dropped in turn, and the node evaluated again: the
    numbers are exact. All other edges keep their gates, also where gates look at the
    graph around an edge. Where the edges of the data have no direction, both directions
    of an edge are dropped.

    Args:
        source: A run folder, what `open_run` returned, or a fitted classifier.
        node: The user's id of the node, or the same as text.
        graph: Name of its graph, where there are several.
        top: Most edges to drop in turn: those of the most attention.
        progress: Called with the number of edges dropped so far, and of all.

    Raises:
        ValueError: If there is no such node or graph.
    """
    if top < 0:
        raise ValueError(f"`top` must be at least 0, got {top}.")
    model, graphs = _trained(source)
    data = _chosen(graphs, graph)
    number = find_node(data, node)
    scores = edge_scores(model, [_on_device(data, model)])[0]
    logits = _logits(model, data)
    edges = _ordered_edges(data, scores, number)
    kept = edges[scores.kept[edges]][:top]
    sets = [both_ways(data, edge) for edge in kept[:, None]]
    total = len(sets) + 1

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    changed = logits_without(model, data, scores, number, [edges, *sets], progress=tell)
    verdict = verdict_of(data, logits[number])
    table = _neighbour_table(data, scores, logits, edges)
    _add_changes(table, data, logits[number], changed[1:])
    assert scores.loop_attention is not None
    return NodeExplanation(
        node=_id(data, number),
        graph=data.name,
        verdict=verdict,
        label=label_of(data, data.y[number]),
        split=next((r for r in _ROLES if bool(getattr(data, r)[number])), None),
        own_share=_own_share(model, float(scores.loop_attention[number])),
        reach=model.reach,
        alone=verdict_of(data, changed[0]),
        dropped=len(sets),
        table=table,
    )


def explain_graph(
    source: Source,
    *,
    graph: str | None = None,
    top: int = TOP,
    progress: Callable[[int, int], None] | None = None,
) -> GraphExplanation:
    """Describe what was removed from a graph, and which kept edges matter most.

    See `describe_removal` and `important_edges`.

    Args:
        source: A run folder, what `open_run` returned, or a fitted classifier.
        graph: Name of the graph, where there are several.
        top: Most kept edges to tell of.
        progress: Called with the number of edges dropped so far, and of all.

    Raises:
        ValueError: If there is no such graph.
    """
    if top < 0:
        raise ValueError(f"`top` must be at least 0, got {top}.")
    model, graphs = _trained(source)
    data = _chosen(graphs, graph)
    scores = edge_scores(model, [_on_device(data, model)])[0]
    logits = _logits(model, data)
    prediction = (logits > 0) if data.is_multilabel else logits.argmax(dim=1)
    return GraphExplanation(
        data.name,
        describe_removal(data, scores.kept, prediction),
        important_edges(model, data, scores, top=top, progress=progress),
        model.reach,
    )


def find_node(data: NodeData, node: Any) -> int:
    """The number of the node with this id.

    Raises:
        ValueError: If there is none; the message names a similar id.
    """
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


_ROLES = ("train", "val", "test")


def _trained(source: Source) -> tuple[SGAT, Sequence[NodeData]]:
    if isinstance(source, SGATClassifier):
        if not source.graphs_:
            raise ValueError(
                "A loaded classifier does not hold its training data; give the run"
                " folder."
            )
        return source.model_, source.graphs_
    if isinstance(source, str | Path):
        source = open_run(source)
    # The classifier's base is untyped, and so may be anything to a type checker.
    run = cast(FinishedRun, source)
    return run.model, run.graphs


def _chosen(graphs: Sequence[NodeData], name: str | None) -> NodeData:
    names = [data.name for data in graphs]
    if name is None and len(graphs) == 1:
        return graphs[0]
    if name in names:
        return graphs[names.index(name)]
    what = "Say which graph" if name is None else f"There is no graph {name!r}"
    raise ValueError(f"{what} with `--graph`: {', '.join(names)}.")


def _on_device(data: NodeData, model: SGAT) -> NodeData:
    return data.to(next(model.parameters()).device)


@torch.no_grad()
def _logits(model: SGAT, data: NodeData) -> Tensor:
    moved = _on_device(data, model)
    logits: Tensor = model(moved.x, moved.graph)
    return logits.cpu()


def _own_share(model: SGAT, loop_attention: float) -> float | None:
    if isinstance(model.classifier, DiffusionReadout):
        return model.classifier.own_share(loop_attention)
    return None if model.readout == "beliefs" else loop_attention


def _ordered_edges(data: NodeData, scores: EdgeScores, node: int) -> Tensor:
    """Edges into a node: the kept by attention, then the removed by log α."""
    start, stop = data.graph.row_ptr[node : node + 2].tolist()
    edges = torch.arange(start, stop)
    assert scores.attention is not None
    keys = [scores.log_alpha, scores.attention, scores.kept]
    order = np.lexsort([-key[edges].double().numpy() for key in keys])
    return edges[torch.from_numpy(order)]


def _neighbour_table(
    data: NodeData, scores: EdgeScores, logits: Tensor, edges: Tensor
) -> Any:
    heard = data.graph.src[edges].tolist()
    columns: dict[str, Any] = {"neighbour": [_id(data, j) for j in heard]}
    for name in ("kept", "log_alpha", "probability", "gate", "attention"):
        columns[name] = getattr(scores, name)[edges].numpy()
    columns["label"] = [_text(label_of(data, data.y[j])) for j in heard]
    verdicts = [verdict_of(data, logits[j]) for j in heard]
    columns["prediction"] = [_text(verdict.prediction) for verdict in verdicts]
    return pd.DataFrame(columns)


def _add_changes(table: Any, data: NodeData, before: Tensor, after: Tensor) -> None:
    """Add what dropping each of the first edges changes; the rest is missing."""
    start = probabilities(data, before)
    old = verdict_of(data, before)
    change, becomes, change_of = [], [], []
    for logits in after:
        difference = probabilities(data, logits) - start
        at = int(difference.abs().argmax() if data.is_multilabel else before.argmax())
        change.append(float(difference[at]))
        change_of.append(data.classes[at])
        new = verdict_of(data, logits).prediction
        becomes.append(None if new == old.prediction else _text(new))
    rest = [None] * (len(table) - len(change))
    table["change"] = pd.array([*change, *rest], dtype="Float64")
    table["becomes"] = pd.Series([*becomes, *rest], dtype=object)
    if data.is_multilabel:
        table["change_of"] = pd.Series([*change_of, *rest], dtype=object)


def _text(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _id(data: NodeData, number: int) -> Any:
    return number if data.node_ids is None else _plain(data.node_ids[number])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as plain values, None for what is missing."""
    rows = table.astype(object).where(table.notna(), None)
    return [
        {key: _plain(value) for key, value in row.items()}
        for row in rows.to_dict("records")
    ]
