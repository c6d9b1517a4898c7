import dataclasses
import json

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_data import block_graph, several_graphs

import sgat
from sgat.data.node_data import NodeData
from sgat.explaining.node_explanation import explain_node, find_node
from sgat.ops import reference
from sgat.scored import score_graphs

QUICK = {"fast": True, "hidden": 5, "epochs": 4, "keep": 0.5, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted() -> sgat.SGATClassifier:
    data = block_graph(num_nodes=61)
    ids = np.array([f"n{i}" for i in range(61)], dtype=object)
    data = dataclasses.replace(data, node_ids=ids)
    return sgat.SGATClassifier(**QUICK).fit(data)


@pytest.fixture(scope="module")
def several() -> sgat.SGATClassifier:
    return sgat.SGATClassifier(**QUICK).fit(several_graphs())


def log_alpha_of(clf, data: NodeData) -> torch.Tensor:
    """Where the gates stand, as found after training: to judge again takes time."""
    (found,) = [part.edges.log_alpha for part in clf.scored_ if part.data is data]
    return found


def test_the_gates_that_are_looked_at_are_those_of_the_model(fitted):
    (data,) = fitted.graphs_
    expected = fitted.model_.log_alpha(data.x, data.graph)
    assert torch.equal(log_alpha_of(fitted, data), expected)


@torch.no_grad()
def probabilities_without(clf, data: NodeData, dropped: list[int], node: int):
    """Evaluate the whole graph with some gates set to 0."""
    log_alpha = log_alpha_of(clf, data)
    gates = clf.model_.gating.gates
    gate = torch.where(gates.is_kept(log_alpha), gates.value(log_alpha), 0)
    gate[dropped] = 0
    opened = reference.with_gates(data.graph, gate, torch.zeros(()))
    logits = clf.model_(data.x, opened)[node].double()
    squash = torch.sigmoid if data.is_multilabel else lambda x: x.softmax(0)
    return squash(logits)


def trained(clf):
    return clf.model_, clf.scored_


def edge_of(data: NodeData, src: int, dst: int) -> int:
    found = (data.graph.src == src) & (data.graph.dst == dst)
    return int(found.nonzero())


def kept_edges(clf, number: int = 0):
    log_alpha = log_alpha_of(clf, clf.graphs_[number])
    return clf.model_.gating.gates.is_kept(log_alpha)


def busiest(clf) -> int:
    """A node with several edges that are kept, and several that are removed."""
    graph, kept = clf.graphs_[0].graph, kept_edges(clf)
    size = graph.num_nodes
    counts = [torch.bincount(graph.dst[k], minlength=size) for k in (kept, ~kept)]
    node = int(torch.minimum(*counts).argmax())
    assert counts[0][node] > 1 < counts[1][node]
    return node


def test_a_node_is_explained_by_its_edges(fitted):
    data = fitted.graphs_[0]
    node = busiest(fitted)
    found = explain_node(*trained(fitted), f"n{node}", top=1000)
    assert found.node == f"n{node}"
    assert found.verdict.prediction == fitted.predict()[node]
    named = dict(zip(data.classes, fitted.predict_proba()[node], strict=True))
    assert found.verdict.probabilities == pytest.approx(named)
    assert found.label == data.classes[int(data.y[node])]
    assert bool(getattr(data, found.split)[node])
    table, edges = found.table, fitted.edges_
    mine = edges[edges["dst"] == f"n{node}"].set_index("src")
    assert sorted(table["neighbour"]) == sorted(mine.index)
    for name in ("kept", "log_alpha", "probability", "gate", "attention"):
        assert list(table[name]) == list(mine.loc[table["neighbour"], name])
    kept, removed = table[table["kept"]], table[~table["kept"]]
    assert list(table["kept"]) == [True] * len(kept) + [False] * len(removed)
    assert kept["attention"].is_monotonic_decreasing
    assert removed["log_alpha"].is_monotonic_decreasing
    # Of what a step of diffusion hears 15 % is the node, whoever else is heard.
    others = 0.85 * kept["attention"].sum()
    assert found.own_share == pytest.approx(1 - others, abs=1e-5)
    for row in table.itertuples():
        other = int(row.neighbour[1:])
        assert row.label == data.classes[int(data.y[other])]
        assert row.prediction == fitted.predict()[other]


def test_what_if_is_what_another_evaluation_says(fitted):
    data, node = fitted.graphs_[0], busiest(fitted)
    found = explain_node(*trained(fitted), f"n{node}", top=1000)
    before = probabilities_without(fitted, data, [], node)
    at = int(before.argmax())
    kept = found.table[found.table["kept"]]
    assert found.dropped == len(kept)
    for row in kept.itertuples():
        edge = edge_of(data, int(row.neighbour[1:]), node)
        after = probabilities_without(fitted, data, [edge], node)
        assert row.change == pytest.approx(float(after[at] - before[at]), abs=1e-5)
        flips = int(after.argmax()) != at
        assert row.becomes == (data.classes[int(after.argmax())] if flips else None)
    assert found.table[~found.table["kept"]]["change"].isna().all()
    into = (data.graph.dst == node).nonzero().squeeze(1).tolist()
    alone = probabilities_without(fitted, data, into, node)
    assert list(found.alone.probabilities.values()) == pytest.approx(alone.tolist())


def test_an_edge_without_direction_is_dropped_both_ways():
    club = nx.karate_club_graph()
    for node in club:
        club.nodes[node]["split"] = "train" if node in (0, 33) else "test"
    # The way back counts from three layers on: there, back and there again.
    clf = sgat.SGATClassifier(layers=3, **QUICK).fit(club, label="club")
    data = clf.graphs_[0]
    assert not data.has_directions
    node = busiest(clf)
    found = explain_node(*trained(clf), node)
    before = probabilities_without(clf, data, [], node)
    at, one_way = int(before.argmax()), []
    for row in found.table.head(found.num_kept).itertuples():
        there, back = (row.neighbour, node), (node, row.neighbour)
        both = [edge_of(data, *there), edge_of(data, *back)]
        after = probabilities_without(clf, data, both, node)
        assert row.change == pytest.approx(float(after[at] - before[at]), abs=1e-6)
        after = probabilities_without(clf, data, both[:1], node)
        one_way.append(float(after[at] - before[at]))
    assert list(found.table["change"].dropna()) != pytest.approx(one_way, abs=1e-5)


def test_only_the_top_edges_are_dropped(fitted):
    node = busiest(fitted)
    done = []
    found = explain_node(
        *trained(fitted),
        f"n{node}",
        top=1,
        progress=lambda *counts: done.append(counts),
    )
    assert found.dropped == 1 < found.num_kept
    assert found.table["change"].notna().tolist() == [True] + [False] * (
        len(found.table) - 1
    )
    assert done[-1] == (2, 2)
    with pytest.raises(ValueError, match="`top` must be at least 0"):
        explain_node(*trained(fitted), f"n{node}", top=-1)


def test_several_labels_and_graphs(several):
    data = several.graphs_[2]
    node = int(data.graph.dst[kept_edges(several, 2)].mode().values)
    found = explain_node(*trained(several), node, graph=data.name)
    predicted = several.predict()[2][node]
    names = [name for name, on in zip(data.classes, predicted, strict=True) if on]
    assert found.verdict.prediction == names
    row = found.table.iloc[0]
    edge = edge_of(data, row["neighbour"], node)
    change = probabilities_without(several, data, [edge], node)
    change -= probabilities_without(several, data, [], node)
    at = int(change.abs().argmax())
    assert row["change_of"] == data.classes[at]
    assert row["change"] == pytest.approx(float(change[at]), abs=1e-5)
    assert json.loads(json.dumps(found.to_dict()))["graph"] == data.name
    for name in (None, "nowhere"):
        sentence = f"`graph` must be one of .*{data.name}.*, got {name!r}"
        with pytest.raises(ValueError, match=sentence):
            explain_node(*trained(several), node, graph=name)


def test_a_node_without_edges_hears_itself():
    data = block_graph(num_nodes=61)
    graph = data.graph.select(data.graph.dst != 5)
    clf = sgat.SGATClassifier(**QUICK).fit(dataclasses.replace(data, graph=graph))
    found = explain_node(*trained(clf), 5)
    assert len(found.table) == found.dropped == 0
    assert found.own_share == 1
    assert found.verdict.probabilities == pytest.approx(found.alone.probabilities)
    json.dumps(found.to_dict())


def test_an_unknown_node_is_answered_with_a_similar_one(fitted):
    data = fitted.graphs_[0]
    assert find_node(data, "n17") == 17
    with pytest.raises(ValueError, match=r"no node 'n1x' in .*; there is 'n1.?'\.$"):
        find_node(data, "n1x")
    with pytest.raises(ValueError, match="there is 'n0'"):
        find_node(data, "something else entirely")
    numbered = dataclasses.replace(data, node_ids=None)
    assert find_node(numbered, 60) == find_node(numbered, "60") == 60
    for wrong in ("61", "-1", "x", "²", "007", "00"):
        with pytest.raises(ValueError, match="its nodes are 0 to 60"):
            find_node(numbered, wrong)


@pytest.mark.parametrize("readout", ["beliefs", "deep"])
def test_where_the_node_is_no_share_of_its_messages_none_is_named(readout):
    model = {"readout": readout, "layers": 2}
    clf = sgat.SGATClassifier(**{**QUICK, "epochs": 20}, model=model)
    clf.fit(block_graph(num_nodes=61))
    if readout == "beliefs":
        draw = torch.Generator().manual_seed(0)
        torch.nn.init.normal_(clf.model_.classifier.compatible, generator=draw)
    data, node = clf.graphs_[0], busiest(clf)
    scored = score_graphs(clf.model_, clf.graphs_)
    found = explain_node(clf.model_, scored, node, top=1000)
    assert found.own_share is None
    assert found.to_dict()["own_share"] is None
    before = probabilities_without(clf, data, [], node)
    at = int(before.argmax())
    named = list(found.verdict.probabilities.values())
    assert named == pytest.approx(before.tolist(), abs=1e-5)
    changes = []
    for row in found.table[found.table["kept"]].itertuples():
        both = [edge_of(data, row.neighbour, node)]
        if not data.has_directions:
            both.append(edge_of(data, node, row.neighbour))
        after = probabilities_without(clf, data, both, node)
        changes.append(float(after[at] - before[at]))
        assert row.change == pytest.approx(changes[-1], abs=1e-5)
    assert max(map(abs, changes)) > 1e-3
