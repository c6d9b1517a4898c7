"""The layers of the peers: PyG's, with their weights and numbers, only faster.

PyG writes a message on every edge. Here sums over edges are made at once: means by
`sgat.ops.aggregate`, and attention by `sgat_lab.unseen.attention.attend`.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SuperGATConv

from sgat import ops
from sgat.graph import Graph
from sgat.ops import OpenEdges
from sgat_lab.unseen.attention import AttentionEdges, attend

MOST_SAMPLED = 50_000
"""Edges of each pass that teach SuperGAT's attention; as many pairs stand beside."""


class PeerEdges:
    """The edges of a graph as the layers take them, each form made at its first use."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: Graph, device: torch.device | str = "cpu") -> PeerEdges:
        """The edges of a graph, their weights left out."""
        bare = dataclasses.replace(graph, weight=None, loop_weight=None)
        return cls(bare.to(device))

    @property
    def num_edges(self) -> int:
        """Number of edges and loops E + N."""
        return self.graph.num_edges + self.graph.num_nodes

    @cached_property
    def edge_index(self) -> Tensor:
        """Rows `src` and `dst`, [2, E]."""
        return self.graph.edge_index

    @cached_property
    def with_loops(self) -> Tensor:
        """The same and a loop at each node, [2, E + N]."""
        every = torch.arange(self.graph.num_nodes, device=self.graph.device)
        return torch.cat([self.edge_index, every.expand(2, -1)], dim=1)

    @cached_property
    def degree_root(self) -> Tensor:
        """Root of each node's number of edges, its loop counted, [N, 1]."""
        return (self.graph.row_ptr.diff() + 1).float().sqrt()[:, None]

    @cached_property
    def around(self) -> OpenEdges:
        """Edges and loops, for means over a node and its neighbours."""
        return _all_open(self.graph)

    @cached_property
    def neighbours(self) -> OpenEdges:
        """Edges alone, for means over neighbours."""
        none = torch.zeros(self.graph.num_nodes, device=self.graph.device)
        return _all_open(dataclasses.replace(self.graph, loop_weight=none))

    @cached_property
    def attended(self) -> AttentionEdges:
        """`with_loops`, for attention."""
        return AttentionEdges.of(self.with_loops, self.graph.num_nodes)

    @cached_property
    def attended_neighbours(self) -> AttentionEdges:
        """`edge_index`, for attention."""
        return AttentionEdges.of(self.edge_index, self.graph.num_nodes)


def _all_open(graph: Graph) -> OpenEdges:
    # Edges that are first used in an evaluation are used in training, too.
    with torch.enable_grad():
        return ops.all_open(graph)


class FastGCN(GCNConv):  # type: ignore[misc]  # PyG has no types
    """GCN's layer; its weights of edges as a scale before and after a mean.

    x_i' = Σ_j (d_i d_j)^-1/2 W x_j + b = d_i^1/2 (mean over j of d_j^-1/2 W x_j) + b
    """

    def forward(self, x: Tensor, edges: PeerEdges) -> Tensor:
        """The next features, [N, D]."""
        root = edges.degree_root
        mean = ops.aggregate(edges.around, self.lin(x) / root)
        out: Tensor = root * mean + self.bias
        return out


class FastSAGE(SAGEConv):  # type: ignore[misc]  # PyG has no types
    """GraphSAGE's layer that projects before it averages: the same, on fewer columns.

    x_i' = W_r x_i + mean over j → i of W_l x_j + b
    """

    def forward(self, x: Tensor, edges: PeerEdges) -> Tensor:
        """The next features, [N, D]."""
        mean = ops.aggregate(edges.neighbours, F.linear(x, self.lin_l.weight))
        out: Tensor = mean + self.lin_l.bias + self.lin_r(x)
        return out


def _kept(conv: Any, edges: AttentionEdges, x: Tensor) -> Tensor | None:
    """Factors of the attention by its dropout, [E, H]; None where nothing is dropped.

    They are drawn as PyG's layers draw them.
    """
    if not conv.training or not conv.dropout:
        return None
    return F.dropout(x.new_ones(edges.num_edges, conv.heads), conv.dropout)


class FastGAT(GATConv):  # type: ignore[misc]  # PyG has no types
    """GAT's layer by `attend`."""

    def forward(self, x: Tensor, edges: AttentionEdges) -> Tensor:
        """The next features, [N, H · D]."""
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        src_score, dst_score = (
            (h * weight).sum(dim=-1) for weight in (self.att_src, self.att_dst)
        )
        kept = _kept(self, edges, x)
        mean = attend(h, src_score, dst_score, edges, kept=kept)
        out: Tensor = mean.flatten(1) + self.bias
        return out


class SampledSuperGAT(SuperGATConv):  # type: ignore[misc]  # PyG has no types
    """SuperGAT's layer by `attend`; it learns from a number of edges that is fixed.

    As many pairs of any nodes stand for pairs without an edge, so that the work is the
    same in every epoch.
    """

    def forward(self, x: Tensor, edge_index: Tensor, edges: AttentionEdges) -> Tensor:
        """The next features, [N, H · D]; `edges` are those of `edge_index`."""
        number = min(edge_index.shape[1], MOST_SAMPLED) if self.training else 0
        pairs = torch.randint(max(len(x), 1), (2, number), device=x.device)
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        src_score, dst_score = (
            (h * weight).sum(dim=-1) for weight in (self.att_l, self.att_r)
        )
        kept = _kept(self, edges, x)
        mean = attend(h, src_score, dst_score, edges, kept=kept, with_products=True)
        if self.training:
            sampled = torch.cat([self.positive_sampling(edge_index), pairs], dim=1)
            # The gradient of `index_select` is summed at once; that of h[src] is sorted
            # first.
            source, target = (h.index_select(0, end) for end in sampled)
            self.att_x = (source * target).sum(dim=-1)
            self.att_y = (torch.arange(2 * number, device=x.device) < number).to(x)
        out: Tensor = mean.flatten(1) + self.bias
        return out

    def positive_sampling(self, edge_index: Tensor) -> Tensor:
        """Some of the edges, or all."""
        if edge_index.shape[1] <= MOST_SAMPLED:
            return edge_index
        number = edge_index.shape[1]
        drawn = torch.randint(number, (MOST_SAMPLED,), device=edge_index.device)
        return edge_index.index_select(1, drawn)
