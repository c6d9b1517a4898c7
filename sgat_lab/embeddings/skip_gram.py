"""Skip-gram: vectors of two dimensions that are close where contexts are."""

from __future__ import annotations

import numpy as np

from sgat_lab.embeddings.neighbours import Array, Integers

WINDOW = 5
NEGATIVES = 5
"""Nodes drawn against each node of a context, by their frequency to the power ¾."""
RATE, LAST_RATE = 0.025, 1e-4
"""Between which the learning rate falls."""
NOISE = 20
"""Entries per node of the table from which nodes are drawn."""


def noise_table(visits: Integers) -> Integers:
    """Nodes to draw negatives from: each as often as its visits to the power ¾ say."""
    share = visits**0.75
    size = NOISE * len(visits)
    places = (np.arange(size) + 0.5) / size * share.sum()
    found: Integers = np.searchsorted(share.cumsum(), places).astype(np.int32)
    return found


def skip_gram(
    walks: Integers, num_nodes: int, rng: np.random.Generator, *, passes: int
) -> Array:
    """Vectors that predict the nodes around a node in walks, [N, 2].

    Mikolov et al., NeurIPS 2013, with negative sampling.

    Args:
        walks: Nodes in the order they were visited, [W, length].
        num_nodes: Number of nodes N.
        rng: Draws the vectors to start from, the order of walks, and the negatives.
        passes: How often all walks are read.
    """
    from sgat_lab.embeddings.kernels.skip_gram import read_walks

    inner = rng.uniform(-0.25, 0.25, (num_nodes, 2))
    outer = np.zeros((num_nodes, 2))
    noise = noise_table(np.bincount(walks.ravel(), minlength=num_nodes))
    rates = np.linspace(RATE, LAST_RATE, passes + 1)
    for number in range(passes):
        order = rng.permutation(len(walks))
        settings = (noise, WINDOW, NEGATIVES, rates[number : number + 2])
        read_walks(walks, order, inner, outer, *settings, rng)
    return inner
