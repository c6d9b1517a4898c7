"""Role: the nodes that train a model, or validate it, found once.

Tested by tests/training/test_epoch.py and tests/parallel/test_part.py.
"""

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.node_classifier import Output


class Role:
    """The nodes of one role in one graph, found once: positions and their labels.

    Of several processes each has the labels `y` of all nodes, and its own positions.
    """

    def __init__(self, data: NodeData, mask: Tensor) -> None:
        self.node = mask.nonzero().squeeze(1)
        self.y = data.y[self.node]
        self.ranks = None if data.graph.halo is None else data.graph.halo.ranks
        if self.ranks is not None:
            sizes = self.ranks.gathered(torch.tensor([len(self.y)]), "labels")
            self.counts: list[int] = sizes.tolist()
            self.y = self.ranks.gather(self.y, self.counts, "labels")

    def logits(self, found: Output) -> Tensor:
        """Class scores of the nodes, those of other processes included."""
        own = found.logits[self.node].float()
        if self.ranks is None:
            return own
        return self.ranks.gather(own, self.counts, "logits")
