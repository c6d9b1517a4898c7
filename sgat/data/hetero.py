"""PyG's `HeteroData` in, as one graph of all its types, and a smaller one out."""

from __future__ import annotations

import copy
import itertools
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

EDGE_TYPE = "edge_type"
"""The column with the type of each edge, which the judge and gates look at."""
OF_LABELS = "y", "train_mask", "val_mask", "test_mask"
OF_NODES = {"x", "num_nodes", *OF_LABELS}
"""Attributes of nodes that are read."""


def is_hetero(data: Any) -> bool:
    """Whether this is a `HeteroData`, found out without importing PyG."""
    return hasattr(data, "node_types") and hasattr(data, "edge_types")


def labelled_type(data: Any) -> str | None:
    """The node type that has `y`; None if none has, refused if several have."""
    found = [name for name in data.node_types if "y" in data[name]]
    if len(found) > 1:
        raise ValueError(
            f"`y` must be of one node type, got it of {' and '.join(found)}; name the"
            " one that counts as `node_type`."
        )
    return found[0] if found else None


def as_one_graph(data: Any, node_type: str | None = None) -> Any:
    """A PyG `Data` of all types, with the type of each edge as `EDGE_TYPE`.

    The features of each node type, by name, have columns of their own, and one more
    says the type; without features of any type there are none. Labels and masks are
    those of the type with `y`, or of `node_type`; attributes of edges are those that
    all edge types have, as numbers of one width.
    """
    if not data.node_types:
        raise ValueError("`data` must have nodes, got a HeteroData without any.")
    if not data.edge_types:
        raise ValueError("`data` must have edges, got a HeteroData without any.")
    _check_types(data)
    given, name = copy.copy(data), node_type or labelled_type(data)
    if name is not None:
        rows_of(data, name)
    for other in given.node_types:
        unread = OF_LABELS if other != name else ()
        for key in {*given[other].keys()} - OF_NODES | {*unread}:
            given[other].pop(key, None)
    if any("x" in data[each] for each in data.node_types):
        _put_side_by_side(given)
    if any("edge_weight" in data[kind] for kind in data.edge_types):
        for kind in data.edge_types:
            given[kind].edge_weight = _weight(data[kind])
    stores = [given[kind] for kind in given.edge_types]
    for key in {key for store in stores for key in store} - {"edge_index"}:
        if not _is_alike([store.get(key) for store in stores]):
            for store in stores:
                store.pop(key, None)
    one = given.to_homogeneous(add_node_type=False, add_edge_type=False)
    one.num_nodes = sum(_sizes(data))
    one[EDGE_TYPE] = edges_of_types(data)[EDGE_TYPE]
    return one


def _check_types(data: Any) -> None:
    """Refuse what does not fit its type, before nodes have other numbers."""
    sizes = dict(zip(data.node_types, _sizes(data), strict=True))
    for name, size in sizes.items():
        for key in [key for key in ("x", *OF_LABELS) if key in data[name]]:
            value = data[name][key]
            found = getattr(value, "layout", type(value).__name__), list(value.shape)
            is_flat = key == "x" and len(found[1]) != 2
            if is_flat or found[0] != torch.strided or found[1][:1] != [size]:
                raise ValueError(
                    f"`{key}` of the node type {name!r} must be a dense tensor"
                    f" [{size}, …], got {found[0]} of shape {found[1]}."
                )
    for kind in data.edge_types:
        ends, weight = (data[kind].get(key) for key in ("edge_index", "edge_weight"))
        is_pair = isinstance(ends, Tensor) and ends.dim() == 2 and len(ends) == 2
        if not is_pair or ends.is_floating_point():
            raise ValueError(
                f"The edge type {kind} must have an `edge_index`, integers [2, E]."
            )
        for name, place in zip(kind[::2], ends, strict=True):
            size = sizes.get(name, 0)
            wrong = place[(place < 0) | (place >= size)].tolist()
            if wrong or name not in sizes:
                raise ValueError(
                    f"`edge_index` of {kind} must name the {size} nodes of {name!r},"
                    f" from 0 on, got {wrong[:1]}."
                )
        if weight is not None and weight.shape != ends.shape[1:]:
            found = list(ends.shape[1:]), list(weight.shape)
            told = "`edge_weight` of {} must have shape {}, got {}."
            raise ValueError(told.format(kind, *found))


def _is_alike(values: list[Any]) -> bool:
    """Whether attributes of all edge types can stand below each other."""
    tensors = all(isinstance(value, Tensor) and value.dim() for value in values)
    return tensors and len({value.shape[1:] for value in values}) < 2


def _sizes(data: Any) -> list[int]:
    """The number of nodes of each type."""
    with warnings.catch_warnings():
        # PyG warns where it cannot say, and so do we.
        warnings.simplefilter("ignore")
        found = [data[name].num_nodes for name in data.node_types]
    if None in found:
        name = data.node_types[found.index(None)]
        raise ValueError(f"The node type {name!r} must have `x` or `num_nodes`.")
    return [int(size) for size in found]


def _put_side_by_side(data: Any) -> None:
    """Give each node type its features in columns of its own, and its type, one-hot."""
    sizes, blocks = dict(zip(data.node_types, _sizes(data), strict=True)), {}
    for name in sorted(sizes):
        own = data[name].x.float() if "x" in data[name] else torch.ones(sizes[name], 0)
        blocks[name] = torch.cat([own, own.new_ones(sizes[name], 1)], dim=1)
    widths = [block.shape[1] for block in blocks.values()]
    first = itertools.accumulate(widths, initial=0)
    for (name, block), start in zip(blocks.items(), first, strict=False):
        after = sum(widths) - start - block.shape[1]
        data[name].x = torch.nn.functional.pad(block, (start, after))


def rows_of(data: Any, node_type: str | None) -> slice:
    """The nodes of a type among all."""
    if node_type not in data.node_types:
        names = ", ".join(data.node_types)
        raise ValueError(
            f"`node_type` must be one of {names}, the only one with `y` if it is left"
            f" out, got {node_type!r}."
        )
    place, sizes = data.node_types.index(node_type), _sizes(data)
    return slice(sum(sizes[:place]), sum(sizes[: place + 1]))


def node_ids(data: Any) -> Any:
    """A name for each node, its type and its number there, [N]."""
    named = zip(data.node_types, _sizes(data), strict=True)
    each = [f"{name} {place}" for name, size in named for place in range(size)]
    return np.array(each, dtype=object)


def edges_of_types(data: Any) -> dict[str, Any]:
    """Ends of all edges, numbered within their types, and their types: columns."""
    ends = [data[kind].edge_index.cpu() for kind in data.edge_types]
    src, dst = torch.cat([torch.zeros(2, 0).long(), *ends], dim=1).numpy()
    words = [" ".join(kind) for kind in data.edge_types]
    types = np.repeat(np.array(words, dtype=str), [end.shape[1] for end in ends])
    return {"src": src, "dst": dst, EDGE_TYPE: types}


def prune_hetero(data: Any, kept: Tensor, factor: Tensor) -> Any:
    """The `HeteroData` with the kept edges, weights multiplied by the factor."""
    sizes = [data[kind].edge_index.shape[1] for kind in data.edge_types]
    parts = zip(data.edge_types, kept.split(sizes), factor.split(sizes), strict=True)
    masks, weights = {}, {}
    for kind, mask, own in parts:
        masks[kind] = mask.to(data[kind].edge_index.device)
        weight = _weight(data[kind])
        weights[kind] = (weight * own.to(weight))[masks[kind]]
    small = data.edge_subgraph(masks)
    for kind, weight in weights.items():
        small[kind].edge_weight = weight
    return small


def _weight(edges: Any) -> Tensor:
    """The weights of the edges of a type, 1 where they have none."""
    ones = torch.ones(edges.edge_index.shape[1], device=edges.edge_index.device)
    found: Tensor = edges.get("edge_weight", ones)
    return found
