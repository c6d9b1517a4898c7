"""Two kinds of nodes as one graph; tests/test_conv_inputs.py has more."""

import pytest
import torch

from sgat.graph.bipartite import joined

EDGES = torch.tensor([[0, 4, 1], [1, 2, 1]])


def test_targets_come_first_and_sources_after_them():
    graph = joined(EDGES, (5, 3), torch.tensor([1.0, 2.0, 3.0]), torch.rand(3, 2))
    assert graph.num_nodes == 8 and graph.loop_weight is None
    assert graph.edge_index.tolist() == [[3, 4, 7], [1, 1, 2]]
    assert graph.weight.tolist() == [1.0, 3.0, 2.0]
    assert graph.edge_attr.shape == (3, 2)


def test_an_edge_between_the_same_numbers_is_no_loop():
    graph = joined(torch.tensor([[1], [1]]), (2, 2))
    assert graph.num_edges == 1 and graph.node_id.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("num_dst", "found"), [(None, 3), (6, 6)])
def test_targets_without_features_have_no_loop(num_dst, found: int):
    graph = joined(EDGES, (5, num_dst), hears_itself=False)
    assert graph.num_nodes == found + 5
    assert graph.loop_weight.tolist() == [0] * found + [1] * 5


def test_no_edges_and_no_targets():
    graph = joined(torch.zeros(2, 0, dtype=torch.long), (3, None), hears_itself=False)
    assert (graph.num_nodes, graph.num_edges) == (3, 0)
