import networkx as nx
import pytest
import torch

from sgat.data.given_data import GivenData
from sgat.data.networkx_graph import from_networkx


def test_names_of_any_kind_weights_and_missing_labels():
    graph = nx.Graph()
    graph.add_node(("a", 1), y="x")
    graph.add_node(7, y="z")
    graph.add_node("c")
    graph.add_edge(("a", 1), 7, weight=2.5)
    graph.add_edge(7, "c")
    data = from_networkx(graph, validation=0)
    assert data.node_ids.tolist() == [("a", 1), 7, "c"]
    assert data.classes == ("x", "z") and data.y.tolist() == [0, 1, -1]
    assert data.graph.weight.tolist() == [2.5, 2.5, 1.0, 1.0]
    assert data.graph.is_undirected


@pytest.mark.parametrize(("factor", "kept"), [([1.0, 0.0], True), ([0.0, 0.0], False)])
def test_an_undirected_edge_is_as_open_as_its_more_open_direction(factor, kept):
    graph = nx.Graph([(0, 1)])
    given, value = GivenData(graph), torch.tensor(factor)
    small = given.pruned(given.read(), [value > 0], [value])
    assert small.has_edge(0, 1) == kept
    if kept:
        assert small.edges[0, 1]["weight"] == 1.0


def test_directed_edges_stay_or_go_alone():
    graph = nx.DiGraph([(0, 1), (1, 0), (1, 1)])
    given = GivenData(graph)
    # Edges by (dst, src): 1→0 stays, 0→1 goes; the loop always stays.
    factor = torch.tensor([1.0, 0.0])
    small = given.pruned(given.read(), [factor > 0], [factor])
    assert set(small.edges) == {(1, 0), (1, 1)}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0], None], "Node 1 has no attribute 'x', but others have"),
        ([[1.0], [1.0, 2.0]], "must have one length at all nodes, got 1 and 2."),
    ],
)
def test_features_that_do_not_fit_are_named(rows, message):
    graph = nx.Graph([(0, 1)])
    for node, row in enumerate(rows):
        if row is not None:
            graph.nodes[node]["x"] = row
    with pytest.raises(ValueError) as error:
        from_networkx(graph)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [
        ("label", "clubb", "club"),
        ("weight", "wieght", "weight"),
        ("split", "clbu", "club"),
    ],
)
def test_a_misspelt_attribute_is_answered(option, name, meant):
    told = f"No attribute is called {name!r}, the `{option}`; did you mean {meant!r}"
    with pytest.raises(ValueError, match=told):
        from_networkx(nx.karate_club_graph(), **{"label": "club", option: name})
    # New graphs need no labels.
    assert not from_networkx(nx.path_graph(3), label="club").classes


def test_several_attributes_that_are_numbers_are_features():
    graph = nx.path_graph(3)
    for node in graph:
        graph.nodes[node].update(age=10 * node, paid=node > 0)
    found = from_networkx(graph, features=["age", "paid"])
    assert found.x.tolist() == [[0, 0], [10, 1], [20, 1]]
    with pytest.raises(ValueError, match="the `features`; did you mean 'age'"):
        from_networkx(graph, features=["agee", "paid"])
    graph.nodes[2]["age"] = "old"
    with pytest.raises(ValueError, match=r"'age' must be a number .*'old' at node 2"):
        from_networkx(graph, features=["age", "paid"])


def test_attributes_that_could_be_features_are_named():
    graph = nx.path_graph(5)
    for node in graph:
        values = {"y": node % 2, "age": node, "bio": "text", "place": (0.5, node)}
        graph.nodes[node].update(values)
    graph.nodes[0]["income"] = 3.0
    told = r"name them, as with features=\['age'\] or features='place'$"
    with pytest.warns(UserWarning, match=told):
        assert from_networkx(graph).num_features == 5
    # Nothing is said where the user has chosen, or nothing could be chosen.
    assert from_networkx(graph, features=None).num_features == 5
    assert from_networkx(graph, features=["age"]).num_features == 1
    assert from_networkx(graph, features="place").num_features == 2
    assert from_networkx(nx.karate_club_graph(), label="club").num_features == 34
    assert from_networkx(nx.empty_graph(0)).num_features == 0
