import pytest
import torch
from scipy.sparse.csgraph import connected_components

from sgat.data.node_data import NodeData
from sgat.data.prepare import (
    compact,
    component_of_nodes,
    fill,
    largest_component,
    restrict,
    simple_graph,
)
from sgat.features import SparseFeatures
from sgat.graph import Graph


def edges(*pairs):
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T


def pairs_of(graph):
    return set(map(tuple, graph.edge_index.T.tolist()))


def make(graph, x, **more):
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    y = torch.arange(graph.num_nodes) % 3
    fields = {"train": nobody, "val": nobody, "test": nobody, **more}
    return NodeData(graph=graph, x=x, y=y, classes=(0, 1, 2), **fields)


def test_duplicates_count_once_and_loops_do_not_count(caplog):
    graph = simple_graph(
        edges((3, 1), (0, 2), (3, 1), (4, 4), (1, 3)), 5, undirected=False
    )
    assert pairs_of(graph) == {(3, 1), (0, 2), (1, 3)}
    assert graph.weight is None
    assert graph.loop_weight is None
    assert graph.input_edge is None
    assert not caplog.records


def test_undirected_adds_each_missing_reverse_once():
    graph = simple_graph(edges((3, 1), (0, 2), (1, 3)), 5, undirected=True)
    assert pairs_of(graph) == {(3, 1), (1, 3), (0, 2), (2, 0)}
    assert graph.weight is None


def test_ascending_edges_give_the_same_graph_as_shuffled_ones():
    ascending = edges((0, 2), (1, 3), (3, 1), (4, 0))
    shuffled = ascending[:, [2, 0, 3, 1]]
    one = simple_graph(ascending, 5, undirected=False)
    other = simple_graph(shuffled, 5, undirected=False)
    assert torch.equal(one.edge_index, other.edge_index)


def test_no_edges_and_no_nodes_are_graphs_too():
    assert simple_graph(edges(), 7, undirected=True).num_edges == 0
    assert simple_graph(edges(), 0, undirected=True).num_nodes == 0


def test_fill_is_the_share_of_entries_that_are_not_zero():
    x = torch.zeros(5, 7)
    x[1, 2] = x[4, 6] = -3.0
    assert fill(x) == 2 / 35
    assert fill(SparseFeatures.from_dense(x)) == 2 / 35
    assert fill(torch.zeros(0, 7)) == 0


def test_features_of_all_graphs_become_sparse_below_a_quarter():
    nearly_full, nearly_empty = torch.ones(2, 4), torch.zeros(11, 4)
    assert [type(x) for x in compact([nearly_full, nearly_empty])] == [
        SparseFeatures,
        SparseFeatures,
    ]
    quarter = torch.eye(4)
    assert compact([quarter])[0] is quarter


def test_components_ignore_directions():
    graph = Graph.from_edges(edges((1, 0), (1, 2), (4, 3)), 6)
    assert component_of_nodes(graph).tolist() == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize("number", [0, 40, 150, 600])
def test_components_are_those_of_scipy(number: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sgat.data.prepare.BLOCK", 64)
    draw = torch.Generator().manual_seed(number)
    ends = torch.randint(301, (2, number), generator=draw)
    chain = torch.randperm(301, generator=draw)[:100]
    ends = torch.cat([ends, torch.stack([chain[1:], chain[:-1]])], dim=1)
    graph = Graph.from_edges(ends, 301)
    due = connected_components(graph.to_scipy(), connection="weak")[1]
    assert component_of_nodes(graph).tolist() == due.tolist()


def test_largest_component_is_the_first_of_equals():
    graph = Graph.from_edges(edges((5, 3), (4, 1), (6, 0)), 7)
    assert largest_component(graph).tolist() == [0, 6]
    assert largest_component(Graph.from_edges(edges(), 0)).tolist() == []


def test_restrict_keeps_rows_and_weights_of_the_kept_nodes():
    graph = Graph.from_edges(
        edges((0, 1), (4, 2), (2, 4), (3, 3), (2, 2)),
        5,
        torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
    )
    x = torch.arange(35.0).reshape(5, 7)
    train = torch.tensor([False, False, True, False, False])
    nodes = torch.tensor([2, 3, 4])
    for features in (x, SparseFeatures.from_dense(x)):
        data = make(graph, features, train=train)
        small = restrict(data, nodes)
        kept = small.x if features is x else small.x.to_dense()
        assert torch.equal(kept, x[nodes])
        assert small.graph.edge_index.tolist() == [[2, 0], [0, 2]]
        assert small.graph.edge_weight.tolist() == [2.0, 3.0]
        assert small.graph.loop_weights.tolist() == [5.0, 4.0, 1.0]
        assert small.train.tolist() == [True, False, False]
        assert small.y.tolist() == [2, 0, 1]
