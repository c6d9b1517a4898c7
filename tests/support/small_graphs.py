"""Graphs whose hierarchy and symmetry are known."""

import networkx as nx
import torch

from sgat.graph import Graph


def from_networkx(found: nx.Graph) -> Graph:
    edges = torch.tensor(list(found.edges())).reshape(-1, 2).T
    return Graph.from_edges(edges, found.number_of_nodes(), make_undirected=True)


def tree() -> Graph:
    """Root 0, four levels of three children below."""
    return from_networkx(nx.balanced_tree(3, 4))


def barbell() -> Graph:
    """Cliques 0 to 9 and 20 to 29, joined by the path 10 to 19."""
    return from_networkx(nx.barbell_graph(10, 10))


def without_edges(size: int) -> Graph:
    return Graph.from_edges(torch.empty(2, 0, dtype=torch.long), size)
