"""NodeClassifier: the interface of a model to the trainer, SGAT and baselines alike.

Tested by tests/lab/baselines/test_contract.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sgat.features import Features
from sgat.graph import Graph
from sgat.ops import OpenEdges, Seed


class Output(NamedTuple):
    """The result of one pass of a model.

    `extra_loss` is added to the loss on the labels in training, its price included.
    """

    logits: Tensor  # class scores, [N, C]
    embedding: Features  # penultimate features, the input of the read-out, [N, D]
    opened: OpenEdges | None = None  # of all layers; None without gates
    extra_loss: Tensor | None = None  # a scalar; None for nothing
    num_used: Tensor | None = None  # edges used; None for those of `opened`, or all

    def used_edges(self, graph: Graph) -> Tensor:
        """Number of edges of the graph that the pass used, a scalar."""
        if self.num_used is not None:
            return self.num_used
        if self.opened is not None:
            return self.opened.num_open
        return torch.tensor(graph.num_edges, device=graph.device)


class NodeClassifier(nn.Module):
    """A model from node features and a graph to class scores.

    A CUDA graph can replay a pass (`can_replay`) that never waits for the device and
    takes its seed as a tensor. Before every epoch the trainer sets `progress`: the
    share of the training that is done, in [0, 1). Class scores are divided by
    `class_temperature` where a model is evaluated by a call; `compute` never does it.
    """

    can_replay = False
    progress = 0.0
    class_temperature: Tensor  # a scalar
    __call__: Callable[..., Tensor]  # for type checkers alone

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("class_temperature", torch.ones(()))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, with torch's global generator if none is given."""
        raise NotImplementedError

    def compute(
        self,
        x: Features,
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
    ) -> Output:
        """Class scores, and all else that one pass gives; see `SGAT.compute`."""
        raise NotImplementedError

    def forward(
        self,
        x: Features,
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
    ) -> Tensor:
        """Class scores of every node, [N, C]; arguments as of `compute`."""
        logits = self.compute(x, edge_index, edge_weight, seed=seed).logits
        return logits if self.training else logits / self.class_temperature

    def score_edges(self, x: Features, graph: Graph) -> Tensor | None:
        """Score of each edge; edges with higher scores are kept first, [E].

        None for a model that has no opinion on single edges.
        """
        return None
