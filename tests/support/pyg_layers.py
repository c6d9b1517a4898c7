"""What PyG's own layers give for the weights of the peers' layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SuperGATConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from sgat_lab.unseen import layers
from sgat_lab.unseen.layers import PeerEdges


def pyg_forward(kind: str, conv: Any, x: Tensor, edges: PeerEdges) -> Tensor:
    """The output of a layer of a peer by the code of PyG, messages and all."""
    if kind == "gcn":
        index, weight = _weights(edges)
        return GCNConv.forward(conv, x, index, weight)
    if kind == "sage":
        return SAGEConv.forward(conv, x, edges.edge_index)
    if kind == "supergat":
        most = min(edges.num_edges, layers.MOST_SAMPLED) if conv.training else 0
        pairs = torch.randint(len(x), (2, most), device=x.device)
        return SuperGATConv.forward(conv, x, edges.with_loops, neg_edge_index=pairs)
    index = edges.edge_index if kind == "residual-gat" else edges.with_loops
    return GATConv.forward(conv, x, index)


def _weights(edges: PeerEdges) -> tuple[Tensor, Tensor]:
    """Edges and loops with GCN's weights, made once as the peers make theirs."""
    if "gcn weights" not in edges.graph.derived:
        edges.graph.derived["gcn weights"] = gcn_norm(
            edges.edge_index, None, edges.graph.num_nodes
        )
    found: tuple[Tensor, Tensor] = edges.graph.derived["gcn weights"]
    return found
