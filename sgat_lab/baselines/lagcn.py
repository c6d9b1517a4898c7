"""LAGCN: a GCN on a graph that an edge classifier refined (Chen et al., CIKM 2020).

The classifier is trained once, before the GCN, on pairs of training nodes; it stops
after a fixed number of steps, where the published code watches validation edges.
Features of a node are smoothed over its neighbours first, as in that code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.data.node_data import NodeData, merge
from sgat.features import Features
from sgat.graph import Graph
from sgat_lab.baselines.baseline import PerGraph, Projection, seeded
from sgat_lab.baselines.gcn import GCN, normalised
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig

STEPS, LR, WEIGHT_DECAY, DROPOUT = 100, 0.01, 5e-4, 0.5
MOST_PAIRS = 10_000
"""Pairs of either kind the classifier learns from at most."""
PAIRS_PER_NODE = 20
"""Random pairs drawn per training node, beside the edges between them."""


class EdgeClassifier(nn.Module):
    """Whether two nodes are of one class, the same in both directions.

        h = Â^hops x W + b        Â: the matrix of GCN
        logit(i, j) = MLP[h_i + h_j ‖ |h_i - h_j| ‖ h_i ⊙ h_j]

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of h and of the hidden layer.
        hops: How often features are averaged over the neighbours.
    """

    def __init__(self, in_channels: int, hidden_channels: int, hops: int) -> None:
        super().__init__()
        self.hops = hops
        self.normalised = PerGraph(normalised)
        self.projection = Projection(in_channels, hidden_channels, bias=True)
        self.hidden = nn.Linear(3 * hidden_channels, hidden_channels)
        self.out = nn.Linear(hidden_channels, 1)

    def embed(self, x: Features, graph: Graph) -> Tensor:
        """Smoothed and projected features h, [N, D]."""
        h: Tensor = self.projection(x, graph, None)
        for _ in range(self.hops):
            h = self.normalised(graph) @ h
        return h

    def forward(self, h: Tensor, pairs: Tensor) -> Tensor:
        """Logit of each pair, [M], for rows of two nodes, [2, M]."""
        one, other = h[pairs[0]], h[pairs[1]]
        joint = torch.cat([one + other, (one - other).abs(), one * other], dim=1)
        hidden = F.dropout(self.hidden(joint).relu(), DROPOUT, self.training)
        logit: Tensor = self.out(hidden).squeeze(1)
        return logit


def are_alike(y: Tensor, pairs: Tensor) -> Tensor:
    """Whether the two nodes of each pair have one class, or share a label, [M]."""
    one, other = y[pairs[0]], y[pairs[1]]
    return (one == other) if y.dim() == 1 else ((one > 0) & (other > 0)).any(dim=1)


def training_pairs(data: NodeData) -> tuple[Tensor, Tensor]:
    """Pairs of training nodes, [2, M], and whether they are alike, [M].

    Edges between training nodes, then random pairs until both kinds are as frequent;
    draws from torch's global generator.
    """
    node = data.train.nonzero().squeeze(1)
    edges = data.graph.edge_index
    known = edges[:, data.train[edges].all(dim=0)]
    known = known[:, torch.randperm(known.shape[1])]
    drawn = node[torch.randint(len(node), (2, PAIRS_PER_NODE * len(node)))]
    pairs = torch.cat([known, drawn[:, drawn[0] != drawn[1]]], dim=1)
    alike = are_alike(data.y, pairs)
    number = min(int(alike.sum()), int((~alike).sum()), MOST_PAIRS)
    chosen = torch.cat([kind.nonzero()[:number, 0] for kind in (alike, ~alike)])
    return pairs[:, chosen], alike[chosen]


def train_classifier(data: NodeData, *, hidden: int, hops: int) -> EdgeClassifier:
    """Learn from the training nodes of a graph; draws from torch's generator."""
    classifier = EdgeClassifier(data.num_features, hidden, hops)
    classifier.projection.reset_parameters()
    pairs, alike = training_pairs(data)
    optimiser = torch.optim.Adam(
        classifier.parameters(), lr=LR, weight_decay=WEIGHT_DECAY
    )
    for _ in range(STEPS if len(alike) else 0):
        optimiser.zero_grad()
        logit = classifier(classifier.embed(data.x, data.graph), pairs)
        F.binary_cross_entropy_with_logits(logit, alike.float()).backward()
        optimiser.step()
    return classifier.eval()


def two_hops(graph: Graph, most: int) -> Tensor:
    """Pairs j, i with a path j → · → i but no edge, where i has fewer than `most`."""
    matrix = graph.to_scipy(np.int32)
    row = np.flatnonzero(np.diff(matrix.indptr) < most)
    far = (matrix[row] @ matrix).tocoo()
    ends = np.stack([far.coords[1], row[far.coords[0]]]).astype(np.int64)
    pairs = torch.from_numpy(ends)
    return pairs[:, (graph.find(*pairs) < 0) & (pairs[0] != pairs[1])]


@torch.no_grad()
def refined(
    data: NodeData, classifier: EdgeClassifier, *, threshold: float, add_edges: int
) -> NodeData:
    """The data without edges between nodes that are probably unlike, and with others.

    Args:
        data: The graph, on the CPU.
        classifier: A trained classifier.
        threshold: How sure it must be, to remove an edge or to add one.
        add_edges: A node with fewer neighbours gets the likeliest of its neighbours'
            neighbours, up to this number; 0 adds nothing.
    """
    graph, h = data.graph, classifier.embed(data.x, data.graph)
    alike = classifier(h, graph.edge_index).sigmoid()
    kept = graph.select(1 - alike <= threshold)
    if add_edges:
        pairs = two_hops(graph, add_edges)
        chance = classifier(h, pairs).sigmoid()
        sure = chance > threshold
        new = best_of_row(
            pairs[:, sure], chance[sure], add_edges - graph.row_ptr.diff()
        )
        kept = with_edges(kept, new, make_undirected=graph.is_undirected)
    return dataclasses.replace(data, graph=kept)


def best_of_row(pairs: Tensor, chance: Tensor, room: Tensor) -> Tensor:
    """The likeliest pairs j, i of each i, at most room[i] of them, [2, M]."""
    order = chance.argsort(descending=True, stable=True)
    order = order[pairs[1, order].argsort(stable=True)]
    dst = pairs[1, order]
    start = torch.searchsorted(dst, dst)
    place = torch.arange(len(dst)) - start
    return pairs[:, order[place < room[dst]]]


def with_edges(graph: Graph, new: Tensor, *, make_undirected: bool) -> Graph:
    """The graph with further edges of weight 1, and their reverses if asked for."""
    if make_undirected:
        new = torch.cat([new, new.flip(0)], dim=1).unique(dim=1)
    index = torch.cat([graph.edge_index, new], dim=1)
    weight = None
    if graph.weight is not None:
        weight = torch.cat([graph.weight, graph.weight.new_ones(new.shape[1])])
    wider = Graph.from_edges(index, graph.num_nodes, weight)
    return dataclasses.replace(
        wider, loop_weight=graph.loop_weight, node_id=graph.node_id, input_edge=None
    )


def prepare(
    graphs: Sequence[NodeData], config: MethodConfig, seed: int
) -> list[NodeData]:
    """Train one classifier on the training nodes of all graphs, and refine each."""
    options = METHOD.options(config)
    if not 0 <= options["threshold"] <= 1:
        raise ValueError(
            f"The option 'threshold' of 'lagcn' must be in [0, 1], got"
            f" {options['threshold']}."
        )
    with seeded(seed, torch.device("cpu")):
        classifier = train_classifier(
            merge(graphs) if len(graphs) > 1 else graphs[0],
            hidden=options["classifier_hidden"],
            hops=options["hops"],
        )
    return [
        refined(
            data,
            classifier,
            threshold=options["threshold"],
            add_edges=options["add_edges"],
        )
        for data in graphs
    ]


METHOD = Method(
    GCN,
    prepare=prepare,
    defaults={"threshold": 0.7, "add_edges": 6, "hops": 2, "classifier_hidden": 64},
)
