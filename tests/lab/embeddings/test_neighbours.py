"""Who is next to whom, against sets of neighbours."""

import torch

from sgat.graph import Graph
from sgat_lab.embeddings.neighbours import neighbours_of


def test_links_have_no_direction_and_are_counted_once():
    edges = torch.tensor([[0, 1, 3, 2, 2], [1, 0, 0, 4, 2]])
    linked = neighbours_of(Graph.from_edges(edges, 6))
    assert linked.degree.tolist() == [2, 1, 1, 1, 1, 0]
    rows = [
        linked.neighbour[a:b].tolist()
        for a, b in zip(linked.ptr[:-1], linked.ptr[1:], strict=True)
    ]
    assert rows == [[1, 3], [0], [4], [0], [2], []]
    assert linked.matrix.toarray().sum(axis=1).tolist() == [2, 1, 1, 1, 1, 0]


def test_a_graph_without_edges_has_no_links():
    linked = neighbours_of(Graph.from_edges(torch.empty(2, 0, dtype=torch.long), 3))
    assert linked.ptr.tolist() == [0, 0, 0, 0]
    assert len(linked.neighbour) == 0
