"""A networkx graph in, and a smaller one of the same class out."""

import dataclasses
import difflib
import warnings
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.arrays import node_data, object_array
from sgat.data.node_data import NodeData
from sgat.data.splits import from_column
from sgat.graph import Graph

DEFAULTS = {"label": "y", "features": "x", "split": "split", "weight": "weight"}
"""Names of attributes where the user gives none."""
ROW = (list, tuple, np.ndarray)
"""Types of an attribute that holds several numbers."""


def from_networkx(
    graph: Any,
    *,
    label: str = DEFAULTS["label"],
    features: str | list[str] | None = DEFAULTS["features"],
    split: str = DEFAULTS["split"],
    weight: str = DEFAULTS["weight"],
    edge_attr: Tensor | None = None,
    **common: Any,
) -> NodeData:
    """Make `NodeData` of a networkx graph, directed or not, its nodes in their order.

    The options name attributes. Nodes without `label` are unlabelled, edges without
    `weight` count 1. `features` names an attribute that is a list of numbers, or is a
    list of attributes that are numbers. If no node has it, every node gets a feature of
    its own, and a warning names attributes that would do; if none has `split`, the
    share `validation` of the labelled nodes is held out.
    """
    nodes, is_directed = list(graph.nodes), graph.is_directed()
    of_nodes = [attributes for _, attributes in graph.nodes(data=True)]
    _check_spelling(of_nodes, label=label, split=split)
    for name in features if isinstance(features, list) else [features]:
        _check_spelling(of_nodes, features=name)
    _check_spelling([each for *_, each in graph.edges(data=True)], weight=weight)
    pairs, weights = _edges(graph, nodes, weight)
    given = pairs, len(nodes), weights, edge_attr
    built = Graph.from_edges(*given, make_undirected=not is_directed)
    labels = object_array([graph.nodes[node].get(label) for node in nodes])
    x = _features(graph, nodes, features)
    if x is None and features is not None:
        _warn_of_unused(of_nodes, (label, split))
    data = node_data(built, x, labels, **common)
    ids = object_array(nodes)
    data = dataclasses.replace(data, node_ids=ids, has_directions=is_directed)
    roles = [graph.nodes[node].get(split) for node in nodes]
    if all(role is None for role in roles):
        return data
    return data.with_split(*from_column(roles).masks())


def _warn_of_unused(of_nodes: list[dict[Any, Any]], taken: tuple[str, ...]) -> None:
    """Name the attributes that could be features, with what makes them so."""

    def holds(name: Any, is_row: bool) -> bool:
        found = [each.get(name) for each in of_nodes]
        if is_row:
            found = [v[0] if isinstance(v, ROW) and len(v) else None for v in found]
        return name not in taken and all(isinstance(v, Real) for v in found)

    given = of_nodes[0] if of_nodes else {}
    numbers = [name for name in given if holds(name, is_row=False)]
    hints = [f"features={numbers}"] if numbers else []
    hints += [f"features={name!r}" for name in given if holds(name, is_row=True)]
    if hints:
        what = "attributes of nodes are features only if you name them, as with"
        warnings.warn(f"{what} {' or '.join(hints)}", stacklevel=2)


def _check_spelling(attributes: list[dict[Any, Any]], **names: str | None) -> None:
    """Refuse a name that no attribute has where one is much like it."""
    known = {name for each in attributes for name in each if isinstance(name, str)}
    for option, name in names.items():
        if name == DEFAULTS[option]:
            continue
        close = difflib.get_close_matches(name or "", known, n=1, cutoff=0.75)
        if close and name not in known:
            raise ValueError(
                f"No attribute is called {name!r}, the `{option}`; did you mean"
                f" {close[0]!r}?"
            )


def prune_networkx(
    graph: Any, kept: Tensor, factor: Tensor, *, name: str = "weight"
) -> Any:
    """The graph with only the kept edges, weights multiplied by the factor.

    Attributes stay; that of the weight is called `name`.
    """
    small = graph.copy()
    edges = list(graph.edges(keys=True) if graph.is_multigraph() else graph.edges())
    for edge, is_kept, value in zip(edges, kept.tolist(), factor.tolist(), strict=True):
        if is_kept:
            attributes = small.edges[edge]
            attributes[name] = float(attributes.get(name, 1.0)) * value
        else:
            small.remove_edge(*edge)
    return small


def edge_attributes(graph: Any, names: list[str]) -> dict[str, list[Any]]:
    """The attributes of all edges that some edge has, None where one has it not."""
    found = {name: [v for *_, v in graph.edges(data=name)] for name in names}
    has = {name: any(v is not None for v in column) for name, column in found.items()}
    return {name: column for name, column in found.items() if has[name]}


def _edges(graph: Any, nodes: list[Any], weight: str) -> tuple[Tensor, Tensor | None]:
    position = {node: number for number, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight))
    pairs = [(position[u], position[v]) for u, v, _ in edges]
    index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    if all(value is None for *_, value in edges):
        return index, None
    filled = []
    for *_, value in edges:
        try:
            filled.append(1.0 if value is None else float(value))
        except (TypeError, ValueError):
            raise ValueError(
                f"The edge attribute {weight!r} must be a number, got {value!r}."
            ) from None
    return index, torch.tensor(filled, dtype=torch.get_default_dtype())


def _features(graph: Any, nodes: list[Any], features: str | list[str] | None) -> Any:
    if isinstance(features, list):
        table = [[graph.nodes[node].get(name) for name in features] for node in nodes]
        for node, values in zip(nodes, table, strict=True):
            for name, value in zip(features, values, strict=True):
                if not isinstance(value, Real):
                    raise ValueError(
                        f"The attribute {name!r} must be a number at every node, got"
                        f" {value!r} at node {node!r}."
                    )
        return np.array(table, dtype=np.float64).reshape(len(nodes), -1)
    rows = {node: graph.nodes[node].get(features) for node in nodes}
    given = {node: row for node, row in rows.items() if row is not None}
    if features is None or not given:
        return None
    for node, row in rows.items():
        if row is None:
            raise ValueError(
                f"Node {node!r} has no attribute {features!r}, but others have;"
                " give every node its features."
            )
        if not hasattr(row, "__len__") or isinstance(row, str):
            raise ValueError(
                f"The attribute {features!r} must be a list of numbers at every node,"
                f" got {row!r} at node {node!r}."
            )
    widths = {len(row) for row in given.values()}
    if len(widths) > 1:
        raise ValueError(
            f"The attribute {features!r} must have one length at all nodes,"
            f" got {min(widths)} and {max(widths)}."
        )
    try:
        return np.array(list(given.values()), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The attribute {features!r} must hold numbers only, at every node."
        ) from None
