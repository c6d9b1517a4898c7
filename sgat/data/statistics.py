"""Statistics: what a data set holds, counted the way the paper counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData, merge
from sgat.data.prepare import BLOCK, component_of_nodes, fill
from sgat.features import SparseFeatures
from sgat.graph import Graph


@dataclasses.dataclass(frozen=True)
class Degrees:
    """Number of neighbours per node, loops left out; None without nodes."""

    min: int | None
    median: float | None
    mean: float | None
    max: int | None


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Counts of one graph, or the totals of several.

    `homophily` is H, the mean over the labelled nodes of the share of a node's labelled
    neighbours that have its class; a node without any counts 0.
    """

    name: str
    nodes: int
    edges: int  # directed, without loops, E
    edges_with_loops: int  # E + N, one self-loop per node, as in the paper's Table 1
    features: int
    fill: float  # share of the features that is not zero
    classes: int  # or labels, in the multi-label case
    class_sizes: dict[str, int]  # nodes of each class, or with each label
    unlabelled: int
    components: int  # directions ignored
    isolated: int  # nodes without an edge
    degrees: Degrees
    homophily: float | None
    edge_homophily: float | None  # share of labelled edges that join one class
    homophily_note: str | None  # why the two are None, if they are
    split: dict[str, int]  # number of training, validation and test nodes
    memory: int  # bytes to train, see `estimate_memory`
    graphs: tuple[Statistics, ...] = ()  # each graph, if there are several

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            **dataclasses.asdict(self),
            "graphs": [graph.to_dict() for graph in self.graphs],
        }


def describe(data: NodeData | Sequence[NodeData]) -> Statistics:
    """Count what a graph, or a list of graphs, holds.

    Several graphs are described as the one graph they form side by side: counts add up,
    and the two kinds of homophily run over all nodes and all edges.
    """
    graphs = [data] if isinstance(data, NodeData) else data
    if not graphs:
        raise ValueError("`data` must hold at least one graph, got none.")
    parts = tuple(_describe_one(graph) for graph in graphs)
    if len(parts) == 1:
        return parts[0]
    return dataclasses.replace(_describe_one(merge(graphs)), graphs=parts)


def estimate_memory(
    data: NodeData, *, hidden: int = 64, heads: int = 2, layers: int = 2
) -> int:
    """Bytes that training in float32 needs at most, an estimate of the main tensors.

        graph        20 E + 16 N        both edge orders and their pointers
        open edges   24 E               indices and gates in both orders, all gates open
        features     4 N K dense, or 12 M + 8 N with M entries
        activations  16 L N W           per layer: projected, aggregated, both gradients
        parameters   16 (K W + (L - 1) W² + W C)    weight, gradient, Adam's two moments

    with W = heads · hidden and L layers. Libraries, kernels and the allocator come on
    top; no tensor of size E · W exists.
    """
    nodes, edges, width = data.num_nodes, data.graph.num_edges, hidden * heads
    if isinstance(data.x, SparseFeatures):
        features = 12 * len(data.x.value) + 8 * nodes
    else:
        features = 4 * nodes * data.num_features
    weights = width * (data.num_features + (layers - 1) * width + data.num_classes)
    return 44 * edges + 16 * nodes + features + 16 * (layers * nodes * width + weights)


def _describe_one(data: NodeData) -> Statistics:
    graph = data.graph
    neighbours = graph.undirected()
    degree = neighbours.row_ptr.diff()
    component = component_of_nodes(graph)
    node_homophily, edge_homophily, note = _homophily(data, neighbours)
    return Statistics(
        name=data.name,
        nodes=data.num_nodes,
        edges=graph.num_edges,
        edges_with_loops=graph.num_edges + data.num_nodes,
        features=data.num_features,
        fill=fill(data.x),
        classes=data.num_classes,
        class_sizes=_class_sizes(data),
        unlabelled=0 if data.is_multilabel else int((data.y < 0).sum()),
        components=int(component.max()) + 1 if len(component) else 0,
        isolated=int((degree == 0).sum()),
        degrees=_degrees(degree),
        homophily=node_homophily,
        edge_homophily=edge_homophily,
        homophily_note=note,
        split={role: int(getattr(data, role).sum()) for role in ROLES},
        memory=estimate_memory(data),
    )


def _class_sizes(data: NodeData) -> dict[str, int]:
    if data.is_multilabel:
        sizes = data.y.sum(dim=0).long()
    else:
        sizes = torch.bincount(data.y[data.y >= 0], minlength=data.num_classes)
    return dict(zip(map(str, data.classes), sizes.tolist(), strict=True))


def _degrees(degree: Tensor) -> Degrees:
    if not len(degree):
        return Degrees(None, None, None, None)
    value = degree.numpy(force=True)
    middle = float(np.median(value)), float(value.mean())
    return Degrees(int(value.min()), *middle, int(value.max()))


def _homophily(
    data: NodeData, neighbours: Graph
) -> tuple[float | None, float | None, str | None]:
    """Node homophily, edge homophily, and why they are None if they are."""
    if data.is_multilabel:
        return None, None, "a node has several labels"
    if not bool((data.y >= 0).any()):
        return None, None, "no node has a label"
    known, agreeing = known_neighbours(data.y, neighbours)
    share = agreeing.double() / known.clamp(min=1)
    node_homophily = float(share[data.y >= 0].mean())
    if not int(known.sum()):
        return node_homophily, None, "no edge joins two labelled nodes"
    return node_homophily, int(agreeing.sum()) / int(known.sum()), None


def known_neighbours(y: Tensor, graph: Graph) -> tuple[Tensor, Tensor]:
    """Edges between labelled nodes into each node, and of these within a class, [N]."""
    y, counts = y.int().to(graph.device), torch.zeros(2, len(y), dtype=torch.long)
    for src, dst in zip(graph.src.split(BLOCK), graph.dst.split(BLOCK), strict=True):
        both = (y[src] >= 0) & (y[dst] >= 0)
        known, same = dst[both], dst[both & (y[src] == y[dst])]
        for count, found in zip(counts, (known, same), strict=True):
            count += found.bincount(minlength=len(y)).cpu()
    return counts[0], counts[1]
