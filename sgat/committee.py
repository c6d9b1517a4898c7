"""Committee: several networks that answer together."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier, Output
from sgat.ops import OpenEdges, Seed


class Committee(SGAT):
    """Networks trained on the same data that answer with the mean of what they say.

    Class scores are the log of the mean probability, or its log-odds where nodes have
    several labels. The first member gates the edges for all: scores and gates of edges,
    and every attribute that is not named here, are its own.

    Args:
        members: The networks, the best first.
        is_multilabel: Whether a node can have several labels.
    """

    members: Sequence[SGAT]  # a `ModuleList`

    def __init__(self, members: Sequence[SGAT], *, is_multilabel: bool) -> None:
        NodeClassifier.__init__(self)
        self.members = nn.ModuleList(members)  # type: ignore[assignment]
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
        return max(member.reach for member in self.members)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights for every member."""
        for member in self.members:
            member.reset_parameters(generator)

    def compute(
        self,
        x: Features,
        edge_index: Tensor | Graph | OpenEdges,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
        is_scaled: bool = False,
    ) -> Output:
        """Class scores of the mean; features and open edges of the first member."""
        assert not is_scaled, "each member scales features by itself"
        first, *others = self.members
        output = first.compute(x, edge_index, edge_weight, seed=seed)
        assert output.opened is not None
        rest = [other.compute(x, output.opened, seed=seed).logits for other in others]
        each = torch.stack([output.logits, *rest]).float()
        if self.is_multilabel:
            mean = F.logsigmoid(each).logsumexp(0) - F.logsigmoid(-each).logsumexp(0)
        else:
            mean = each.log_softmax(-1).logsumexp(0) - math.log(len(each))
        return output._replace(logits=mean)
