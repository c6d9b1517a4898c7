"""Plain arrays in: features X, edges, labels y."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.given_edges import read_edges
from sgat.data.node_data import NodeData, are_numbers, labelled
from sgat.data.prepare import compact
from sgat.data.splits import random_fractions, stratified_fractions
from sgat.features import Features, SparseFeatures, check_sparse
from sgat.graph import Graph


def from_arrays(
    x: Any,
    edges: Any,
    y: Any = None,
    *,
    edge_weight: Any = None,
    edge_attr: Tensor | None = None,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    validation: float = 0.2,
    seed: int = 0,
    undirected: bool = False,
    **naming: Any,
) -> NodeData:
    """`NodeData` of arrays, tensors or SciPy matrices, see `SGATClassifier.fit`.

    Without `x` every node gets a feature of its own. Without `train`, labelled nodes
    outside `val` and `test` train, less the share `validation` where there is no `val`.
    """
    ids = x.index if hasattr(x, "iloc") else None
    y = in_order_of(ids, y) if hasattr(y, "reindex") else y
    y = y.toarray() if hasattr(y, "toarray") else y
    num_nodes = None if y is None else len(y)
    if x is not None:
        # A number, a series and a generator have no rows of numbers.
        rows: Any = (len(x), 1) if isinstance(x, Sequence) else ()
        shape = getattr(x, "shape", rows)
        if len(shape) != 2:
            raise ValueError(f"`X` must be a matrix, got shape {list(shape)}.")
        num_nodes = shape[0]
    index, weight, shown = read_edges(edges, x)
    if edge_weight is not None:
        if weight is not None:
            raise ValueError("`edge_weight` must be None where `edges` has weights.")
        weight = _as_tensor(edge_weight, "edge_weight")
    if shown is not None and num_nodes not in (None, shown):
        raise ValueError(
            f"`edges` must have a row and a column for each of the {num_nodes} nodes,"
            f" got {shown}."
        )
    size = shown if num_nodes is None else num_nodes
    given = index, size, weight, edge_attr
    graph = Graph.from_edges(*given, make_undirected=undirected)
    data = node_data(graph, x, y, validation=validation, seed=seed, **naming)
    names = None if ids is None or not hasattr(edges, "iloc") else ids.to_numpy()
    data = dataclasses.replace(data, has_directions=not undirected, node_ids=names)
    return data.with_split(*_roles(data.y, train, val, test, validation, seed))


def in_order_of(ids: Any, y: Any) -> Any:
    """Labels of pandas in the order of the nodes, by their index where it names nodes.

    `ids` is the index of X, None for node numbers. An index 0, 1, … says nothing where
    X has no such ids.
    """
    places = np.arange(len(y))
    if ids is None:
        if not np.array_equal(y.index, places) and {*y.index} == {*places}:
            raise ValueError(
                "The index of `y` has the node numbers in another order; give"
                " `y.sort_index()` if it names nodes, else `y.to_numpy()`."
            )
        return y
    known = y.index.isin(ids)
    if known.all() and y.index.is_unique and ids.is_unique:
        # Whole numbers with gaps would become others.
        return (y if len(y) == len(ids) else y.astype(object)).reindex(ids)
    if not known.all() and not np.array_equal(y.index, places):
        raise ValueError(
            f"The index of `y` names {y.index[~known][0]!r}, which the index of `X`"
            " does not have; give `y.to_numpy()` if it stands in the order of `X`."
        )
    return y


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


def as_features(x: Any, num_nodes: int) -> Features:
    """Features in the form the model takes: sparse where under a quarter is filled.

    None, or no columns, give every node a feature of its own.
    """
    if x is None or tuple(getattr(x, "shape", ()))[1:] == (0,):
        return SparseFeatures.identity(num_nodes)
    if isinstance(x, SparseFeatures):
        return x
    if hasattr(x, "tocsr"):
        return SparseFeatures.from_scipy(x)
    if isinstance(x, Tensor) and x.layout != torch.strided:
        check_sparse(x, "X")
        x = x.to_dense()
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        for column, kind in x.dtypes.items():
            if kind.kind not in "biuf":
                raise ValueError(
                    f"`X` must hold numbers, got {kind} in the column {column!r}; make"
                    " numbers of it, as `pandas.get_dummies` does, or drop it."
                )
        # The columns of pandas that may have gaps are no numbers to NumPy.
        x = x.to_numpy(dtype=np.float64, na_value=np.nan)
    dense = _as_tensor(x, "X")
    if dense.dim() != 2:
        raise ValueError(f"`X` must be a matrix, got shape {list(dense.shape)}.")
    return compact([dense])[0]


def as_labels(
    y: Any, num_nodes: int, classes: tuple[Any, ...] | None = None
) -> tuple[Tensor, tuple[Any, ...]]:
    """Class numbers [N] with -1 for none, or 0/1 columns [N, C]; and the class names.

    None and NaN are no label. So is -1 beside words, and beside two or more classes
    from 0 on where no None or NaN says what is unknown; else -1 is a class.
    Integers that are 0 … C-1 keep their numbers; other labels are sorted.
    """
    if y is None:
        return torch.full((num_nodes,), -1), classes or ()
    y = y.numpy(force=True) if isinstance(y, Tensor) else y
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        y = array = array[:, 0]
    if array.ndim == 2:
        return _as_tensor(array, "y"), classes or tuple(range(array.shape[1]))
    # NumPy alone would turn a list like ["a", None] into text, its gaps included, and
    # whole numbers of pandas with gaps into others.
    is_numpy = isinstance(getattr(y, "dtype", array.dtype), np.dtype)
    if array.ndim == 1 and not (is_numpy and array.dtype.kind in "iufb"):
        array = object_array([v.item() if hasattr(v, "item") else v for v in y])
    known, node = _known_labels(array)
    names, place = _sorted_names(known)
    if classes is not None:
        is_gap = -1 in names and -1 not in classes
    else:
        is_gap = len(names) > 2 and names[0] == -1 and len(node) == len(array)
        found = tuple(name for name in names if not (is_gap and name == -1))
        count = int((place != names.index(-1)).sum()) if is_gap else len(node)
        if are_numbers(len(found), count):
            got = f"{len(found)} different values on {count} nodes"
            raise ValueError(f"`y` must hold classes, got {got}.")
        classes = _class_names(found)
    number = {name: index for index, name in enumerate(classes)}
    if is_gap:
        number[-1] = -1
    for index, name in enumerate(names):
        if name not in number:
            raise ValueError(
                f"`y` must be one of the classes {list(classes)}, got {name!r} at node"
                f" {int(node[place == index][0])}."
            )
    code = np.full(len(array), -1)
    code[node] = np.array([number[name] for name in names], dtype=int)[place]
    return torch.from_numpy(code), classes


def _known_labels(array: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Labels that are not None or NaN, as numbers if all are, and their nodes."""
    missing = np.zeros(len(array), dtype=bool)
    if array.dtype.kind == "f":
        missing = np.isnan(array)
    elif array.dtype == object:
        missing = np.array([_is_missing(value) for value in array], dtype=bool)
    node = (~missing).nonzero()[0]
    known = array[node]
    if known.dtype == object and len(known):
        if all(type(value) in (int, float) for value in known):
            known = np.array(known.tolist())
        else:
            is_word = np.array([value != -1 for value in known], dtype=bool)
            known, node = known[is_word], node[is_word]
    if known.dtype.kind == "f" and bool((broken := known != np.floor(known)).any()):
        raise ValueError(
            f"`y` must hold classes, got the number {known[broken][0]} at node"
            f" {node[broken][0]} (Unknown label type: continuous); divide the numbers"
            " into classes."
        )
    return known, node


def _sorted_names(known: np.ndarray[Any, Any]) -> tuple[list[Any], Any]:
    """The different labels, and the place of each label among them."""
    try:
        names, place = np.unique(known, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in known})
        raise ValueError(
            f"`y` must hold labels of one type that can be sorted, got"
            f" {' and '.join(kinds)}."
        ) from None
    return names.tolist(), place


def _class_names(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The classes; a missing number here and there is a class nobody has.

    Wide gaps are names, and so are numbers that do not start at 0.
    """
    is_dense = len(found) > 1 and type(found[0]) is int and found[0] == 0
    if is_dense and found[-1] + 1 <= 2 * len(found):
        return tuple(range(found[-1] + 1))
    return found


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
    if given.dtype == torch.bool:
        if given.shape != (num_nodes,):
            raise ValueError(
                f"`{name}` must have one entry for each of the {num_nodes} nodes,"
                f" got shape {list(given.shape)}."
            )
        return given
    if num_nodes > 2 and given.shape == (num_nodes,) and set(given.tolist()) <= {0, 1}:
        raise ValueError(
            f"`{name}` holds {num_nodes} zeros and ones, one for each node;"
            " give a boolean mask or node numbers."
        )
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


def _is_missing(value: Any) -> bool:
    is_none = value is None or type(value).__name__ in ("NAType", "NaTType")
    return is_none or (isinstance(value, float) and value != value)


def _as_tensor(values: Any, name: str) -> Tensor:
    """Numbers as a tensor of the default type."""
    if isinstance(values, Tensor):
        return values.detach().to(torch.get_default_dtype())
    array = np.asarray(values)
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
        raise ValueError(f"`{name}` must hold numbers, got {array.dtype}.")
    # A table may not let anybody write to it, and torch wants that.
    dense = torch.from_numpy(np.require(array, np.float64, ["C", "W"]))
    return dense.to(torch.get_default_dtype())
