"""The rules in Python: what comes in comes out, smaller, in the same class."""

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_data import block_graph, several_graphs

import sgat
from sgat import ops
from sgat.data.node_data import NodeData
from sgat.pruning import Rules, choose_edges, find_protected


def fitted(data, **options):
    settings = {"hidden": 5, "epochs": 4, "keep": 0.5, "device": "cpu"}
    return sgat.SGATClassifier(**settings).fit(data, **options)


def pairs_of(graph):
    return set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))


@pytest.fixture(scope="module")
def block():
    data = block_graph()
    return fitted(data), data


def test_node_data_gives_the_edges_that_the_rules_choose(block):
    classifier, data = block
    rules = {"keep": 0.3, "min_degree": 2, "keep_connected": True}
    small = classifier.sparsify(data, **rules)
    assert isinstance(small, NodeData)
    table = classifier.score_edges(data)
    choice = choose_edges(table["log_alpha"].to_numpy(), data.graph, Rules(**rules))
    edges = np.array(sorted(pairs_of(data.graph), key=lambda pair: pair[::-1]))
    assert pairs_of(small.graph) == set(map(tuple, edges[choice.kept].tolist()))
    assert bool((small.graph.weight > 0).all())
    assert choice.kept.sum() == round(0.3 * data.graph.num_edges)


def test_without_rules_nothing_changes(block):
    classifier, data = block
    small = classifier.sparsify(data)
    assert torch.equal(
        small.graph.weight,
        torch.tensor(classifier.edges_.query("kept")["gate"].to_numpy()),
    )


def test_keeping_more_predicts_as_the_model_with_its_bias_moved(block):
    classifier, data = block
    small = classifier.sparsify(data, keep=0.8)
    model = classifier.model_
    score = classifier.score_edges(data)["log_alpha"].sort_values().to_numpy()
    number = round(0.8 * len(score))
    middle = (float(score[-number]) + float(score[-number - 1])) / 2
    with torch.no_grad():
        pruned = model(data.x, ops.all_open(small.graph))
        before = model.gating.gate_bias.clone()
        model.gating.gate_bias += model.gating.gates.threshold - middle
        moved = model(data.x, data.graph)
        model.gating.gate_bias.copy_(before)
    assert len(small.graph.src) == number
    assert torch.allclose(pruned, moved, atol=1e-5)
    assert not torch.allclose(pruned, model(data.x, data.graph), atol=1e-3)


def test_keeping_less_leaves_the_gates_of_what_stays(block):
    classifier, data = block
    small = classifier.sparsify(data, keep=0.2).graph
    table = classifier.edges_.set_index(["src", "dst"])
    pairs = list(zip(small.src.tolist(), small.dst.tolist(), strict=True))
    assert len(pairs) == round(0.2 * data.graph.num_edges)
    expected = table.loc[pairs]["gate"].to_numpy()
    assert np.allclose(small.weight, expected, atol=1e-6)


def test_arrays_and_tensors_come_back_as_they_came(block):
    classifier, data = block
    index = data.graph.edge_index
    for edges in (index, index.numpy()):
        kept, weight = classifier.sparsify(data.x, edges, keep=0.25, symmetric="mean")
        assert type(kept) is type(edges) and type(weight) is type(edges)
        assert kept.shape[1] == len(weight) == 2 * (round(0.25 * index.shape[1]) // 2)
        named = set(map(tuple, np.asarray(kept).T.tolist()))
        assert named == {(v, u) for u, v in named}


def test_a_pyg_data_comes_back_with_weights(block, pyg):
    from torch_geometric.data import Data

    classifier, data = block
    given = Data(x=data.x, edge_index=data.graph.edge_index, y=data.y)
    small = classifier.sparsify(given, keep=0.25, protect=[(0, 1)])
    assert type(small) is Data
    assert small.edge_index.shape[1] == len(small.edge_weight)
    assert small.edge_index.shape[1] == round(0.25 * given.num_edges)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_networkx_graphs_stay_connected(kind):
    club = kind(nx.karate_club_graph())
    for node in club:
        club.nodes[node]["split"] = "train" if node in (0, 33) else "test"
    classifier = fitted(club, label="club")
    small = classifier.sparsify(club, keep=0.1, keep_connected=True)
    assert type(small) is kind
    assert small.number_of_nodes() == 34
    plain = small.to_undirected() if kind is nx.DiGraph else small
    assert nx.is_connected(plain)
    if kind is nx.Graph:
        assert small.number_of_edges() == 33
    assert all(value > 0 for _, _, value in small.edges(data="weight"))


def test_protected_edges_stay_in_networkx(caplog):
    club = nx.karate_club_graph()
    classifier = fitted(club, label="club")
    worst = classifier.edges_.nsmallest(3, "log_alpha")
    pairs = [tuple(pair) for pair in worst[["src", "dst"]].to_numpy()]
    small = classifier.sparsify(club, keep=0.2, protect=pairs)
    assert all(small.has_edge(*pair) for pair in pairs)
    assert small.number_of_edges() == round(0.2 * 156) // 2
    with pytest.raises(ValueError, match="`protect` names 'nobody', which is no node"):
        classifier.sparsify(club, protect=[("nobody", 0)])
    classifier.sparsify(club, protect=[(0, 33)])
    assert "1 of the 1 protected edges are not in the graph" in caplog.text


def test_lists_keep_the_rules_for_each_graph():
    graphs = several_graphs()
    classifier = fitted(graphs)
    small = classifier.sparsify(graphs, keep=0.3)
    assert type(small) is list
    for part, whole in zip(small, graphs, strict=True):
        assert part.graph.num_edges == round(0.3 * whole.graph.num_edges)
    with pytest.raises(ValueError, match="one entry for each of the 5 graphs, got 1"):
        classifier.sparsify(graphs, protect=[[(0, 1)]])


def test_a_note_is_logged_where_guarantees_exceed_the_share(block, caplog):
    classifier, data = block
    classifier.sparsify(data, keep=0.01, min_degree=1)
    assert "more than the" in caplog.text and "of a share of 0.01" in caplog.text


@pytest.mark.parametrize(
    ("protect", "message"),
    [
        ([3], r"pairs \(src, dst\), got 3"),
        ([(0, 211)], "names 211, which is no node"),
        (np.array([[0], [211]]), "names 211, which is no node"),
        (np.array([0.5, 1.0]), r"rows src and dst, \[2, P\], or be a list of pairs"),
    ],
)
def test_what_is_no_edge_is_refused(protect, message):
    with pytest.raises(ValueError, match=message):
        find_protected(protect, block_graph())


def test_arrays_of_protected_edges_are_read_as_edges_are():
    data = block_graph()
    index = data.graph.edge_index[:, [4, 9, 11]]
    wanted = np.isin(np.arange(data.graph.num_edges), [4, 9, 11])
    for given in (index, index.numpy(), index.T, index.T.tolist()):
        assert np.array_equal(find_protected(given, data), wanted)
