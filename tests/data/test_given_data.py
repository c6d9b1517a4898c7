from types import ModuleType

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.data.given_data import GivenData
from sgat.data.node_data import FEWEST, ONE_WAY


def test_options_hold_for_later_data_of_the_same_kind():
    first = GivenData(nx.DiGraph(), options={"weight": "strength", "label": "kind"})
    graph, other = nx.DiGraph(), nx.Graph()
    later = GivenData(graph, options={"label": "y"}).after(first)
    assert later.data is graph
    assert later.options == {"weight": "strength", "label": "y"}
    assert GivenData(other).after(first).options == {}
    assert GivenData(graph).after(None).options == {}


def test_plain_arrays_are_read_with_their_weights_and_given_back_smaller():
    data = block_graph()
    x, edges = data.x.numpy(), data.graph.edge_index.numpy()
    weight = np.arange(edges.shape[1]) + 1.0
    given = GivenData(x, edges, weight)
    (read,) = given.read(data.y.numpy(), validation=0.2, seed=0)
    assert np.array_equal(read.graph.edge_index.numpy(), edges)
    assert np.array_equal(read.graph.edge_weight.numpy(), weight)
    gate = torch.tensor(weight % 2 * 0.5)
    small, weights = given.pruned([read], [gate > 0], [gate])
    assert np.array_equal(small, edges[:, ::2])
    assert np.allclose(weights, weight[::2] / 2)


@pytest.mark.parametrize("form", [torch.as_tensor, np.asarray, np.ndarray.tolist])
@pytest.mark.parametrize("is_turned", [False, True])
def test_edges_come_back_in_the_shape_they_were_given(form, is_turned):
    edges = np.array([[0, 1, 2], [1, 2, 0]])
    shaped = edges.T.copy() if is_turned else edges
    given = GivenData(np.eye(3), form(shaped))
    graphs = given.read(validation=0.2, seed=0)
    gate = torch.tensor([1.0, 0.0, 1.0])  # in the order of targets: 2→0, 0→1, 1→2
    small, weights = given.pruned(graphs, [gate > 0], [gate])
    assert isinstance(small, torch.Tensor) == (form is torch.as_tensor)
    assert np.array_equal(small, shaped[1:] if is_turned else shaped[:, 1:])
    assert weights.tolist() == [1.0, 1.0]


def one_way(data):
    """One direction of every edge, [2, E / 2]."""
    edges = data.graph.edge_index
    return edges[:, edges[0] < edges[1]]


@pytest.mark.parametrize("kind", ["arrays", "pyg"])
def test_edges_given_once_stand_for_both_directions_if_asked(kind, pyg: ModuleType):
    data = block_graph()
    edges = one_way(data)
    given = GivenData(data.x, edges, options={"undirected": True})
    if kind == "pyg":
        given = GivenData(
            pyg.data.Data(x=data.x, edge_index=edges), options=given.options
        )
    (read,) = given.read(validation=0.2, seed=0)
    assert torch.equal(read.graph.edge_index, data.graph.edge_index)
    assert not read.has_directions
    # One direction of some edges is closed, and both directions of others.
    src, dst = read.graph.src, read.graph.dst
    goes = (src + dst) % 3 == 0
    gate = torch.where(goes | ((src + dst) % 3 == 1) & (src < dst), 0.0, 0.5)
    small = given.pruned([read], [gate > 0], [gate])
    if kind == "pyg":
        small = small.edge_index, small.edge_weight
    assert torch.equal(small[0], edges[:, edges.sum(dim=0) % 3 > 0])
    assert small[1].eq(0.5).all()


@pytest.mark.parametrize("kind", ["arrays", "pyg", "list of pyg"])
def test_edges_that_go_one_way_are_told_once(kind, pyg: ModuleType):
    data = block_graph()

    def notes(edges, **options):
        given = GivenData(data.x, edges, options=options)
        if kind != "arrays":
            made = pyg.data.Data(x=data.x, edge_index=edges)
            given = GivenData(made if kind == "pyg" else [made], options=options)
        return given.notes(given.read(validation=0.2, seed=0))

    edges = one_way(data)
    (note,) = notes(edges)
    assert note == ONE_WAY % 0 and "give `undirected`" in note
    assert notes(edges, undirected=True) == ()
    # Pairs that are named twice by chance do not make a list of pairs directed.
    few, many = (edges[:, :: 1 + every].flip(0) for every in (39, 9))
    (note,) = notes(torch.cat([edges, few], dim=1))
    assert "few edges have their reverse (5%)" in note
    assert notes(torch.cat([edges, many], dim=1)) == ()
    assert notes(edges[:, : FEWEST - 1]) == ()
    (note,) = notes(edges[:, :0])
    assert note == "no edge has a weight above 0: every node is judged by itself"


def test_graphs_that_say_whether_edges_have_directions_need_no_note():
    data = block_graph()
    graph = nx.DiGraph(one_way(data).T.tolist())
    for given in (GivenData(graph), GivenData(data.select_edges(data.graph.src < 9))):
        assert given.notes(given.read(validation=0.2, seed=0)) == ()


def test_one_graph_has_one_result_and_a_list_has_a_list():
    data = block_graph()
    assert GivenData(data).one_or_all([3]) == 3
    assert GivenData([data]).one_or_all([3]) == [3]
    assert GivenData((data,)).one_or_all([3]) == [3]
    assert GivenData(several_graphs()).one_or_all([3, 4]) == [3, 4]


def test_node_data_without_roles_holds_out_a_share_of_the_labelled():
    data = block_graph()
    nobody = torch.zeros(data.num_nodes, dtype=torch.bool)
    split = data.with_split(nobody, nobody, nobody)
    (read,) = GivenData(split).read(validation=0.5, seed=0)
    assert torch.equal(read.train, ~read.val) and 0.4 < read.val.float().mean() < 0.6
    assert GivenData(data).read(validation=0.5, seed=0) == [data]


def test_classes_of_several_graphs_are_those_that_some_node_has(pyg: ModuleType):
    ends = torch.tensor([[0, 1], [1, 2]])
    y = torch.tensor([[1, 3, -1], [3, 2, 1]])
    parts = [pyg.data.Data(x=torch.eye(3), edge_index=ends, y=row) for row in y]
    graphs = GivenData(parts).read()
    assert [data.classes for data in graphs] == [(1, 2, 3)] * 2
    assert graphs[0].y.tolist() == [0, 2, -1]
