"""Stored edges and features to the graph and features that the paper counts."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.graph.edge_list import picked

BLOCK = 1 << 22
"""Edges that are looked at in one go."""
SPARSE_BELOW = 0.25
"""Features of which a smaller share is non-zero are kept sparse."""


def simple_graph(edge_index: Tensor, num_nodes: int, *, undirected: bool) -> Graph:
    """The graph without loops and duplicates, every edge of weight 1.

    Benchmark graphs are unweighted: an edge listed twice is one edge, not one of weight
    2. The order of the file is forgotten, so `input_edge` is None.
    """
    apart = edge_index[0] != edge_index[1]
    edges = edge_index if bool(apart.all()) else edge_index[:, apart]
    how: dict[str, Any] = {"make_undirected": undirected, "say_merged": False}
    graph = Graph.from_edges(edges, num_nodes, **how)
    return dataclasses.replace(graph, weight=None, input_edge=None, num_merged=0)


def fill(x: Features) -> float:
    """Share of the feature matrix that is not zero; 0 for an empty matrix."""
    size = x.shape[0] * x.shape[1]
    filled = x.value if isinstance(x, SparseFeatures) else x
    return int(filled.count_nonzero()) / max(size, 1)


def compact(parts: Sequence[Tensor]) -> list[Features]:
    """The features of all graphs in one form: sparse if under a quarter is non-zero."""
    filled = sum(int(part.count_nonzero()) for part in parts)
    if filled < SPARSE_BELOW * sum(part.numel() for part in parts):
        return [SparseFeatures.from_dense(part) for part in parts]
    return list(parts)


def component_of_nodes(graph: Graph) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number of the component of each node, directions ignored, [N].

    Components are numbered by their first node. Each node has the name of one before
    it that it is joined to, until no edge joins two names.
    """
    name, before = torch.arange(graph.num_nodes, device=graph.device), None
    while before is None or not torch.equal(name, before):
        before = name.clone()
        for ends in zip(*(e.split(BLOCK) for e in (graph.src, graph.dst)), strict=True):
            a, b = (name[end] for end in ends)
            is_apart = a != b
            a, b = a[is_apart], b[is_apart]
            name.scatter_reduce_(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
            while not torch.equal(first := name[name], name):
                name = first
    return np.asarray(name.unique(return_inverse=True)[1].numpy(force=True))


def largest_component(graph: Graph) -> Tensor:
    """The nodes of the largest component, ascending; of equals, the one that is first.

    An empty graph has none.
    """
    component = component_of_nodes(graph)
    largest = np.bincount(component, minlength=1).argmax()
    return torch.from_numpy(np.flatnonzero(component == largest))


def restrict(data: NodeData, nodes: Tensor) -> NodeData:
    """The data of some nodes, given in ascending order, and the edges among them."""
    graph, count = data.graph, len(nodes)
    number = torch.full((graph.num_nodes,), -1, dtype=torch.int64)
    number[nodes] = torch.arange(count)
    src, dst = number[graph.src.long()], number[graph.dst.long()]
    keep = (src >= 0) & (dst >= 0)
    smaller = Graph.from_keys(
        dst[keep] * count + src[keep],
        count,
        weight=picked(graph.weight, keep),
        loop_weight=picked(graph.loop_weight, nodes),
        edge_attr=picked(graph.edge_attr, keep),
        square_sum=picked(graph.square_sum, nodes),
    )
    x = data.x
    if isinstance(x, SparseFeatures):
        x = SparseFeatures.from_scipy(x.to_scipy()[nodes.numpy()])
    else:
        x = x[nodes]
    return dataclasses.replace(
        data,
        graph=smaller,
        x=x,
        node_ids=None if data.node_ids is None else data.node_ids[nodes.numpy()],
        **{name: getattr(data, name)[nodes] for name in ("y", *ROLES)},
    )
