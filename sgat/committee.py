"""Committee: several networks that answer together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sgat.conv import as_graph
from sgat.features import Features
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier, Output
from sgat.ops import OpenEdges, Seed


def mean_logits(logits: Sequence[Tensor], *, is_multilabel: bool) -> Tensor:
    """Class scores whose probabilities are the mean of those of others, [N, C].

    The log of the mean for classes; its log-odds for labels.
    """
    stacked = torch.stack([part.float() for part in logits])
    if is_multilabel:
        positive = nn.functional.logsigmoid(stacked).logsumexp(0)
        return positive - nn.functional.logsigmoid(-stacked).logsumexp(0)
    return stacked.log_softmax(-1).logsumexp(0) - math.log(len(logits))


class Committee(SGAT):
    """Networks trained on the same data that answer with the mean of what they say.

    All about edges, their scores and gates, is that of the first member, and so is any
    attribute that is not named here. Given a graph, every member goes by gates of its
    own; given open edges, all members use these.

    Args:
        members: The networks, the best first.
        is_multilabel: Whether a node can have several labels.
    """

    members: nn.ModuleList

    def __init__(self, members: Sequence[SGAT], *, is_multilabel: bool) -> None:
        NodeClassifier.__init__(self)
        self.members = nn.ModuleList(members)
        self.is_multilabel = is_multilabel

    def __getattr__(self, name: str) -> Any:
        """An attribute of the committee, or else of its first member."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "members":
                raise
            return getattr(self.members[0], name)

    @property
    def reach(self) -> int:
        """Number of steps that messages travel, the most of any member."""
        return max(member.reach for member in self._networks)

    @property
    def _networks(self) -> list[SGAT]:
        return [member for member in self.members if isinstance(member, SGAT)]

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights for every member."""
        for member in self._networks:
            member.reset_parameters(generator)

    def compute(
        self,
        x: Features,
        edge_index: Tensor | Graph | OpenEdges,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
    ) -> Output:
        """Class scores of the mean; features and open edges of the first member."""
        if isinstance(edge_index, Tensor | Graph):
            # The members have the same judge.
            graph = as_graph(edge_index, x.shape[0], edge_weight)
            edge_index, edge_weight = self.judged(x, graph), None
        outputs = [
            member.compute(x, edge_index, edge_weight, seed=seed)
            for member in self._networks
        ]
        logits = [output.logits for output in outputs]
        mean = mean_logits(logits, is_multilabel=self.is_multilabel)
        return outputs[0]._replace(logits=mean)
