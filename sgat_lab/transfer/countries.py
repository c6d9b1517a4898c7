"""The Twitch graphs of seven countries: one to train on, the others without labels."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from sgat.data import load
from sgat.data.catalogue import TWITCH_COUNTRIES
from sgat.data.node_data import NodeData
from sgat.data.splits import random_fractions
from sgat_lab.unseen.scaling import dense, standardised

SHARES = (0.6, 0.2, 0.2)
"""Nodes of a source that train, validate and test."""


class Countries:
    """The graphs by the names of their countries."""

    def __init__(self, *, root: str | None = None) -> None:
        graphs = load("twitch", root=root)
        self.graphs = dict(zip(TWITCH_COUNTRIES, graphs, strict=True))

    def source(self, name: str, *, seed: int) -> NodeData:
        """A country with a random split of its nodes."""
        data = self.graphs[name]
        return random_fractions(data.y, SHARES, seed=seed).apply(data)

    def target(self, name: str) -> NodeData:
        """A country without its labels."""
        return without_labels(self.graphs[name])


def without_labels(data: NodeData) -> NodeData:
    """The data with no label; every node is to be classified."""
    nobody = torch.zeros(data.num_nodes, dtype=torch.bool)
    hidden = torch.full_like(data.y, -1)
    return dataclasses.replace(data, y=hidden, train=nobody, val=nobody, test=~nobody)


def by_itself(data: NodeData) -> NodeData:
    """The data with features that are standardised by the nodes of this graph alone."""
    return dataclasses.replace(data, x=standardised(dense(data.x)))


def pseudo_labelled(target: NodeData, probability: Tensor, share: float) -> NodeData:
    """A target that trains with the predictions which are most certain.

    Args:
        target: The graph without labels.
        probability: P(class) of its nodes, [N, C].
        share: Share of the nodes of each predicted class to take, the surest first.
    """
    sure, label = probability.max(dim=1)
    chosen = torch.zeros(len(label), dtype=torch.bool)
    for number in range(probability.shape[1]):
        node = (label == number).nonzero().squeeze(1)
        order = sure[node].argsort(descending=True, stable=True)
        chosen[node[order[: round(share * len(node))]]] = True
    nobody = torch.zeros_like(chosen)
    y = torch.where(chosen, label, -1)
    return dataclasses.replace(target, y=y, train=chosen, val=nobody, test=nobody)
