"""NodeData: one graph with features, labels and the roles of its nodes."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sgat.features import LARGEST_FEATURE, Features, SparseFeatures, concatenate
from sgat.graph import Graph

ROLES = ("train", "val", "test")
ONE_WAY = (
    "few edges have their reverse (%.0f%%), so messages go one way; if each edge stands"
    " for both directions, give `undirected`"
)
FEWEST, FEW_REVERSES = 30, 0.05
"""Edges below which it says little that few have their reverse, and share of few."""


@dataclasses.dataclass(frozen=True, eq=False)
class NodeData:
    """A graph with the features and labels of its nodes, and their roles.

    One graph split by masks is one `NodeData`; the inductive setting is a list of them,
    in which each graph usually has a single role.

    Attributes:
        graph: The edges.
        x: Node features, dense or sparse, [N, K].
        y: Class of each node, -1 if unlabelled, [N] int64; or one 0/1 column per label,
            [N, C] float.
        train: Nodes whose labels train the model, [N] bool.
        val: Nodes that choose the model, [N] bool.
        test: Nodes that are only reported on, [N] bool.
        classes: The user's name of each class or label column, in the order of the
            indices in `y`.
        node_ids: The user's id of each node, [N]; None for 0 … N-1.
        edge_columns: The `FeatureColumn` of each column that is in `Graph.edge_attr`.
        has_directions: Whether the user's edges have directions; without them, both
            directions of an edge stay or go together.
        name: Name of the data in messages.
    """

    graph: Graph
    x: Features
    y: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    classes: tuple[Any, ...]
    node_ids: np.ndarray[Any, Any] | None = None
    edge_columns: tuple[Any, ...] = ()
    has_directions: bool = True
    name: str = "data"

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.graph.num_nodes

    @property
    def ids(self) -> np.ndarray[Any, Any]:
        """The user's id of each node, or its number where it has none, [N]."""
        return np.arange(self.num_nodes) if self.node_ids is None else self.node_ids

    @property
    def num_features(self) -> int:
        """Number of feature columns K."""
        return self.x.shape[1]

    @property
    def num_classes(self) -> int:
        """Number of classes, or of labels in the multi-label case."""
        return len(self.classes)

    @property
    def is_multilabel(self) -> bool:
        """Whether a node can have several labels at once."""
        return self.y.dim() == 2

    @property
    def role(self) -> Tensor:
        """Place of the role of each node in `ROLES`, -1 for none, [N]."""
        role = torch.full((self.num_nodes,), -1)
        for place, name in enumerate(ROLES):
            role[getattr(self, name).cpu()] = place
        return role

    def with_split(self, train: Tensor, val: Tensor, test: Tensor) -> Self:
        """The same data with other roles for the nodes."""
        return dataclasses.replace(self, train=train, val=val, test=test)

    def select_edges(self, kept: Tensor) -> Self:
        """The same nodes with the marked edges alone, [E] bool."""
        return dataclasses.replace(self, graph=self.graph.select(kept))

    def to(self, device: torch.device | str) -> Self:
        """The same data on another device."""
        names = ("graph", "x", "y", *ROLES)
        moved: dict[str, Any] = {name: getattr(self, name).to(device) for name in names}
        return dataclasses.replace(self, **moved)

    def __repr__(self) -> str:
        """One line: name and counts."""
        roles = ", ".join(f"{int(getattr(self, role).sum())} {role}" for role in ROLES)
        return (
            f"NodeData({self.name!r}, {self.num_nodes} nodes, "
            f"{self.graph.num_edges} edges, "
            f"{self.num_features} features, {self.num_classes} classes, {roles})"
        )


def one_way_note(graphs: Sequence[NodeData]) -> tuple[str, ...]:
    """The note `ONE_WAY` if few edges have their reverse, of enough."""
    every = [data.graph for data in graphs]
    if sum(graph.num_edges for graph in every) < FEWEST:
        return ()
    found = torch.cat([graph.find(graph.dst, graph.src) >= 0 for graph in every])
    share = float(found.double().mean())
    return (ONE_WAY % (100 * share),) if share < FEW_REVERSES else ()


def labelled(y: Tensor) -> Tensor:
    """Which nodes have a class; with several labels at once all have, [N] bool."""
    return torch.ones(len(y), dtype=torch.bool) if y.dim() == 2 else y >= 0


def are_numbers(num_values: int, num_labelled: int) -> bool:
    """Whether labels of so many values on so many nodes are numbers, not classes."""
    return num_values > 50 and 2 * num_values > num_labelled


def merge(batch: Sequence[NodeData]) -> NodeData:
    """Several graphs as one without edges between them."""
    first = batch[0]
    columns: dict[str, Any] = {
        name: torch.cat([getattr(data, name) for data in batch])
        for name in ("y", *ROLES)
    }
    return dataclasses.replace(
        first,
        graph=Graph.merge([data.graph for data in batch]),
        x=concatenate([data.x for data in batch]),
        node_ids=None,
        name=first.name if len(batch) == 1 else first.name.partition("-")[0],
        **columns,
    )


def name_in_noise(graphs: Sequence[NodeData]) -> list[NodeData]:
    """Number the graphs, so that each draws its own noise in every batch."""
    if len(graphs) == 1:
        return list(graphs)
    named = []
    for number, data in enumerate(graphs):
        node_id = data.graph.noise_id + (number << 32)
        graph = dataclasses.replace(data.graph, node_id=node_id)
        named.append(dataclasses.replace(data, graph=graph))
    return named


def fingerprint(graphs: Sequence[NodeData]) -> str:
    """SHA-256 of everything training depends on, the same for the same data."""
    digest = hashlib.sha256()
    for data in graphs:
        graph, x = data.graph, data.x
        parts = [graph.src, graph.dst, graph.edge_weight, graph.loop_weights]
        parts += [data.y, data.train, data.val, data.test]
        parts += [] if graph.edge_attr is None else [graph.edge_attr]
        if isinstance(x, SparseFeatures):
            parts += [x.row_ptr, x.column, x.value]
        else:
            parts.append(x)
        for part in parts:
            array = part.numpy(force=True)
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def check(graphs: Sequence[NodeData]) -> None:
    """Refuse data no model can be trained on, with one sentence that says why."""
    if not graphs:
        raise ValueError("`data` must hold at least one graph, got none.")
    first = graphs[0]
    for data in graphs:
        check_features(data)
        _check_labels(data)
        _check_roles(data)
        if data.num_features != first.num_features:
            raise ValueError(
                f"All graphs must have the same features: {first.name!r} has"
                f" {first.num_features} columns, {data.name!r} has {data.num_features}."
            )
        if data.classes != first.classes or data.is_multilabel != first.is_multilabel:
            raise ValueError(
                f"All graphs must have the same classes: {data.name!r} differs from"
                f" {first.name!r}."
            )
    labels = torch.cat([data.y[data.train].cpu() for data in graphs])
    if not len(labels):
        raise ValueError(
            f"The training set of {first.name!r} is empty: no node is marked as"
            " `train`."
        )
    if not first.is_multilabel and bool((labels == labels[0]).all()):
        raise ValueError(
            f"All training nodes of {first.name!r} have the class"
            f" {str(first.classes[int(labels[0])])!r}, so there is nothing to tell"
            " apart; label nodes of other classes too, or choose another split."
        )


def check_features(data: NodeData) -> None:
    """Refuse features that are too large to reckon with, or not one row per node."""
    x = data.x
    if len(x.shape) != 2 or x.shape[0] != data.num_nodes:
        rule = f"have one row for each of the {data.num_nodes} nodes"
        raise _fault(data, "x", rule, f"shape {list(x.shape)}")
    value = x.value if isinstance(x, SparseFeatures) else x
    bad = ~(value.abs() <= LARGEST_FEATURE)
    if bool(bad.any()):
        place = tuple(bad.nonzero()[0].tolist())
        found = float(value[place])
        if isinstance(x, SparseFeatures):
            place = int(x.row[place]), int(x.column[place])
        where = f"{found} at node {place[0]}, column {place[1]}"
        rule = f"be finite and at most {LARGEST_FEATURE:g} in size"
        raise _fault(data, "x", rule, where)


def _fault(data: NodeData, argument: str, rule: str, got: str) -> ValueError:
    return ValueError(f"`{argument}` of {data.name!r} must {rule}, got {got}.")


def _check_labels(data: NodeData) -> None:
    y, count = data.y, data.num_classes
    if y.shape[:1] != (data.num_nodes,) or y.dim() > 2:
        rule = f"have one entry for each of the {data.num_nodes} nodes"
        raise _fault(data, "y", rule, f"shape {list(y.shape)}")
    bad = (y != 0) & (y != 1) if data.is_multilabel else (y < -1) | (y >= count)
    if bool(bad.any()):
        node, *column = bad.nonzero()[0].tolist()
        if data.is_multilabel:
            rule, found = "hold 0 or 1 for every label", float(y[node, column[0]])
            where = f"{found} at node {node}, label {data.classes[column[0]]!r}"
        else:
            rule = f"be a class 0 to {count - 1}, or -1 for no label"
            where = f"{int(y[node])} at node {node}"
        raise _fault(data, "y", rule, where)
    if count == 0 and not data.is_multilabel:
        raise ValueError(
            f"No node of {data.name!r} has a label; give `y`, or of a networkx graph"
            " the attribute with the classes as `label`."
        )
    if count < 2 and not data.is_multilabel:
        raise _fault(data, "y", "hold at least 2 classes", f"{count}")


def _check_roles(data: NodeData) -> None:
    for role in ROLES:
        mask = getattr(data, role)
        if mask.dtype != torch.bool or mask.shape != (data.num_nodes,):
            rule = f"be a boolean mask with {data.num_nodes} entries"
            raise _fault(data, role, rule, f"{mask.dtype} of shape {list(mask.shape)}")
        if not data.is_multilabel and bool((mask & (data.y < 0)).any()):
            node = int((mask & (data.y < 0)).nonzero()[0])
            raise ValueError(
                f"`{role}` of {data.name!r} names node {node}, which has no label."
            )
    twice = (data.train.int() + data.val.int() + data.test.int()) > 1
    if bool(twice.any()):
        raise ValueError(
            f"Node {int(twice.nonzero()[0])} of {data.name!r} is in more than one of"
            " `train`, `val` and `test`."
        )
