"""NeuralSparse: a GCN on k neighbours per node, drawn by a learned distribution.

Zheng et al., *Robust Graph Representation Learning via Neural Sparsification*, ICML
2020. The paper lets a node draw k times; here the k draws are without replacement, so
that k neighbours are k different ones, and every edge but those drawn has weight 0.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.utils import softmax

from sgat.features import Features
from sgat.graph import Graph
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Projection
from sgat_lab.baselines.gcn import GCN, normalised
from sgat_lab.baselines.method import Method


class EdgeScorer(nn.Module):
    """An MLP of one hidden layer on the features of both ends and the edge weight.

        z_ij = v · ReLU(U_dst x_i + U_src x_j + w A_ij + b)

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of the hidden layer.
    """

    def __init__(self, in_channels: int, hidden_channels: int) -> None:
        super().__init__()
        self.dst = Projection(in_channels, hidden_channels, bias=True)
        self.src = Projection(in_channels, hidden_channels)
        self.weight = nn.Linear(1, hidden_channels, bias=False)
        self.last = nn.Linear(hidden_channels, 1, bias=False)

    def forward(self, x: Features, graph: Graph) -> Tensor:
        """Score z of every edge, in float32, [E]."""
        to_dst, from_src = self.dst(x, graph, None), self.src(x, graph, None)
        # The gradient of `index_select` is summed in order, that of indexing is not.
        hidden = to_dst.index_select(0, graph.dst) + from_src.index_select(0, graph.src)
        hidden = hidden + self.weight(graph.edge_weight.float().unsqueeze(1))
        score: Tensor = self.last(F.relu(hidden)).squeeze(1)
        return score.float()


def rank_in_row(key: Tensor, graph: Graph) -> Tensor:
    """Place of each edge among those of its target, 0 for the largest key, [E]."""
    order = key.argsort(descending=True, stable=True)
    order = order[graph.dst[order].argsort(stable=True)]
    place = torch.arange(graph.num_edges, device=graph.device)
    rank = torch.empty_like(order)
    # The order is within rows, so that position p is one of the row of edge p.
    rank[order] = place - graph.row_ptr[graph.dst.long()]
    return rank


def drawn_weights(key: Tensor, k: int, temperature: float, graph: Graph) -> Tensor:
    """Relaxed weights of the k edges of largest key of each target, [E].

        w_ij = exp(key_ij / τ) / Σ exp(key_il / τ)      over l that are not before j

    That is Gumbel-softmax, if the keys are scores plus Gumbel noise: the weight of an
    edge in the draw that chose it, from what the draws before left over. It is at most
    1, which it comes to as τ → 0 or if nothing else is left. Other edges have 0.
    """
    rank = rank_in_row(key.detach(), graph)
    weight = torch.zeros_like(key)
    for draw in range(k):
        left = (rank >= draw).nonzero().squeeze(1)
        share = softmax(
            key[left] / temperature, graph.dst[left].long(), num_nodes=graph.num_nodes
        )
        is_drawn = rank[left] == draw
        weight = weight.index_put((left[is_drawn],), share[is_drawn])
    return weight


class NeuralSparse(GCN):
    """A GCN over at most k neighbours of each node, chosen by an `EdgeScorer`.

        training:    keys z_ij + Gumbel noise, A_ij times the weights of `drawn_weights`
        evaluation:  keys z_ij, A_ij alone

    One choice holds for all layers. The temperature τ falls geometrically over the
    training. Gradients reach the scorer through the weights. Self-loops always stay.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of the hidden layers, that of the scorer included.
        out_channels: Number of classes C.
        k: Number of neighbours, at least 1.
        temperature: τ at the start of the training, above 0.
        last_temperature: τ at its end, above 0.
        options: Those of `GCN`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        k: int = 5,
        temperature: float = 1.0,
        last_temperature: float = 0.05,
        **options: Any,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, **options)
        if k < 1:
            raise ValueError(f"`k` must be at least 1, got {k}.")
        for name, value in (
            ("temperature", temperature),
            ("last_temperature", last_temperature),
        ):
            if not value > 0:
                raise ValueError(f"`{name}` must be above 0, got {value}.")
        self.k = k
        self.temperature, self.last_temperature = temperature, last_temperature
        self.scorer = EdgeScorer(in_channels, hidden_channels)

    @property
    def present_temperature(self) -> float:
        """τ at this point of the training."""
        fall = self.last_temperature / self.temperature
        return float(self.temperature * fall**self.progress)

    def sample(self, x: Features, graph: Graph) -> Graph:
        """The graph of the k neighbours of each node, with their weights."""
        score = self.scorer(x, graph)
        if not self.training:
            return graph.select(rank_in_row(score, graph) < self.k)
        # Minus the logarithm of exponential noise is Gumbel noise.
        key = score - torch.empty_like(score).exponential_().log()
        weight = drawn_weights(key, self.k, self.present_temperature, graph)
        return graph.select(weight.detach() > 0, weight * graph.edge_weight)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from the edges that were drawn."""
        sampled = self.sample(x, graph)
        output = self.propagate(x, graph, seed, normalised(sampled))
        num_used = torch.tensor(sampled.num_edges, device=graph.device)
        return output._replace(num_used=num_used)

    @torch.no_grad()
    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """Probability of a first draw, times the size of the row, [E].

        The score z itself means nothing beyond its row.
        """
        score = self.scorer(x, graph)
        chance: Tensor = softmax(score, graph.dst.long(), num_nodes=graph.num_nodes)
        return chance * graph.row_ptr.diff()[graph.dst.long()]


METHOD = Method(
    NeuralSparse, defaults={"k": 5, "temperature": 1.0, "last_temperature": 0.05}
)
