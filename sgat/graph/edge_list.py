"""Edges as somebody gives them: checked, sorted, duplicates merged, loops set apart."""

import logging
from typing import NamedTuple

import torch
from torch import Tensor

LARGEST_WEIGHT, SMALLEST_WEIGHT = 1e30, 1e-30
"""Of float32 with room for sums and quotients; smaller weights count as 0."""

logger = logging.getLogger(__name__)


class MergedEdges(NamedTuple):
    """Given edges, each once and in the order of a `Graph`."""

    key: Tensor  # dst · N + src, ascending, [E] int64
    num_nodes: int
    weight: Tensor | None  # [E]; None if all are 1
    loop_weight: Tensor | None  # [N]; None if all are 1
    input_edge: Tensor  # where each given edge went, -1 for a self-loop, [M]
    num_merged: int  # given edges that were duplicates of another
    edge_attr: Tensor | None  # [E, F]


def checked_edge_index(edge_index: Tensor) -> Tensor:
    """Edges as int64, [2, E]; PyG's `EdgeIndex` as a plain tensor."""
    if hasattr(edge_index, "as_tensor"):
        edge_index = edge_index.as_tensor()
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(
            f"`edge_index` must have shape [2, E], got {list(edge_index.shape)}."
        )
    dtype = edge_index.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        raise ValueError(f"`edge_index` must hold integers, got {dtype}.")
    # A narrow type cannot be compared with the number of nodes.
    return edge_index.long()


def _checked_num_nodes(edge_index: Tensor, num_nodes: int | None) -> int:
    largest = int(edge_index.max()) if edge_index.numel() else -1
    if num_nodes is None:
        num_nodes = largest + 1
    if num_nodes < 0:
        raise ValueError(f"`num_nodes` must be at least 0, got {num_nodes}.")
    check_ids(edge_index, (num_nodes, num_nodes))
    return num_nodes


def check_ids(edge_index: Tensor, sizes: tuple[int, int]) -> None:
    """Refuse sources or targets beyond these numbers of nodes."""
    for ids, size, what in zip(edge_index, sizes, ("source", "target"), strict=True):
        out_of_range = (ids < 0) | (ids >= size)
        if bool(out_of_range.any()):
            edge = int(out_of_range.nonzero()[0])
            raise ValueError(
                f"`edge_index` must name nodes 0 to {size - 1},"
                f" got {int(ids[edge])} as {what} of edge {edge}."
            )


def _checked_weight(edge_weight: Tensor, edge_index: Tensor) -> Tensor:
    if edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(
            f"`edge_weight` must have shape [{edge_index.shape[1]}],"
            f" got {list(edge_weight.shape)}."
        )
    if not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(torch.get_default_dtype())
    bad = ~((edge_weight >= 0) & (edge_weight <= LARGEST_WEIGHT))
    if bool(bad.any()):
        edge = int(bad.nonzero()[0])
        raise ValueError(
            f"`edge_weight` must be from 0 to {LARGEST_WEIGHT:g},"
            f" got {float(edge_weight[edge])} at edge {edge}."
        )
    is_nothing = edge_weight < SMALLEST_WEIGHT
    return edge_weight.masked_fill(is_nothing, 0) if is_nothing.any() else edge_weight


def _checked_attr(edge_attr: Tensor, edge_index: Tensor) -> Tensor:
    size = edge_index.shape[1]
    found = edge_attr[:, None] if edge_attr.dim() == 1 else edge_attr
    if found.dim() != 2 or len(found) != size or not found.is_floating_point():
        raise ValueError(
            f"`edge_attr` must be floating-point numbers of shape [{size}, F], got"
            f" {edge_attr.dtype} of shape {list(edge_attr.shape)}."
        )
    return found


def _means(value: Tensor, place: Tensor, size: int) -> Tensor:
    """Means of the rows that go to each place, [size, F]; `place` is [..., M]."""
    where = place.flatten()
    rows = value.repeat(where.numel() // max(len(value), 1), 1)
    total = value.new_zeros(size, value.shape[1]).index_add(0, where, rows)
    return total / torch.bincount(where, minlength=size)[:, None].to(value)


def tell_merged(number: int, is_weighted: bool, is_undirected: bool) -> None:
    """Log how many duplicates were merged, if any were, and what they weigh."""
    merging = {
        (False, False): "an edge named twice weighs double",
        (False, True): "each pair counts once",
        (True, False): "their weights were added",
        (True, True): "the largest weight counts",
    }[is_weighted, is_undirected]
    if number:
        logger.warning("%d duplicate edges were merged; %s.", number, merging)


def _symmetrised(
    key: Tensor, weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Keys, weights of A_ij = max(A_ij, A_ji), places of old keys and reverses."""
    dst = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
    reverse = (key - dst * num_nodes) * num_nodes + dst
    both, position = torch.cat([key, reverse]).unique(return_inverse=True)
    if weight is not None:
        weight = weight.new_zeros(len(both)).scatter_reduce(
            0, position, weight.repeat(2), "amax"
        )
    return both, weight, position.view(2, -1)


def merged_edges(
    edge_index: Tensor,
    num_nodes: int | None,
    edge_weight: Tensor | None,
    edge_attr: Tensor | None,
    *,
    make_undirected: bool,
    say_merged: bool,
) -> MergedEdges:
    """Check the edges, sort them, merge duplicates; see `Graph.from_edges`."""
    edge_index = checked_edge_index(edge_index)
    num_nodes = _checked_num_nodes(edge_index, num_nodes)
    if edge_weight is not None:
        edge_weight = _checked_weight(edge_weight, edge_index)
    if edge_attr is not None:
        edge_attr = _checked_attr(edge_attr, edge_index)
    src, dst = edge_index

    merging = "amax" if make_undirected else "sum"
    is_loop = src == dst
    loop_weight = None
    if bool(is_loop.any()):
        node = src[is_loop]
        given = torch.ones(len(node), device=node.device)
        if edge_weight is not None:
            given = edge_weight[is_loop]
        loop_weight = given.new_ones(num_nodes).scatter_reduce(
            0, node, given, merging, include_self=False
        )
    edge = (~is_loop).nonzero().squeeze(1)
    key, position = (dst[edge] * num_nodes + src[edge]).unique(return_inverse=True)
    num_merged = len(edge) - len(key)
    if say_merged:
        tell_merged(num_merged, edge_weight is not None, make_undirected)

    weight = None
    if edge_weight is not None:
        weight = edge_weight.new_zeros(len(key)).scatter_reduce(
            0, position, edge_weight[edge], merging
        )
    elif num_merged and not make_undirected:
        count = torch.bincount(position, minlength=len(key))
        weight = count.to(torch.get_default_dtype())
    places = position[None]
    if make_undirected:
        key, weight, places = _symmetrised(key, weight, num_nodes)
        places = places[:, position]

    input_edge = torch.full_like(src, -1)
    input_edge[edge] = places[0]
    if edge_attr is not None:
        edge_attr = _means(edge_attr[edge], places, len(key))
    merged = input_edge, num_merged, edge_attr
    return MergedEdges(key, num_nodes, weight, loop_weight, *merged)


def picked(value: Tensor | None, mask: Tensor) -> Tensor | None:
    """The marked entries of what may not be there."""
    return None if value is None else value[mask]
