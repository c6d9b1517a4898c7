import json

import pytest
import torch

from sgat.data import NodeData, load
from sgat.data.statistics import describe, estimate_memory
from sgat.features import SparseFeatures
from sgat.graph import Graph


def make(pairs, y, classes=("a", "b"), name="made", x=None, undirected=True):
    y = torch.as_tensor(y)
    edge_index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    nobody = torch.zeros(len(y), dtype=torch.bool)
    return NodeData(
        graph=Graph.from_edges(edge_index, len(y), make_undirected=undirected),
        x=torch.eye(len(y), 3) if x is None else x,
        y=y,
        train=~nobody,
        val=nobody,
        test=nobody,
        classes=classes,
        name=name,
    )


# Node 0 agrees with one of two neighbours, node 1 with one of one, node 2 with none of
# one; node 3 is alone; nodes 4 and 5 differ.
SMALL = [(0, 1), (0, 2), (4, 5)]
LABELS = [0, 0, 1, 1, 1, 0]


def test_small_graph_is_counted_as_by_hand():
    counted = describe(make(SMALL, LABELS))
    assert (counted.nodes, counted.edges, counted.edges_with_loops) == (6, 6, 12)
    assert (counted.features, counted.classes) == (3, 2)
    assert counted.fill == 3 / 18
    assert counted.class_sizes == {"a": 3, "b": 3}
    assert (counted.components, counted.isolated) == (3, 1)
    assert counted.homophily == pytest.approx((1 / 2 + 1) / 6)
    assert counted.edge_homophily == pytest.approx(2 / 6)
    assert counted.homophily_note is None
    assert counted.split == {"train": 6, "val": 0, "test": 0}
    degrees = counted.degrees
    assert (degrees.min, degrees.median, degrees.mean, degrees.max) == (0, 1, 1, 2)


def test_an_even_number_of_nodes_has_the_mean_of_the_middle_two_as_median():
    assert describe(make([(0, 1), (0, 2)], [0, 1, 0, 1])).degrees.median == 1
    assert describe(make([(0, 1)], [0, 1, 0, 1])).degrees.median == 0.5


def test_a_directed_graph_counts_stored_edges_and_neighbours_both_ways():
    counted = describe(make([*SMALL, (2, 0)], LABELS, undirected=False))
    assert counted.edges == 4
    assert counted.isolated == 1
    assert counted.degrees.max == 2
    assert counted.homophily == pytest.approx((1 / 2 + 1) / 6)


def test_unlabelled_nodes_are_left_out_of_homophily():
    counted = describe(make([(0, 1), (0, 2), (2, 3)], [0, 0, -1, 1]))
    assert counted.unlabelled == 1
    assert counted.homophily == pytest.approx(2 / 3)
    assert counted.edge_homophily == 1


def test_several_labels_have_no_homophily_and_say_why():
    y = [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    counted = describe(make([(0, 1)], y, classes=("p", "q", "r")))
    assert counted.homophily is None
    assert counted.edge_homophily is None
    assert counted.homophily_note == ("a node has several labels")
    assert counted.class_sizes == {"p": 1, "q": 0, "r": 2}


def test_without_edges_or_labels_the_missing_number_is_explained():
    alone = describe(make([], [0, 1]))
    assert (alone.homophily, alone.edge_homophily) == (0, None)
    assert alone.homophily_note == "no edge joins two labelled nodes"
    nothing = describe(make([], torch.zeros(0).long(), x=torch.zeros(0, 3)))
    assert nothing.degrees.mean is None
    assert nothing.components == 0
    assert nothing.homophily_note == "no node has a label"


def test_several_graphs_give_totals_and_each():
    other = make([(0, 1)], [1, 1, 0, 0, 1], name="made-2")
    counted = describe([make(SMALL, LABELS, name="made-1"), other])
    assert [graph.nodes for graph in counted.graphs] == [6, 5]
    assert (counted.nodes, counted.edges, counted.components) == (11, 8, 7)
    assert counted.homophily == pytest.approx((1 / 2 + 1 + 2) / 11)
    assert counted.edge_homophily == pytest.approx(4 / 8)
    assert counted.name == "made"
    assert describe([other]).graphs == ()


def test_no_graphs_are_refused():
    with pytest.raises(ValueError, match="`data` must hold at least one graph"):
        describe([])


def test_statistics_survive_json():
    counted = describe([make(SMALL, LABELS), make(SMALL, LABELS)])
    again = json.loads(json.dumps(counted.to_dict()))
    assert again == counted.to_dict()
    assert again["graphs"][1]["class_sizes"] == {"a": 3, "b": 3}
    assert again["degrees"]["max"] == 2


def test_memory_follows_the_formula():
    dense = make(SMALL, LABELS)
    rest = 44 * 6 + 16 * 6 + 16 * (3 * 6 * 35 + 35 * (3 + 2 * 35 + 2))
    assert estimate_memory(dense, hidden=7, heads=5, layers=3) == rest + 4 * 6 * 3
    sparse = make(SMALL, LABELS, x=SparseFeatures.from_dense(torch.eye(6, 3)))
    expected = rest + 12 * 3 + 8 * 6
    assert estimate_memory(sparse, hidden=7, heads=5, layers=3) == expected


# name: nodes, edges, features, classes, split sizes, H to three digits
PUBLISHED = {
    "cora": (2708, 10556, 1433, 7, (140, 500, 1000), "0.825"),
    "citeseer": (3327, 9104, 3703, 6, (120, 500, 1000), "0.706"),
    "pubmed": (19717, 88648, 500, 3, (60, 500, 1000), "0.792"),
    "computers": (13752, 491722, 767, 10, (200, 500, 1000), "0.785"),
    "photo": (7650, 238162, 745, 8, (160, 500, 1000), "0.836"),
    "actor": (7600, 53318, 932, 5, (3648, 2432, 1520), "0.220"),
    "cornell": (183, 554, 1703, 5, (87, 59, 37), "0.111"),
    "texas": (183, 558, 1703, 5, (87, 59, 37), "0.057"),
    "wisconsin": (251, 900, 1703, 5, (120, 80, 51), "0.155"),
    "cornell-2020": (183, 554, 1703, 5, (87, 59, 37), "0.301"),
}
ISOLATED = {"citeseer": 48, "computers": 281, "photo": 115}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_benchmark_has_the_published_counts(name, benchmarks):
    nodes, edges, features, classes, split, homophily = PUBLISHED[name]
    counted = describe(load(name, root=benchmarks, download=False))
    assert (counted.nodes, counted.edges) == (nodes, edges)
    assert counted.edges_with_loops == nodes + edges
    assert (counted.features, counted.classes) == (features, classes)
    assert tuple(counted.split.values()) == split
    assert f"{counted.homophily:.3f}" == homophily
    assert counted.isolated == ISOLATED.get(name, 0)
    assert sum(counted.class_sizes.values()) == nodes


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("computers", 13381, 491556), ("photo", 7487, 238086)],
)
def test_amazon_has_the_paper_s_nodes_in_its_largest_component(
    name, nodes, edges, benchmarks
):
    data = load(name, root=benchmarks, largest_component=True, download=False)
    counted = describe(data)
    assert (counted.nodes, counted.edges) == (nodes, edges)
    assert (counted.components, counted.isolated) == (1, 0)


def test_twitch_has_the_published_counts(benchmarks):
    counted = describe(load("twitch", root=benchmarks, download=False))
    assert [(graph.name, graph.nodes, graph.edges) for graph in counted.graphs] == [
        ("twitch-DE", 9498, 306276),
        ("twitch-ENGB", 7126, 70648),
        ("twitch-ES", 4648, 118764),
        ("twitch-FR", 6549, 225332),
        ("twitch-PTBR", 1912, 62598),
        ("twitch-RU", 4385, 74608),
        ("twitch-ZHTW", 2772, 126924),
    ]
    assert {(graph.features, graph.classes) for graph in counted.graphs} == {(3170, 2)}
    assert counted.split == {"train": 27821, "val": 1912, "test": 7157}


def test_the_two_cornells_have_the_published_class_sizes(benchmarks):
    sizes = [
        list(describe(load(name, root=benchmarks)).class_sizes.values())
        for name in ("cornell", "cornell-2020")
    ]
    assert sizes == [[38, 16, 30, 82, 17], [33, 1, 18, 101, 30]]
