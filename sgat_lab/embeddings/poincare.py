"""Poincaré embedding: linked nodes close in the hyperbolic plane, others far apart."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from sgat.graph import Graph
from sgat_lab.embeddings.disc import Disc
from sgat_lab.embeddings.limits import check_size
from sgat_lab.embeddings.neighbours import neighbours_of

EPOCHS = 50
BURN_IN = 10
"""Epochs at the start with a `DAMPING`-th of the rate."""
DAMPING = 10
RATE = 0.3
NEGATIVES = 10
"""Nodes drawn against each end of an edge."""
START = 1e-3
"""Coordinates start uniformly within ± this."""
BORDER = 1 - 1e-5
"""No node goes farther from the origin than this."""
MOST_NODES = 100_000
"""Nodes beyond which placing them and finding the near ones takes many minutes."""


def poincare(graph: Graph, *, seed: int = 0, epochs: int = EPOCHS) -> Disc:
    """Place nodes by Riemannian gradient descent (Nickel & Kiela, NeurIPS 2017).

        loss = Σ_(u,v) -log(exp(-d(u, v)) / Σ_v' exp(-d(u, v')))
        x ← x - rate ((1 - |x|²)² / 4) ∂loss/∂x

    over both directions of all edges, in random order; v' are v and nodes that are no
    neighbours of u: up to `NEGATIVES` drawn at random from its component, of which
    those that are neighbours are left out. Components have discs of their own. A node
    without neighbours is at the origin. The same seed gives the same places on one
    machine; nodes in another order get others.

    Args:
        graph: The edges; weights and directions are not used.
        seed: Of the places to start from, the order, and the nodes drawn.
        epochs: Passes over the edges.

    Raises:
        ValueError: If there are more than `MOST_NODES` nodes.
    """
    from sgat_lab.embeddings.kernels.poincare import run_epoch

    check_size(graph, MOST_NODES, "poincare")
    linked, size = neighbours_of(graph), graph.num_nodes
    count, component = connected_components(linked.matrix, directed=False)
    rng = np.random.default_rng(seed)
    places = rng.uniform(-START, START, (size, 2))
    places[linked.degree == 0] = 0
    member = np.argsort(component, kind="stable")
    sizes = np.bincount(component, minlength=count)
    first = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(size), linked.degree)
    for epoch in range(epochs):
        run_epoch(
            places,
            *linked,
            owner,
            rng.permutation(len(owner)),
            first[component],
            sizes[component],
            member,
            NEGATIVES,
            RATE / DAMPING if epoch < BURN_IN else RATE,
            BORDER,
            rng,
        )
    return Disc(places, component)
