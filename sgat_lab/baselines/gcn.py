"""GCN: the mean of the neighbours with fixed weights (Kipf & Welling, ICLR 2017)."""

from __future__ import annotations

import warnings
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, PerGraph, Projection, unprojected
from sgat_lab.baselines.method import Method


def normalised(graph: Graph, edge_weight: Tensor | None = None) -> Tensor:
    """The matrix D^-½ (A + I) D^-½ in compressed rows, [N, N].

    Args:
        graph: The edges; one self-loop of weight 1 is added to every node.
        edge_weight: Weights in place of the graph's own, [E].
    """
    weight = graph.edge_weight if edge_weight is None else edge_weight
    edge_index, value = gcn_norm(
        graph.edge_index, weight.float(), graph.num_nodes, dtype=torch.float
    )
    src, dst = edge_index
    order = torch.argsort(dst * graph.num_nodes + src)
    row_ptr = torch.cat(
        [dst.new_zeros(1), torch.bincount(dst, minlength=graph.num_nodes).cumsum(0)]
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
        return torch.sparse_csr_tensor(
            row_ptr, src[order], value[order], (graph.num_nodes,) * 2
        )


class GCN(Baseline):
    """PyG's `GCNConv` in layers, with dropout before each.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of the hidden layers.
        out_channels: Number of classes C.
        layers: Number of layers, 1 or more.
        activation: "relu" or "elu".
        dropout: Share of features to drop before every layer.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        activation: str = "relu",
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        widths = [hidden_channels] * (layers - 1) + [out_channels]
        self.activation, self.dropout = activation, dropout
        self.projection = Projection(in_channels, widths[0], dropout=dropout)
        convs = [unprojected(GCNConv(widths[0], widths[0], normalize=False))]
        for pair in pairwise(widths):
            convs.append(GCNConv(*pair, normalize=False))
        self.convs = nn.ModuleList(convs)
        self.normalised = PerGraph(normalised)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges."""
        return self.propagate(x, graph, seed, self.adjacency(graph))

    def adjacency(self, graph: Graph) -> Tensor:
        """The matrix that mixes neighbours in a pass, [N, N] in compressed rows."""
        return self.normalised(graph)

    def propagate(
        self, x: Features, graph: Graph, seed: Seed | None, adjacency: Tensor
    ) -> Output:
        """Class scores with the given matrix."""
        hidden: Features = x
        logits = self.convs[0](self.projection(x, graph, seed), adjacency)
        for conv in self.convs[1:]:
            hidden = ACTIVATIONS[self.activation](logits)
            dropped = F.dropout(hidden, self.dropout, self.training)
            logits = conv(dropped, adjacency)
        return Output(logits, hidden)


METHOD = Method(GCN)
