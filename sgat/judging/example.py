"""Example: a graph to learn from, with the classes that may be looked at."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sgat.features import Features
from sgat.graph import Graph


class Example(NamedTuple):
    """A graph with features, and with labels as far as they may be looked at."""

    graph: Graph
    x: Features  # [N, K]
    label: Tensor  # class of each node, -1 where it is unknown, [N] int64

    @classmethod
    def of(
        cls,
        graph: Graph,
        x: Features,
        y: Tensor | None = None,
        train: Tensor | None = None,
    ) -> Example:
        """An example that knows the classes of training nodes, of all without `train`.

        Several labels per node, [N, C], leave all classes unknown.
        """
        label = torch.full((graph.num_nodes,), -1, device=graph.device)
        if y is not None and y.dim() == 1:
            label = y.long() if train is None else torch.where(train, y.long(), label)
        return cls(graph, x, label)

    @property
    def known(self) -> Tensor:
        """Nodes whose class is known, [N] bool."""
        return self.label >= 0
