"""DropEdge: a GCN that trains on a random part of the edges (Rong et al., ICLR 2020).

All layers of a pass see the same edges (the paper's layer-wise variant is left out),
and the two directions of an edge are drawn apart, as in the authors' code.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.features import Features
from sgat.graph import Graph
from sgat.node_classifier import Output
from sgat.ops import Seed, noise
from sgat_lab.baselines.gcn import GCN, normalised
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig

DROPPED_EDGES = 9 << 16
"""Stream of the noise that chooses edges."""


def draw_edges(graph: Graph, rate: float, seed: Seed) -> Tensor:
    """Mark round((1 - rate) E) edges, every choice of so many equally likely, [E]."""
    noise_of_edge = noise.edge_uniform(seed, graph, DROPPED_EDGES)
    num_kept = round((1 - rate) * graph.num_edges)
    kept = torch.zeros(graph.num_edges, dtype=torch.bool, device=graph.device)
    kept[torch.argsort(noise_of_edge, stable=True)[:num_kept]] = True
    return kept


class DropEdge(GCN):
    """A GCN whose matrix is that of a random part of the edges, drawn every epoch.

        Â' = D'^-½ (A' + I) D'^-½          A' keeps round((1 - rate) E) entries of A

    Degrees are those of the kept edges. Evaluation uses all edges.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of the hidden layers.
        out_channels: Number of classes C.
        rate: Share of edges to drop in training, in [0, 1).
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
        rate: float = 0.5,
        layers: int = 2,
        activation: str = "relu",
        dropout: float = 0.5,
    ) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be in [0, 1), got {rate}.")
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            layers=layers,
            activation=activation,
            dropout=dropout,
        )
        self.rate = rate

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from the drawn edges; from all edges without a seed."""
        if seed is None:
            return super().run(x, graph, None)
        kept = draw_edges(graph, self.rate, seed)
        output = self.propagate(x, graph, seed, normalised(graph.select(kept)))
        return output._replace(num_used=kept.sum())


def build(config: MethodConfig, data: NodeData) -> DropEdge:
    """A DropEdge-GCN of the sizes in the config."""
    return DropEdge(
        data.num_features,
        config.hidden,
        data.num_classes,
        layers=config.layers,
        activation=config.activation,
        dropout=config.dropout,
        **METHOD.options(config),
    )


METHOD = Method(build, defaults={"rate": 0.5})
