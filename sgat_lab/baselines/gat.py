"""GAT: attention by softmax over the neighbours (Veličković et al., ICLR 2018)."""

from __future__ import annotations

import functools
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


class GAT(Baseline):
    """PyG's `GATConv` in layers: heads concatenated, those of the last averaged.

    Every node also attends to itself. Edge weights are not used.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width D of each head.
        out_channels: Number of classes C.
        heads: Number of heads of the hidden layers.
        layers: Number of layers, 1 or more.
        output_heads: Heads of the last layer, which are averaged.
        activation: "relu" or "elu".
        dropout: Share of features to drop before every layer.
        attention_dropout: Share of coefficients to drop.
        value_dropout: Share of projected features to drop where they are summed, but
            not where coefficients are found, as the authors' code does.
        residual: Add each layer's input to its output.
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
        value_dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        if not 0 <= value_dropout < 1:
            raise ValueError(f"`value_dropout` must be in [0, 1), got {value_dropout}.")
        self.activation, self.dropout = activation, dropout
        shapes = [(hidden_channels, heads, True)] * (layers - 1)
        shapes.append((out_channels, output_heads, False))
        width = shapes[0][0] * shapes[0][1]
        self.projection = Projection(in_channels, width, dropout=dropout)
        options = {"dropout": attention_dropout}
        convs = []
        for layer, (channels, count, concat) in enumerate(shapes):
            options["residual"] = residual and layer > 0
            conv = GATConv(width, channels, count, concat=concat, **options)
            if value_dropout:
                hook = functools.partial(_drop_values, value_dropout)
                conv.register_propagate_forward_pre_hook(hook)
            convs.append(conv if layer else unprojected(conv))
            width = channels * count if concat else channels
        self.convs = nn.ModuleList(convs)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges."""
        logits, hidden, _ = self.attend(x, graph, seed, graph.edge_index)
        return Output(logits, hidden)

    def attend(
        self, x: Features, graph: Graph, seed: Seed | None, edge_index: Tensor
    ) -> tuple[Tensor, Features, list[Tensor]]:
        """Class scores, penultimate features, and the coefficients of each layer.

        The coefficients are those of the given edges and then of the N self-loops,
        before dropout in evaluation mode, [E + N, heads].
        """
        hidden: Features = x
        out = self.projection(x, graph, seed)
        coefficients = []
        for layer, conv in enumerate(self.convs):
            if layer:
                hidden = ACTIVATIONS[self.activation](out)
                out = F.dropout(hidden, self.dropout, self.training)
            out, (_, attention) = conv(out, edge_index, return_attention_weights=True)
            coefficients.append(attention)
        return out, hidden, coefficients

    @torch.no_grad()
    def attention(self, x: Features, graph: Graph) -> Tensor:
        """Coefficients of all heads of all layers on every edge, [E, all heads]."""
        *_, coefficients = self.attend(x, graph, None, graph.edge_index)
        return torch.cat(coefficients, dim=1)[: graph.num_edges]

    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """Mean coefficient over heads and layers, times the size of the row, [E].

        A coefficient is a share of its row: 1 / (degree + 1) in a long row is what
        1/2 is for a single neighbour.
        """
        degree = graph.row_ptr.diff()[graph.dst.long()] + 1
        return self.attention(x, graph).mean(dim=1) * degree


def _drop_values(rate: float, conv: GATConv, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop some of what a layer is about to sum; its coefficients are known by now."""
    edge_index, size, parts = given
    source, target = parts["x"]
    source = F.dropout(source, rate, conv.training)
    return edge_index, size, {**parts, "x": (source, target)}


METHOD = Method(GAT, defaults={"value_dropout": 0.0})
