"""MLP: the features alone, no edges."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, Projection
from sgat_lab.baselines.method import Method


class MLP(Baseline):
    """Layers of weights with dropout before each, the same for every node.

    Arguments are as of `GCN`; `layers` is the number of products with weights.
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
        self.first = Projection(in_channels, widths[0], dropout=dropout, bias=True)
        self.rest = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores; the edges are not looked at."""
        hidden: Features = x
        logits: Tensor = self.first(x, graph, seed)
        for linear in self.rest:
            hidden = ACTIVATIONS[self.activation](logits)
            logits = linear(F.dropout(hidden, self.dropout, self.training))
        return Output(logits, hidden, num_used=torch.zeros((), device=graph.device))


METHOD = Method(MLP)
