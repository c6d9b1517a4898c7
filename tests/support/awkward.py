"""The list of small awkward graphs that operations, layers and models are run on.

Sizes are different primes, so that swapped axes cannot pass.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from sgat.graph import Graph

WIDEST_BLOCK = 256
"""No backend reads more neighbours of a node at once; the star's hub has more."""


def no_edges() -> Graph:
    return Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 5)


def one_node() -> Graph:
    return Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 1)


def isolated_node() -> Graph:
    """Nodes 1 and 6 hear nobody and are heard by nobody."""
    edges = torch.tensor([[0, 2, 3, 4, 5, 0, 3], [2, 0, 2, 5, 4, 5, 4]])
    return Graph.from_edges(edges, 7)


def star() -> Graph:
    """263 leaves; the hub hears all and is heard by all."""
    leaf = torch.arange(1, 264)
    assert len(leaf) > WIDEST_BLOCK
    return Graph.from_edges(
        torch.stack([leaf, torch.zeros_like(leaf)]), 264, make_undirected=True
    )


def hub(num_leaves: int = 1301) -> Graph:
    """The hub hears all leaves, more than any backend sums in one piece."""
    leaf = torch.arange(1, num_leaves + 1)
    return Graph.from_edges(torch.stack([leaf, torch.zeros_like(leaf)]))


def chain() -> Graph:
    """One direction: node 0 hears nobody, node 10 is heard by nobody."""
    node = torch.arange(10)
    return Graph.from_edges(torch.stack([node, node + 1]), 11)


def duplicate_edges() -> Graph:
    """13 nodes on a ring whose edges are given one to three times, with weights."""
    node = torch.arange(13)
    ring = torch.stack([node, (node + 1) % 13])
    edges = ring.repeat_interleave(node % 3 + 1, dim=1)
    return Graph.from_edges(edges, 13, torch.linspace(0.1, 2.3, edges.shape[1]))


def loops_in_the_input() -> Graph:
    """Loops of weight 0, less than 1, more than 1, and one given twice."""
    edges = torch.tensor(
        [[0, 1, 1, 2, 3, 3, 4, 5, 16, 8, 8], [1, 0, 1, 2, 3, 3, 4, 5, 16, 9, 10]]
    )
    weight = torch.tensor([1.0, 2.0, 0.0, 0.3, 1.5, 0.25, 3.0, 0.0, 7.0, 0.5, 0.7])
    return Graph.from_edges(edges, 17, weight)


def weights_of_zero() -> Graph:
    """A third of the edges weigh nothing, all of those into node 7 among them."""
    edges = random_edges(19, 101)
    weight = torch.rand(101, generator=torch.Generator().manual_seed(101))
    weight[::3] = 0
    weight[edges[1] == 7] = 0
    return Graph.from_edges(edges, 19, weight)


def random_directed() -> Graph:
    return Graph.from_edges(random_edges(23, 127), 23)


def random_undirected() -> Graph:
    edges = random_edges(29, 83)
    weight = torch.rand(83, generator=torch.Generator().manual_seed(83))
    return Graph.from_edges(edges, 29, weight, make_undirected=True)


def two_graphs() -> Graph:
    """Side by side, with names of nodes that are not their numbers."""
    return Graph.merge([scattered(13, 53, weighted=True), scattered(17, 67)])


def scattered(num_nodes: int, num_edges: int, *, weighted: bool = False) -> Graph:
    """Any edges, loops and duplicates among them; a fifth of the weights is 0."""
    generator = torch.Generator().manual_seed(num_edges)
    edges = torch.randint(num_nodes, (2, num_edges), generator=generator)
    weight = torch.rand(num_edges, generator=generator) if weighted else None
    if weight is not None:
        weight[::5] = 0
    return Graph.from_edges(edges, num_nodes, weight)


def random_edges(num_nodes: int, num_edges: int) -> torch.Tensor:
    """Different edges without loops, always the same for the same sizes."""
    generator = torch.Generator().manual_seed(num_nodes)
    pair = torch.randperm(num_nodes * (num_nodes - 1), generator=generator)[:num_edges]
    dst = torch.div(pair, num_nodes - 1, rounding_mode="floor")
    src = pair % (num_nodes - 1)
    return torch.stack([src + (src >= dst), dst])


GRAPHS: dict[str, Callable[[], Graph]] = {
    "no edges": no_edges,
    "one node": one_node,
    "isolated node": isolated_node,
    "star": star,
    "hub": hub,
    "chain": chain,
    "duplicate edges": duplicate_edges,
    "loops in the input": loops_in_the_input,
    "weights of zero": weights_of_zero,
    "random directed": random_directed,
    "random undirected": random_undirected,
    "two graphs": two_graphs,
}
