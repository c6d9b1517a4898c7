"""Plain arrays in: features X, edges, labels y."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData, are_numbers, labelled
from sgat.data.prepare import compact
from sgat.data.splits import random_fractions, stratified_fractions
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph


def from_arrays(
    x: Any,
    edges: Any,
    y: Any = None,
    *,
    edge_weight: Any = None,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    validation: float = 0.2,
    seed: int = 0,
    **naming: Any,
) -> NodeData:
    """`NodeData` of arrays, tensors or SciPy matrices, see `SGATClassifier.fit`.

    Without `x` every node gets a feature of its own. Without `train`, labelled nodes
    outside `val` and `test` train, less the share `validation` where there is no `val`.
    """
    num_nodes = None if y is None else len(y)
    if x is not None:
        num_nodes = x.shape[0] if hasattr(x, "shape") else len(x)
    weight = None if edge_weight is None else _as_tensor(edge_weight, "edge_weight")
    graph = Graph.from_edges(as_edge_index(edges), num_nodes, weight)
    data = node_data(graph, x, y, validation=validation, seed=seed, **naming)
    return data.with_split(*_roles(data.y, train, val, test, validation, seed))


def node_data(
    graph: Graph,
    x: Any,
    y: Any,
    *,
    validation: float = 0.2,
    classes: tuple[Any, ...] | None = None,
    seed: int = 0,
    name: str = "data",
) -> NodeData:
    """A graph with its features and labels, a share of the labelled nodes held out.

    `classes` are known class names, for data that need not have all of them.
    """
    labels, classes = as_labels(y, graph.num_nodes, classes)
    train, val = held_out(labels, validation, seed)
    features = as_features(x, graph.num_nodes)
    nobody = torch.zeros_like(train)
    return NodeData(graph, features, labels, train, val, nobody, classes, name=name)


def as_edge_index(edges: Any) -> Tensor:
    """Edges as a tensor [2, E]; one of shape [E, 2] with E ≠ 2 is turned."""
    if isinstance(edges, Tensor):
        index = edges
    else:
        array = np.asarray(edges)
        if array.size == 0:
            return torch.empty(2, 0, dtype=torch.long)
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"`edges` must hold node numbers, got {array.dtype}.")
        index = torch.from_numpy(np.ascontiguousarray(array.astype(np.int64)))
    turned = index.dim() == 2 and index.shape[0] != 2 and index.shape[1] == 2
    return index.T if turned else index


def as_features(x: Any, num_nodes: int) -> Features:
    """Features in the form the model takes: sparse where under a quarter is filled."""
    if x is None:
        return SparseFeatures.identity(num_nodes)
    if isinstance(x, SparseFeatures):
        return x
    if hasattr(x, "tocsr"):
        return SparseFeatures.from_scipy(x)
    if isinstance(x, Tensor) and x.layout != torch.strided:
        x = x.to_dense()
    dense = _as_tensor(x, "X")
    if dense.dim() != 2:
        raise ValueError(f"`X` must be a matrix, got shape {list(dense.shape)}.")
    return compact([dense])[0]


def as_labels(
    y: Any, num_nodes: int, classes: tuple[Any, ...] | None = None
) -> tuple[Tensor, tuple[Any, ...]]:
    """Class numbers [N] with -1 for none, or 0/1 columns [N, C]; and the class names.

    Integers that are 0 … C-1 keep their numbers; other labels are sorted.
    """
    if y is None:
        return torch.full((num_nodes,), -1), classes or ()
    array = _label_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        return _as_tensor(array, "y"), classes or tuple(range(array.shape[1]))
    if np.issubdtype(array.dtype, np.integer):
        return _integer_labels(array, classes)
    plain = [value.item() if hasattr(value, "item") else value for value in array]
    labels = [None if _is_missing(value) else value for value in plain]
    if classes is None:
        found = {label for label in labels if label is not None}
        try:
            classes = tuple(sorted(found))
        except TypeError:
            kinds = sorted({type(label).__name__ for label in found})
            raise ValueError(
                f"`y` must hold labels of one type that can be sorted, got"
                f" {' and '.join(kinds)}."
            ) from None
        count = sum(label is not None for label in labels)
        if are_numbers(len(classes), count):
            got = f"{len(classes)} different values on {count} nodes"
            raise ValueError(f"`y` must hold classes, got {got}.")
    return _class_numbers(labels, classes), classes


def _label_array(y: Any) -> np.ndarray[Any, Any]:
    """Labels as numbers where they are numbers, and as objects as given otherwise.

    NumPy alone would turn a list like ["a", None] into text, its gaps included.
    """
    if isinstance(y, Tensor):
        return y.numpy(force=True)
    array = np.asarray(y)
    if array.ndim != 1 or array.dtype.kind in "iub":
        return array
    return object_array(list(y))


def object_array(values: list[Any]) -> np.ndarray[Any, Any]:
    """The values as they are, [N], even where they are sequences themselves."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def as_mask(which: Any, num_nodes: int, name: str) -> Tensor:
    """A boolean mask from a mask or from node numbers."""
    given = torch.as_tensor(which if isinstance(which, Tensor) else np.asarray(which))
    if given.is_floating_point() and given.numel():
        raise ValueError(
            f"`{name}` must be a boolean mask or node numbers, got {given.dtype}."
        )
    looks_like_a_mask = given.shape == (num_nodes,) and set(given.tolist()) <= {0, 1}
    if given.dtype != torch.bool and looks_like_a_mask and num_nodes > 2:
        raise ValueError(
            f"`{name}` holds {num_nodes} zeros and ones, one for each node;"
            " give a boolean mask or node numbers."
        )
    if given.dtype == torch.bool:
        if given.shape != (num_nodes,):
            raise ValueError(
                f"`{name}` must have one entry for each of the {num_nodes} nodes,"
                f" got shape {list(given.shape)}."
            )
        return given
    nodes = given.reshape(-1).long()
    bad = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(bad):
        raise ValueError(
            f"`{name}` must name nodes 0 to {num_nodes - 1}, got {int(bad[0])}."
        )
    return torch.zeros(num_nodes, dtype=torch.bool).index_fill(0, nodes, True)


def held_out(y: Tensor, validation: float, seed: int) -> tuple[Tensor, Tensor]:
    """Training and validation masks over the labelled nodes, by class if there are."""
    if not 0 <= validation < 1:
        raise ValueError(f"`validation` must be in [0, 1), got {validation}.")
    if not bool(labelled(y).any()):
        return labelled(y), labelled(y)
    fractions = (1 - validation, validation, 0.0)
    deal = random_fractions if y.dim() == 2 else stratified_fractions
    train, val, _ = deal(y, fractions, seed=seed).masks()
    return train, val


def _roles(
    y: Tensor, train: Any, val: Any, test: Any, validation: float, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    none = torch.zeros(len(y), dtype=torch.bool)
    val_mask = none if val is None else as_mask(val, len(y), "val")
    test_mask = none if test is None else as_mask(test, len(y), "test")
    if train is not None:
        return as_mask(train, len(y), "train"), val_mask, test_mask
    rest = ~(val_mask | test_mask) & labelled(y)
    if val is not None:
        return rest, val_mask, test_mask
    open_ = y if y.dim() == 2 else torch.where(rest, y, -1)
    train_mask, val_mask = held_out(open_, validation, seed)
    return train_mask & rest, val_mask & rest, test_mask


def _integer_labels(
    array: np.ndarray[Any, Any], classes: tuple[Any, ...] | None
) -> tuple[Tensor, tuple[Any, ...]]:
    if array.size and array.min() < -1:
        node = int(array.argmin())
        raise ValueError(
            f"`y` must be a class from 0 on, or -1 for no label,"
            f" got {array[node]} at node {node}."
        )
    found = tuple(int(value) for value in np.unique(array[array >= 0]))
    if classes is None and len(found) < 2:
        return torch.from_numpy(np.where(array >= 0, 0, -1)), found
    if classes is None:
        dense = tuple(range(found[-1] + 1)) if found else ()
        # A missing number here and there is a class nobody has; wide gaps are names,
        # and so are numbers that do not start at 0.
        is_dense = not found or (found[0] == 0 and len(dense) <= 2 * len(found))
        classes = dense if is_dense else found
    if classes == tuple(range(len(classes))):
        if found and found[-1] >= len(classes):
            node = int(array.argmax())
            raise ValueError(
                f"`y` must be a class 0 to {len(classes) - 1}, or -1 for no label,"
                f" got {found[-1]} at node {node}."
            )
        return torch.from_numpy(array.astype(np.int64)), classes
    labels = [None if value == -1 else value for value in array.tolist()]
    return _class_numbers(labels, classes), classes


def _class_numbers(labels: list[Any], classes: tuple[Any, ...]) -> Tensor:
    """The place of each label among the classes, -1 for None, [N]."""
    index = {label: number for number, label in enumerate(classes)}
    for node, label in enumerate(labels):
        if label is not None and label not in index:
            raise ValueError(
                f"`y` must be one of the classes {list(index)}, got {label!r} at node"
                f" {node}."
            )
    return torch.tensor([index.get(label, -1) for label in labels], dtype=torch.long)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    is_number = isinstance(value, int | float | np.number)
    return bool(is_number and (value == -1 or value != value))


def _as_tensor(values: Any, name: str) -> Tensor:
    """Numbers as a tensor of the default type."""
    if isinstance(values, Tensor):
        return values.to(torch.get_default_dtype())
    array = np.asarray(values)
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
        raise ValueError(f"`{name}` must hold numbers, got {array.dtype}.")
    dense = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))
    return dense.to(torch.get_default_dtype())
