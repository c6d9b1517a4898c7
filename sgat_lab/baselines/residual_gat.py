"""GAT that keeps what a node is apart from what its neighbours are.

On disassortative graphs a mean of a node with its neighbours blurs the difference
between them; H2GCN (Zhu et al., NeurIPS 2020) and GAT-sep (Platonov et al., ICLR 2023)
concatenate the two instead. Of GAT-sep this has the separation alone, not the residual
blocks with feed-forward parts and normalisation around it.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, Projection, unprojected
from sgat_lab.baselines.method import Method


class ResidualGAT(Baseline):
    """Attention over the neighbours beside a separate projection of the node itself.

        hidden:  h'_i = act([h_i W_self ‖ Σ_j α_ij h_j W ‖ …])      … for further heads
        last:    logits_i = h_i W_self + mean over heads of Σ_j α_ij h_j W

    The softmax behind α_ij is over the edges j → i, without a self-loop; both parts
    have a bias. W_self of a hidden layer is as wide as all its heads together. In the
    last layer the sum is what a read-out of the concatenation would be. A node without
    edges has its own part alone. Edge weights are not used. Arguments are as of `GAT`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = 8,
        layers: int = 2,
        output_heads: int = 1,
        activation: str = "elu",
        dropout: float = 0.6,
        attention_dropout: float = 0.6,
    ) -> None:
        super().__init__()
        self.activation, self.dropout = activation, dropout
        shapes = [(hidden_channels, heads, True)] * (layers - 1)
        shapes.append((out_channels, output_heads, False))
        channels, count, concat = shapes[0]
        own = channels * count if concat else channels
        self.projection = Projection(in_channels, channels * count, dropout=dropout)
        self.ego = Projection(in_channels, own, dropout=dropout, bias=True)
        options: dict[str, Any] = {
            "dropout": attention_dropout,
            "add_self_loops": False,
        }
        egos, convs = [], []
        width = channels * count
        for layer, (channels, count, concat) in enumerate(shapes):
            conv = GATConv(width, channels, count, concat=concat, **options)
            convs.append(conv if layer else unprojected(conv))
            own = channels * count if concat else channels
            if layer:
                egos.append(nn.Linear(width, own))
            width = 2 * own
        self.convs, self.egos = nn.ModuleList(convs), nn.ModuleList(egos)

    def attend(
        self, x: Features, graph: Graph, seed: Seed | None
    ) -> tuple[Tensor, Features, list[Tensor]]:
        """Class scores, penultimate features, and the coefficients of each layer.

        The coefficients are before dropout in evaluation mode, [E, heads].
        """
        hidden: Features = x
        ego, out = self.ego(x, graph, seed), self.projection(x, graph, seed)
        coefficients = []
        for layer, conv in enumerate(self.convs):
            if layer:
                hidden = ACTIVATIONS[self.activation](torch.cat([ego, out], dim=1))
                out = F.dropout(hidden, self.dropout, self.training)
                ego = self.egos[layer - 1](out)
            out, (_, attention) = conv(
                out, graph.edge_index, return_attention_weights=True
            )
            coefficients.append(attention)
        return ego + out, hidden, coefficients

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges."""
        logits, hidden, _ = self.attend(x, graph, seed)
        return Output(logits, hidden)

    @torch.no_grad()
    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """Mean coefficient over heads and layers, times the size of the row, [E]."""
        *_, coefficients = self.attend(x, graph, None)
        degree = graph.row_ptr.diff()[graph.dst.long()]
        return torch.cat(coefficients, dim=1).mean(dim=1) * degree


METHOD = Method(ResidualGAT)
