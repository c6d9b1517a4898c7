"""Block posterior: how well anybody could judge the edges of a block model.

A judge who knows how a graph was made, and sees features, training labels and edges,
can do no better than by the probability that an edge is original given all that. Here
it comes from belief propagation: messages about classes travel along edges until they
agree.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.graph import Graph
from sgat_lab.synthetic.block_models import BLOCK_MODELS

DAMPING = 0.3
"""Share of the last round's messages that is kept."""
TOLERANCE = 1e-7
"""Mean change of a message below which the messages agree."""
MOST_ROUNDS = 1000
TINY = 1e-300

Weights = tuple[float, float]
"""Of a pair of nodes of one class, and of any other pair."""


class Chances(NamedTuple):
    """Chances of pairs of nodes to be joined.

    Attributes:
        original: Chance of a pair of one class to be an original edge.
        planted: Chance of a pair that is none to be planted.
    """

    original: float
    planted: float

    @classmethod
    def of(cls, name: str, noise_rate: float) -> Chances:
        """Those of a block model; numbers of edges are fixed, here they are means."""
        made = BLOCK_MODELS[name]
        nodes, classes = made["num_nodes"], made["num_classes"]
        edges = nodes * made["degree"] / 2
        originals = (1 - noise_rate) * edges
        inside = nodes * (nodes / classes - 1) / 2
        others = nodes * (nodes - 1) / 2 - originals
        return cls(originals / inside, noise_rate * edges / others)

    @property
    def joined(self) -> Weights:
        """Chance of a pair to be joined, by an edge of either kind."""
        return self.original + (1 - self.original) * self.planted, self.planted

    @property
    def apart(self) -> Weights:
        """Chance of a pair not to be joined."""
        same, other = self.joined
        return 1 - same, 1 - other


class Beliefs(NamedTuple):
    """The fixed point of the messages.

    Attributes:
        node: Probability of each class, [N, C].
        alike: Probability that both ends of an edge are of one class, the edge itself
            left out, [E].
        rounds: Number of rounds.
    """

    node: Tensor
    alike: Tensor
    rounds: int


def propagate(
    own: Tensor, graph: Graph, joined: Weights, apart: Weights, start: Tensor
) -> Beliefs:
    """Belief propagation on classes, where every pair of nodes has a weight.

        m_i→j (c) ∝ p_i (c) Π_k w(m_k→i) (c) Π_l v(b_l) (c)
        b_i (c)   ∝ p_i (c) Π_k w(m_k→i) (c) Π_l v(b_l) (c),   k = j included
        w(m) = other + (same - other) m

    with k over the neighbours of i (without j) and l over all other nodes, which send
    everybody what they believe, for one of very many pairs says next to nothing. Exact
    on a tree if pairs that are not joined say nothing (`apart` is 1 and 1).

    Args:
        own: log p, what a node by itself says of its class, [N, C].
        graph: The edges, both directions.
        joined: Weights of pairs that an edge joins.
        apart: Weights of pairs that none joins.
        start: Beliefs of the first round, [N, C]. There can be several agreements, of
            which the one nearest to the start is found.

    Returns:
        The beliefs; after `MOST_ROUNDS` rounds as they are.
    """
    dst, src, back = graph.dst.long(), graph.src.long(), graph.reverse_edge
    belief = start
    message = start[src]  # [E, C], from src to dst
    rounds, change = 0, 1.0
    while change > TOLERANCE and rounds < MOST_ROUNDS:
        rounds += 1
        incoming = _weight(message, joined).log()
        absent = _weight(belief, apart).log()
        total = own + absent.sum(dim=0) - absent
        total = total.index_add(0, dst, incoming - absent[src])
        # A node does not get its own message back.
        sent = (total[src] - incoming[back]).softmax(dim=1)
        change = float((sent - message).abs().sum() / max(message.numel(), 1))
        message = DAMPING * message + (1 - DAMPING) * sent
        belief = DAMPING * belief + (1 - DAMPING) * total.softmax(dim=1)
    return Beliefs(belief, (message * message[back]).sum(dim=1), rounds)


def _weight(belief: Tensor, weights: Weights) -> Tensor:
    same, other = weights
    return (other + (same - other) * belief).clamp(min=TINY)


def original_probability(alike: Tensor, chances: Chances) -> Tensor:
    """Probability that edges are original, by that of their ends to be alike, [E]."""
    same, other = chances.joined
    all_kinds = same * alike + other * (1 - alike)
    return chances.original * alike / all_kinds.clamp(min=TINY)


def own_beliefs(
    x: Tensor, mean: Tensor, y: Tensor | None, known: Tensor | None
) -> Tensor:
    """Log-probability of each class from a node's own features, [N, C].

    By features x ~ N(mean of the class, I), and by the label where it is known.

    Args:
        x: Features, [N, K].
        mean: True mean of each class, [C, K].
        y: Class of each node, [N]; None if labels say nothing.
        known: Nodes whose class is given, [N] bool; None with y.
    """
    x, mean = x.double(), mean.double()
    found = (x @ mean.T - (mean**2).sum(dim=1) / 2).log_softmax(dim=1)
    if y is None or known is None:
        return found
    sure = F.one_hot(y, len(mean)).to(found).clamp(min=TINY).log()
    return torch.where(known[:, None], sure, found)
