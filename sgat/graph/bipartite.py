"""Edges between nodes of two kinds, as one graph."""

import dataclasses

import torch
from torch import Tensor

from sgat.graph.edge_list import check_ids, checked_edge_index
from sgat.graph.graph import Graph


def joined(
    edge_index: Tensor,
    size: tuple[int, int | None],
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
    *,
    hears_itself: bool = True,
) -> Graph:
    """The graph of targets 0 … T-1 and, after them, sources T … T+S-1.

    `size` is (S, T); without T the largest target is the last. No edge is a self-loop,
    not even i → i; `hears_itself` says whether targets have one besides, as nodes of
    other graphs. A source and a target of one number, which are often one node, draw
    the same noise. The rest is as of `Graph.from_edges`.
    """
    edge_index = checked_edge_index(edge_index)
    num_src, num_dst = size
    if num_dst is None:
        num_dst = int(edge_index[1].max()) + 1 if edge_index.numel() else 0
    check_ids(edge_index, (num_src, num_dst))
    ends, total = edge_index.clone(), num_src + num_dst
    ends[0] += num_dst
    graph = Graph.from_edges(ends, total, edge_weight, edge_attr, say_merged=False)
    number = torch.arange(total, device=edge_index.device)
    is_src = number >= num_dst
    name = number - num_dst * is_src
    loop = None if hears_itself else is_src.to(graph.edge_weight)
    return dataclasses.replace(graph, node_id=name, loop_weight=loop)
