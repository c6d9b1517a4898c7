"""PyTorch Geometric's `Data` in, and a smaller `Data` out."""

import copy
import dataclasses
import warnings
from typing import Any

import torch
from torch import Tensor

from sgat.data.arrays import node_data
from sgat.data.given_edges import read_edges, sparse_tensor
from sgat.data.node_data import ROLES, NodeData
from sgat.graph import Graph


def from_pyg(
    data: Any,
    *,
    split_index: int = 0,
    edge_attr: Tensor | None = None,
    undirected: bool = False,
    **common: Any,
) -> NodeData:
    """Make `NodeData` of a PyG `Data`, with the options of `node_data` besides.

    Weights are its `edge_weight`, or its `edge_attr` of one column if gates look at no
    columns. Without `x` every node gets a feature of its own. The masks say the roles
    (column `split_index` of several); without a `train_mask` the share `validation` of
    the labelled nodes is held out.
    """
    data = with_edge_index(data)
    weight = _weight(data, edge_attr)
    given = data.edge_index.cpu(), _num_nodes(data), weight, edge_attr
    graph = Graph.from_edges(*given, make_undirected=undirected)
    x = getattr(data, "x", None)
    x = None if x is None else x.cpu()
    found = node_data(graph, x, getattr(data, "y", None), **common)
    found = dataclasses.replace(found, has_directions=not undirected)
    if getattr(data, "train_mask", None) is None:
        return found
    return found.with_split(*(_mask(data, name, split_index) for name in ROLES))


def prune_pyg(
    data: Any, kept: Tensor, factor: Tensor, *, edge_attr: Tensor | None = None
) -> Any:
    """The `Data` with only the kept edges, weights multiplied by the factor.

    Everything else is as it was; attributes with one row per edge lose the rows of the
    removed edges. The weights are in `edge_weight`.
    """
    matrix, data = getattr(data, "adj_t", None), with_edge_index(data)
    weight = _weight(data, edge_attr)
    small = copy.copy(data)
    position = kept.nonzero().squeeze(1)
    for key, value in data.to_dict().items():
        if isinstance(value, Tensor) and data.is_edge_attr(key):
            dim, chosen = data.__cat_dim__(key, value), position.to(value.device)
            small[key] = value.index_select(dim, chosen)
    small.edge_weight = (factor if weight is None else factor * weight)[kept].to(
        data.edge_index.device
    )
    if matrix is not None and matrix.layout != torch.strided:
        ends, weight = small.edge_index.flip(0), small.edge_weight
        small.adj_t = sparse_tensor(ends, weight, matrix)
        del small.edge_index, small.edge_weight
    return small


def with_edge_index(data: Any) -> Any:
    """The `Data` itself, or a copy with the edges of its sparse `adj_t` as others."""
    if getattr(data, "edge_index", None) is not None:
        return data
    matrix = getattr(data, "adj_t", None)
    if not isinstance(matrix, Tensor) or matrix.layout == torch.strided:
        raise ValueError(
            f"`data` must have an `edge_index`, or an `adj_t` that is a sparse tensor"
            f" of torch, got {data}."
        )
    ends, weight, _ = read_edges(matrix)
    found = copy.copy(data)
    del found.adj_t
    found.edge_index, found.num_nodes = ends.flip(0), matrix.shape[0]
    if weight is not None:
        found.edge_weight = weight
    return found


def _num_nodes(data: Any) -> int:
    with warnings.catch_warnings():
        # PyG warns where only the edges give the number of nodes.
        warnings.simplefilter("ignore")
        return int(data.num_nodes)


def _weight(data: Any, for_gates: Tensor | None) -> Tensor | None:
    weight = getattr(data, "edge_weight", None)
    if weight is None and for_gates is None:
        attribute = getattr(data, "edge_attr", None)
        if attribute is not None and attribute.numel() == data.num_edges:
            weight = attribute.reshape(-1)
    return None if weight is None else weight.cpu()


def _mask(data: Any, role: str, split_index: int) -> Tensor:
    mask = getattr(data, f"{role}_mask", None)
    if mask is None:
        return torch.zeros(_num_nodes(data), dtype=torch.bool)
    if mask.dim() == 2:
        if not 0 <= split_index < mask.shape[1]:
            raise ValueError(
                f"`split_index` must be 0 to {mask.shape[1] - 1}, the splits of"
                f" `{role}_mask`, got {split_index}."
            )
        mask = mask[:, split_index]
    if len(mask) != (size := _num_nodes(data)):
        raise ValueError(
            f"`{role}_mask` must have {size} entries, one for each node, got"
            f" {len(mask)}."
        )
    found: Tensor = mask.cpu().bool()
    return found
