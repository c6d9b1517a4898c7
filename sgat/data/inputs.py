"""What a user may hand to the classifier, and how it gets the same back, smaller."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.arrays import as_edge_index, from_arrays
from sgat.data.networkx_graph import from_networkx, prune_networkx
from sgat.data.node_data import NodeData
from sgat.data.pyg import from_pyg, prune_pyg
from sgat.features import SparseFeatures

NETWORKX_OPTIONS = ("label", "features", "split", "weight")
COMMON_OPTIONS = ("validation", "classes", "seed")


def is_pyg(data: Any) -> bool:
    """Whether this is a PyG `Data`, told without importing PyG."""
    return hasattr(data, "edge_index") and hasattr(data, "is_edge_attr")


def is_networkx(data: Any) -> bool:
    """Whether this is a networkx graph, told without importing networkx."""
    return hasattr(data, "nodes") and hasattr(data, "edges") and hasattr(data, "adj")


def to_node_data(
    data: Any,
    edges: Any = None,
    y: Any = None,
    *,
    edge_weight: Any = None,
    train: Any = None,
    val: Any = None,
    test: Any = None,
    **options: Any,
) -> list[NodeData]:
    """Make `NodeData` of anything `SGATClassifier.fit` takes.

    Raises:
        ValueError: If the data is of no known kind, or an argument does not go with it.
    """
    if isinstance(data, NodeData):
        return [data]
    if isinstance(data, list | tuple) and data and isinstance(data[0], NodeData):
        return _in_one_form(list(data))
    if isinstance(data, list | tuple) and data and is_pyg(data[0]):
        _check_options(options, ("split_index",), "a list of PyG Data")
        return _in_one_form(_from_lists(data, val, test, options))
    roles = {"train": train, "val": val, "test": test}
    if edges is not None:
        _check_options(options, (), "plain arrays")
        weight = {"edge_weight": edge_weight}
        return [from_arrays(data, edges, y, **weight, **roles, **options)]
    given = {"y": y, "edge_weight": edge_weight, **roles}
    extra = [name for name, value in given.items() if value is not None]
    if (is_pyg(data) or is_networkx(data)) and extra:
        raise ValueError(
            f"`{extra[0]}` goes with plain arrays; a graph object has its own."
        )
    if is_pyg(data):
        _check_options(options, ("split_index",), "a PyG Data")
        return [from_pyg(data, **options)]
    if is_networkx(data):
        _check_options(options, NETWORKX_OPTIONS, "a networkx graph")
        return [from_networkx(data, **options)]
    raise ValueError(
        "`data` must be a PyG Data, a list of them, a networkx graph, NodeData, or"
        f" features X with `edges`, got {type(data).__name__}."
    )


def to_pruned(
    data: Any,
    edges: Any,
    graphs: Sequence[NodeData],
    kept: Sequence[Tensor],
    factors: Sequence[Tensor],
    edge_weight: Any,
    options: dict[str, Any],
) -> Any:
    """The data as the user gave it, with the kept edges only.

    Args:
        data: As `to_node_data` took it.
        edges: With plain arrays, the edges.
        graphs: The graphs that `to_node_data` made of it.
        kept: Whether each edge of each graph is kept, [E] bool.
        factors: What the weight of each edge is multiplied by, [E].
        edge_weight: With plain arrays, the weights of the edges.
        options: The options the data was read with.
    """
    if isinstance(data, list | tuple):
        parts = [
            to_pruned(part, None, [graph], [mask], [factor], None, options)
            for part, graph, mask, factor in zip(
                data, graphs, kept, factors, strict=False
            )
        ]
        return type(data)(parts)
    graph, mask, factor = graphs[0], kept[0], factors[0]
    if isinstance(data, NodeData):
        weight = factor * data.graph.edge_weight
        return dataclasses.replace(data, graph=data.graph.select(mask, weight))
    if is_pyg(data):
        return prune_pyg(data, graph.graph, mask, factor)
    if is_networkx(data):
        name = options.get("weight", "weight")
        return prune_networkx(data, graph, mask, factor, weight=name)
    return _pruned_arrays(edges, graph, mask, factor, edge_weight)


def _check_options(options: dict[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse an option that the kind of data does not have."""
    for name in options:
        if name not in (*known, *COMMON_OPTIONS):
            allowed = ", ".join(known) if known else "none"
            raise ValueError(
                f"Unknown option {name!r} for {what}; its options are: {allowed}."
            )


def _in_one_form(graphs: list[NodeData]) -> list[NodeData]:
    """Make the features of all graphs sparse if those of one are."""
    if not any(isinstance(data.x, SparseFeatures) for data in graphs):
        return graphs
    return [
        dataclasses.replace(data, x=SparseFeatures.from_dense(data.x))
        if isinstance(data.x, Tensor)
        else data
        for data in graphs
    ]


def _from_lists(
    train: Sequence[Any], val: Any, test: Any, options: dict[str, Any]
) -> list[NodeData]:
    for name, parts in (("val", val), ("test", test)):
        if parts is not None and not isinstance(parts, list | tuple):
            raise ValueError(
                f"`{name}` must be a list of graphs when `data` is one,"
                f" got {type(parts).__name__}."
            )
    by_masks = val is None and test is None
    graphs = []
    labels = [part.y for part in (*train, *(val or ()), *(test or ())) if _has_y(part)]
    if options.get("classes") is None and labels:
        options = {**options, "classes": _common_classes(labels)}
    roles = {"train": train, "val": val or (), "test": test or ()}
    for role, parts in roles.items():
        for number, part in enumerate(parts):
            has_mask = getattr(part, "train_mask", None) is not None
            chosen = None if by_masks and has_mask else role
            name = f"{role}-{number}"
            graphs.append(from_pyg(part, role=chosen, name=name, **options))
    return graphs


def _has_y(part: Any) -> bool:
    return getattr(part, "y", None) is not None


def _common_classes(labels: Sequence[Any]) -> tuple[int, ...] | None:
    tensors = [torch.as_tensor(label) for label in labels]
    if tensors[0].dim() == 2 and tensors[0].shape[1] > 1:
        return None
    return tuple(range(max(int(label.max()) for label in tensors) + 1))


def _pruned_arrays(
    edges: Any, data: NodeData, mask: Tensor, factor: Tensor, edge_weight: Any
) -> tuple[Any, Any]:
    kept = data.graph.to_input(mask, loop=True)
    weight = data.graph.to_input(factor, loop=1.0)
    if edge_weight is not None:
        weight = weight * torch.as_tensor(np.asarray(edge_weight)).to(weight)
    if isinstance(edges, Tensor):
        return edges[:, kept.to(edges.device)], weight[kept].to(edges.device)
    given = np.asarray(edges)
    turned = as_edge_index(edges).shape != given.shape
    rows = given[kept.numpy()] if turned else given[:, kept.numpy()]
    return rows, weight[kept].numpy()
