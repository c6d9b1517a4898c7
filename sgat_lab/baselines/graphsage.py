"""GraphSAGE: a sample of the neighbours, averaged or pooled (Hamilton et al., 2017).

The batch is the whole graph: each epoch draws one sample of neighbours per node and
layer, without replacement, where the paper draws them anew for every batch of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed, noise
from sgat_lab.baselines.baseline import Baseline, Projection
from sgat_lab.baselines.method import Method

AGGREGATORS = {"mean": "mean", "pool": "max"}
"""The aggregators of the paper that are offered, and what PyG calls them."""
SAMPLES = 8 << 16
"""First stream of the noise that chooses neighbours; the layer's number is added."""


def sample_neighbours(graph: Graph, size: int, seed: Seed, layer: int = 0) -> Tensor:
    """Mark `size` of the edges into each node, or all of them if there are fewer, [E].

    Every subset of that size is equally likely.
    """
    noise_of_edge = noise.edge_uniform(seed, graph, SAMPLES + layer)
    dst = graph.dst.long()
    order = torch.argsort(noise_of_edge)
    order = order[torch.argsort(dst[order], stable=True)]
    place = torch.arange(graph.num_edges, device=graph.device)
    rank = torch.empty_like(place)
    rank[order] = place - graph.row_ptr[dst]
    return rank < size


class GraphSAGE(Baseline):
    """PyG's `SAGEConv` in layers: a node's own features and those of its neighbours.

        mean:  h_i' = W1 h_i + W2 mean_j h_j + b
        pool:  h_i' = W1 h_i + W2 max_j relu(W3 h_j + c) + b

    j runs over a sample of the in-neighbours in training mode, over all at evaluation;
    a node without any receives zeros. Edge weights are not used. The first products run
    on sparse features, so W3 of the first layer is [K, D], not [K, K] as in PyG.
    Arguments that are not listed are as of `GCN`.

    Args:
        aggregator: "mean" or "pool".
        samples: Neighbours to draw per layer, that next to the features first; later
            layers take the last number, and without any there is no sampling.
        normalise: Scale the output of every hidden layer to length 1, as the paper's
            algorithm does.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        aggregator: str = "mean",
        samples: Sequence[int] = (25, 10),
        normalise: bool = False,
        activation: str = "relu",
        dropout: float = 0.5,
    ) -> None:
        if aggregator not in AGGREGATORS:
            raise ValueError(
                f"`aggregator` must be one of {', '.join(AGGREGATORS)},"
                f" got {aggregator!r}."
            )
        if not all(type(size) is int and size >= 1 for size in samples):
            raise ValueError(
                f"`samples` must hold whole numbers of at least 1, got {list(samples)}."
            )
        super().__init__()
        self.aggregator, self.samples = aggregator, tuple(samples)
        self.activation, self.dropout = activation, dropout
        self.normalise = normalise
        pools = aggregator == "pool"
        options = {"aggr": AGGREGATORS[aggregator], "project": pools}
        widths = [hidden_channels] * (layers - 1) + [out_channels]
        width = hidden_channels if pools else widths[0]
        self.own = Projection(in_channels, widths[0], dropout=dropout)
        self.of_neighbours = Projection(in_channels, width, dropout=dropout, bias=pools)
        first = SAGEConv((width, widths[0]), widths[0], root_weight=False, **options)
        if pools:
            # `of_neighbours` has made this product.
            del first.lin
            first.project = False
        else:
            # A mean of products is the product of the mean.
            first.lin_l = _Bias(widths[0])
        rest = [SAGEConv(*pair, **options) for pair in pairwise(widths)]
        self.convs = nn.ModuleList([first, *rest])

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from sampled edges; from all edges without a seed."""
        listened = torch.zeros(graph.num_edges, dtype=torch.bool, device=graph.device)
        hidden: Features = x
        for layer, conv in enumerate(self.convs):
            drawn = self._drawn(graph, seed, layer)
            edges = graph.edge_index
            if drawn is None:
                listened = torch.ones_like(listened)
            else:
                edges, listened = edges[:, drawn], listened | drawn
            if layer == 0:
                logits = self._first(x, graph, seed, edges)
                continue
            hidden = ACTIVATIONS[self.activation](logits)
            if self.normalise:
                hidden = F.normalize(hidden, dim=1)
            logits = conv(F.dropout(hidden, self.dropout, self.training), edges)
        return Output(logits, hidden, num_used=listened.sum())

    def _first(
        self, x: Features, graph: Graph, seed: Seed | None, edges: Tensor
    ) -> Tensor:
        # Both products draw the same noise, so both see the same dropped features.
        received = self.of_neighbours(x, graph, seed)
        if self.aggregator == "pool":
            received = received.relu()
        out: Tensor = self.convs[0]((received, None), edges, (graph.num_nodes,) * 2)
        return out.add(self.own(x, graph, seed))

    def _drawn(self, graph: Graph, seed: Seed | None, layer: int) -> Tensor | None:
        """The edges that a layer uses, [E]; None for all."""
        if seed is None or not self.samples:
            return None
        size = self.samples[min(layer, len(self.samples) - 1)]
        return sample_neighbours(graph, size, seed, layer)


class _Bias(nn.Module):
    """A learned vector, in place of a product that was made already."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(channels))

    def reset_parameters(self) -> None:
        """Start at 0."""
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        """X + b, [N, D]."""
        return x + self.bias


METHOD = Method(
    GraphSAGE, defaults={"aggregator": "mean", "samples": [25, 10], "normalise": False}
)
