"""Zachary's karate club, with the two leaders labelled, as in the paper's Figure 3."""

from __future__ import annotations

import networkx as nx
import torch

from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.graph import Graph


def load_karate() -> NodeData:
    """34 members, 78 friendships, no features: nodes 0 and 33 train, the other 32 test.

    Shipped with networkx, so that no file is needed. Friendships count 1 each;
    networkx's interaction counts are left out, as in the paper.
    """
    club = nx.karate_club_graph()
    pairs = torch.tensor(list(club.edges())).T
    classes = ("Mr. Hi", "Officer")
    y = torch.tensor([classes.index(club.nodes[node]["club"]) for node in club])
    train = torch.zeros(len(y), dtype=torch.bool)
    train[[0, 33]] = True
    return NodeData(
        graph=Graph.from_edges(pairs, len(y), make_undirected=True),
        x=SparseFeatures.identity(len(y)),
        y=y,
        train=train,
        val=torch.zeros_like(train),
        test=~train,
        classes=classes,
        name="karate",
    )
