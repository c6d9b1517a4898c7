"""struc2vec: nodes with like surroundings close in the plane, wherever they are."""

from __future__ import annotations

import numpy as np

from sgat.graph import Graph
from sgat_lab.embeddings.context_graph import context_graph
from sgat_lab.embeddings.limits import check_size
from sgat_lab.embeddings.neighbours import neighbours_of
from sgat_lab.embeddings.plane import Plane
from sgat_lab.embeddings.skip_gram import skip_gram
from sgat_lab.embeddings.structural_distance import collect

LAYERS = 5
"""Rings around a node that are compared, itself the first (OPT3)."""
WALKS = 10
"""Walks from every node."""
LENGTH = 80
PASSES = 2
"""Number of passes over all walks."""
MOST_NODES = 50_000
"""Nodes beyond which rings take too long to collect."""


def struc2vec(graph: Graph, *, seed: int = 0) -> Plane:
    """Place nodes by the degrees of the nodes around them (Ribeiro et al., KDD 2017).

    Rings of neighbours are compared by dynamic time warping of their degrees, random
    walks go over layers in which nodes alike within k hops are linked, and skip-gram
    with negative sampling places the nodes so that those of like walks are close. All
    nodes are comparable, whatever their component, but for those without neighbours,
    which are at the origin and near nobody. The same seed gives the same places on one
    machine; nodes in another order get others.

    Args:
        graph: The edges; weights and directions are not used.
        seed: Of the walks, the vectors to start from, and the negatives.

    Raises:
        ValueError: If there are more than `MOST_NODES` nodes.
    """
    check_size(graph, MOST_NODES, "struc2vec")
    size = graph.num_nodes
    rng = np.random.default_rng(seed)
    linked = neighbours_of(graph)
    context = context_graph(collect(linked, LAYERS))
    places, component = np.zeros((size, 2)), np.arange(1, size + 1)
    member = context.classes.member
    if len(member) > 0:
        walks = context.walk(WALKS, LENGTH, rng)
        vectors = skip_gram(walks, len(member), rng, passes=PASSES)
        places[member], component[member] = vectors, 0
    return Plane(places, component)
