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


def _checked_edge_index(edge_index: Tensor) -> Tensor:
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
    out_of_range = (edge_index < 0) | (edge_index >= num_nodes)
    if bool(out_of_range.any()):
        row, column = (int(i) for i in out_of_range.nonzero()[0])
        raise ValueError(
            f"`edge_index` must name nodes 0 to {num_nodes - 1},"
            f" got {int(edge_index[row, column])}"
            f" as {('source', 'target')[row]} of edge {column}."
        )
    return num_nodes


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


def _loop_weights(
    node: Tensor, num_nodes: int, weight: Tensor | None, merging: str
) -> Tensor:
    weight = torch.ones(len(node), device=node.device) if weight is None else weight
    return weight.new_ones(num_nodes).scatter_reduce(
        0, node, weight, merging, include_self=False
    )


def _merging(is_weighted: bool, is_undirected: bool) -> str:
    """A clause on the weights of edges that are given more than once."""
    if is_undirected:
        return "the largest weight counts" if is_weighted else "each pair counts once"
    if is_weighted:
        return "their weights were added"
    return "an edge named twice weighs double"


def _symmetrised(
    key: Tensor, weight: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Keys, weights of A_ij = max(A_ij, A_ji), and where each old key went."""
    dst = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
    reverse = (key - dst * num_nodes) * num_nodes + dst
    both, position = torch.cat([key, reverse]).unique(return_inverse=True)
    if weight is not None:
        weight = weight.new_zeros(len(both)).scatter_reduce(
            0, position, weight.repeat(2), "amax"
        )
    return both, weight, position[: len(key)]


def merged_edges(
    edge_index: Tensor,
    num_nodes: int | None,
    edge_weight: Tensor | None,
    *,
    make_undirected: bool,
    say_merged: bool,
) -> MergedEdges:
    """Check the edges, sort them, merge duplicates; see `Graph.from_edges`."""
    edge_index = _checked_edge_index(edge_index)
    num_nodes = _checked_num_nodes(edge_index, num_nodes)
    if edge_weight is not None:
        edge_weight = _checked_weight(edge_weight, edge_index)
    src, dst = edge_index

    merging = "amax" if make_undirected else "sum"
    is_loop = src == dst
    loop_weight = None
    if bool(is_loop.any()):
        given = picked(edge_weight, is_loop)
        loop_weight = _loop_weights(src[is_loop], num_nodes, given, merging)
    edge = (~is_loop).nonzero().squeeze(1)
    key, position = (dst[edge] * num_nodes + src[edge]).unique(return_inverse=True)
    num_merged = len(edge) - len(key)
    if num_merged and say_merged:
        logger.warning(
            "%d duplicate edges were merged; %s.",
            num_merged,
            _merging(edge_weight is not None, make_undirected),
        )

    weight = None
    if edge_weight is not None:
        weight = edge_weight.new_zeros(len(key)).scatter_reduce(
            0, position, edge_weight[edge], merging
        )
    elif num_merged and not make_undirected:
        count = torch.bincount(position, minlength=len(key))
        weight = count.to(torch.get_default_dtype())
    if make_undirected:
        key, weight, new_position = _symmetrised(key, weight, num_nodes)
        position = new_position[position]

    input_edge = torch.full_like(src, -1)
    input_edge[edge] = position
    return MergedEdges(key, num_nodes, weight, loop_weight, input_edge, num_merged)


def picked(value: Tensor | None, mask: Tensor) -> Tensor | None:
    """The marked entries of what may not be there."""
    return None if value is None else value[mask]
