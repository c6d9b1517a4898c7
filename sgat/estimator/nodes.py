"""Nodes of a fixed graph as the samples of scikit-learn: labels of some, all edges."""

import dataclasses
from typing import Any

import numpy as np
import torch

from sgat.data.arrays import as_labels, held_out
from sgat.data.given_data import GivenData
from sgat.data.node_data import NodeData
from sgat.scored import ScoredGraph


def given_graph(graph: Any, options: dict[str, Any]) -> GivenData:
    """The graph of a classifier: a graph object, or a pair of features and edges."""
    if isinstance(graph, tuple):
        if len(graph) not in (2, 3):
            raise ValueError(
                "`graph` must be a graph object or a tuple of features X, edges and"
                f" perhaps their weights, got {len(graph)} parts."
            )
        x, edges, weight = (*graph, None)[:3]
        return GivenData(x, edges, weight, options)
    return GivenData(graph, options=options)


def column_names(data: Any) -> list[str]:
    """Names of the columns of a table of features; none of other data."""
    names = list(getattr(data, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else []


def ordered(names: list[str], data: Any) -> Any:
    """A table of features with its columns in the order that they had in `fit`."""
    given = column_names(data)
    if not names or not given or given == names:
        return data
    if unknown := [name for name in given if name not in names]:
        raise ValueError(
            f"`X` has a column {unknown[0]!r}, which it did not have in `fit`; its"
            f" columns were {', '.join(names)}."
        )
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"`X` has no column {missing[0]!r}, which it had in `fit`.")
    return data[names]


def node_numbers(nodes: Any, num_nodes: int) -> Any:
    """Nodes as given for the samples X, [n] or [n, 1], as an array [n]."""
    found = np.asarray(nodes)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ValueError(
            "With `graph`, the samples must be node numbers, such as"
            f" np.arange({num_nodes}), got {found.dtype} of shape {list(found.shape)}."
        )
    bad = found[(found < 0) | (found >= num_nodes)]
    if len(bad):
        raise ValueError(
            f"With `graph`, the samples must be nodes 0 to {num_nodes - 1},"
            f" got {bad[0]}."
        )
    return found


def with_labels(
    data: NodeData,
    nodes: Any,
    y: Any,
    *,
    validation: float,
    seed: int,
    classes: tuple[Any, ...] | None = None,
) -> NodeData:
    """The graph with these labels at these nodes and no others, [n] each."""
    nodes = node_numbers(nodes, data.num_nodes)
    if y is None or len(y) != len(nodes):
        got = "none" if y is None else f"{len(y)}"
        raise ValueError(f"`y` must have {len(nodes)} labels, one a node, got {got}.")
    known, classes = as_labels(y, len(nodes), classes)
    if known.dim() == 2:
        raise ValueError("With `graph`, a node must have one label, got several.")
    label = torch.full((data.num_nodes,), -1)
    label[torch.from_numpy(nodes)] = known
    train, val = held_out(label, validation, seed)
    nobody = torch.zeros_like(train)
    return dataclasses.replace(
        data, y=label, classes=classes, train=train, val=val, test=nobody
    )


def at_nodes(
    part: ScoredGraph, nodes: Any, y: Any, *, need_labels: bool
) -> ScoredGraph:
    """The predictions of these nodes alone; or of all, with the labels to score."""
    if need_labels:
        classes = part.data.classes
        data = with_labels(part.data, nodes, y, validation=0.0, seed=0, classes=classes)
        return dataclasses.replace(part, data=data)
    at = node_numbers(nodes, part.data.num_nodes)
    found = part.prediction[at], part.probability[at]
    return dataclasses.replace(part, prediction=found[0], probability=found[1])
