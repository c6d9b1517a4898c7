"""DropEdge: a GCN that trains on a random part of the edges (Rong et al., ICLR 2020).

All layers of a pass see the same edges (the paper's layer-wise variant is left out),
and the two directions of an edge are drawn apart, as in the authors' code.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.features import Features
from sgat.graph import Graph
from sgat.node_classifier import Output
from sgat.ops import Seed, noise
from sgat_lab.baselines.gcn import GCN, normalised
from sgat_lab.baselines.method import Method

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
        sizes: Those of `GCN`.
        rate: Share of edges to drop in training, in [0, 1).
        options: Those of `GCN`.
    """

    def __init__(self, *sizes: int, rate: float = 0.5, **options: Any) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be in [0, 1), got {rate}.")
        super().__init__(*sizes, **options)
        self.rate = rate

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from the drawn edges; from all edges without a seed."""
        if seed is None:
            return super().run(x, graph, None)
        kept = draw_edges(graph, self.rate, seed)
        output = self.propagate(x, graph, seed, normalised(graph.select(kept)))
        return output._replace(num_used=kept.sum())


METHOD = Method(DropEdge, defaults={"rate": 0.5})
