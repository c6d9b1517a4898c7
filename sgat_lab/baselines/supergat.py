"""SuperGAT: attention that also learns to separate edges from other pairs.

Kim & Oh, *How to Find Your Friendly Neighborhood: Graph Attention Design with
Self-Supervision*, ICLR 2021. PyG's layer draws its pairs without an edge from Python's
generator; here they come from torch's, which the seed rules.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import SuperGATConv

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, Projection, unprojected
from sgat_lab.baselines.method import Method

ROUNDS = 16
"""Most draws of pairs until enough of them have no edge."""


def pairs_without_edge(graph: Graph, number: int) -> Tensor:
    """Pairs src, dst of one graph with neither an edge nor the same node, [2, number].

    They come from torch's global generator, dst uniform over all nodes and src over the
    nodes of its graph, where several were merged. A graph with hardly a pair free gives
    fewer.
    """
    node_owner = graph.noise_id >> 32
    owner, size = node_owner.unique_consecutive(
        return_inverse=True, return_counts=True
    )[1:]
    start = size.cumsum(0) - size
    found: list[Tensor] = []
    missing = number
    for _ in range(ROUNDS):
        if missing <= 0:
            break
        dst = torch.randint(graph.num_nodes, (missing,), device=graph.device)
        among = owner[dst]
        share = torch.rand(missing, dtype=torch.double, device=graph.device)
        src = start[among] + (share * size[among]).long()
        is_free = (src != dst) & (graph.find(src, dst) < 0)
        found.append(torch.stack([src, dst])[:, is_free])
        missing -= found[-1].shape[1]
    return torch.cat(found, dim=1) if found else graph.edge_index[:, :0]


class SuperGAT(Baseline):
    """PyG's `SuperGATConv` in layers: heads concatenated, those of the last averaged.

        s_ij = h_i · h_j
        e_ij = (a_dst · h_i + a_src · h_j) σ(s_ij)                  attention "MX"
        e_ij = s_ij = h_i · h_j / √D                                attention "SD"
        α_ij = softmax_j LeakyReLU(e_ij)                            over j → i and i
        loss = data loss + edge_loss Σ_layers BCE(σ(mean over heads of s_ij), is edge)

    The positive pairs are a drawn share `edge_sample` of the edges and self-loops (as
    in PyG); for each of them there are `negative_sample` pairs without an edge. Edge
    weights are not used. Arguments that are not listed are as of `GAT`.

    Args:
        attention: "MX" or "SD".
        edge_loss: Price of the loss on edges; 0 leaves it out.
        edge_sample: Share of the edges in it, in (0, 1].
        negative_sample: Pairs without an edge per edge in it, above 0.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = 8,
        layers: int = 2,
        output_heads: int = 8,
        activation: str = "elu",
        dropout: float = 0.6,
        attention_dropout: float = 0.6,
        attention: Literal["MX", "SD"] = "MX",
        edge_loss: float = 4.0,
        edge_sample: float = 0.8,
        negative_sample: float = 0.5,
    ) -> None:
        super().__init__()
        if attention not in ("MX", "SD"):
            raise ValueError(f"`attention` must be MX or SD, got {attention!r}.")
        if not edge_loss >= 0:
            raise ValueError(f"`edge_loss` must be at least 0, got {edge_loss}.")
        if not 0 < edge_sample <= 1:
            raise ValueError(f"`edge_sample` must be in (0, 1], got {edge_sample}.")
        if not negative_sample > 0:
            raise ValueError(
                f"`negative_sample` must be above 0, got {negative_sample}."
            )
        self.activation, self.dropout = activation, dropout
        self.edge_loss, self.edge_sample = edge_loss, edge_sample
        self.negative_sample = negative_sample
        shapes = [(hidden_channels, heads, True)] * (layers - 1)
        shapes.append((out_channels, output_heads, False))
        width = shapes[0][0] * shapes[0][1]
        self.projection = Projection(in_channels, width, dropout=dropout)
        options: dict[str, Any] = {
            "dropout": attention_dropout,
            "attention_type": attention,
            "edge_sample_ratio": edge_sample,
            "neg_sample_ratio": negative_sample,
        }
        convs: list[nn.Module] = []
        for channels, count, concat in shapes:
            conv = SuperGATConv(width, channels, count, concat=concat, **options)
            convs.append(conv if convs else unprojected(conv))
            width = channels * count if concat else channels
        self.convs = nn.ModuleList(convs)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges, and in training the loss on edges."""
        hidden: Features = x
        out = self.projection(x, graph, seed)
        losses = []
        conv: Any
        for layer, conv in enumerate(self.convs):
            if layer:
                hidden = ACTIVATIONS[self.activation](out)
                out = F.dropout(hidden, self.dropout, self.training)
            out = conv(out, graph.edge_index, self._negatives(graph))
            if self.training:
                losses.append(conv.get_attention_loss())
                # The layer keeps them; a model with tensors of a pass cannot be copied.
                conv.att_x = conv.att_y = None
        extra = self.edge_loss * torch.stack(losses).sum() if losses else None
        return Output(out, hidden, extra_loss=extra)

    def _negatives(self, graph: Graph) -> Tensor | None:
        if not self.training:
            return None
        share = self.negative_sample * self.edge_sample
        return pairs_without_edge(
            graph, int(share * (graph.num_edges + graph.num_nodes))
        )

    @torch.no_grad()
    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """Mean coefficient over heads and layers, times the size of the row, [E]."""
        node = torch.arange(graph.num_nodes, device=graph.device)
        src, dst = torch.cat([graph.edge_index, torch.stack([node, node])], dim=1)
        out = self.projection(x, graph, None)
        coefficients = []
        conv: Any
        for layer, conv in enumerate(self.convs):
            if layer:
                out = ACTIVATIONS[self.activation](out)
            h = conv.lin(out).view(graph.num_nodes, conv.heads, conv.out_channels)
            attention = conv.get_attention(dst, h[dst], h[src], graph.num_nodes)
            coefficients.append(attention[: graph.num_edges])
            out = conv(out, graph.edge_index)
        degree = graph.row_ptr.diff()[graph.dst.long()] + 1
        return torch.cat(coefficients, dim=1).mean(dim=1) * degree


METHOD = Method(
    SuperGAT,
    defaults={
        "attention": "MX",
        "edge_loss": 4.0,
        "edge_sample": 0.8,
        "negative_sample": 0.5,
    },
)
