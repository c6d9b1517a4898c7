"""Every rule, alone and with others, over random graphs against plain definitions."""

import dataclasses
import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_data import block_graph, several_graphs

import sgat
from sgat import ops
from sgat.data.node_data import NodeData
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.pruning import Rules
from sgat.pruning.choice import (
    Reason,
    choose_edges,
    chosen_scores,
    find_protected,
)

COMBINE = {"max": max, "min": min, "mean": lambda a, b: (a + b) / 2}


@dataclasses.dataclass(frozen=True)
class Scored:
    """A graph with scores; few different ones, so that ties are common.

    Its pairs (source, target) stand in the order of `Graph`.
    """

    nodes: int
    pairs: list[tuple[int, int]]
    score: np.ndarray

    @property
    def graph(self):
        pairs = torch.tensor(self.pairs, dtype=torch.long).reshape(-1, 2)
        return Graph.from_edges(pairs.T, self.nodes)

    def choose(self, rules, **options):
        return choose_edges(self.score, self.graph, rules, **options)


@st.composite
def graphs(draw, undirected=None):
    nodes = draw(st.integers(1, 8))
    possible = list(itertools.permutations(range(nodes), 2))
    pairs = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    if undirected or (undirected is None and draw(st.booleans())):
        pairs = list(dict.fromkeys([*pairs, *((v, u) for u, v in pairs)]))
    values = st.integers(-6, 6).map(lambda n: n / 2)
    score = draw(st.lists(values, min_size=len(pairs), max_size=len(pairs)))
    pairs = sorted(pairs, key=lambda pair: pair[::-1])
    return Scored(nodes, pairs, np.array(score, dtype=np.float32))


shares = st.floats(0.01, 1)
combinations = st.sampled_from([None, "max", "min", "mean"])


@st.composite
def all_rules(draw):
    keep = draw(st.none() | shares)
    threshold = draw(st.none() | st.floats(-3, 3)) if keep is None else None
    return Rules(
        keep,
        threshold,
        draw(combinations),
        draw(st.integers(0, 3)),
        draw(st.booleans()),
    )


def own_scores(graph, symmetric):
    """The score that decides for each edge, and the edge it is tied to, by hand."""
    known = dict(zip(graph.pairs, graph.score.tolist(), strict=True))
    scores, twins = [], []
    for place, (u, v) in enumerate(graph.pairs):
        if symmetric and (v, u) in known:
            scores.append(COMBINE[symmetric](known[u, v], known[v, u]))
            twins.append(graph.pairs.index((v, u)))
        else:
            scores.append(known[u, v])
            twins.append(place)
    return scores, twins


def ranking(graph, symmetric):
    """Groups of edges that stay or go as one, best first."""
    scores, twins = own_scores(graph, symmetric)
    firsts = [min(place, twin) for place, twin in enumerate(twins)]
    order = sorted(set(firsts), key=lambda place: (-scores[place], place))
    return [sorted({place, twins[place]}) for place in order]


def components(nodes, pairs):
    whole = nx.Graph()
    whole.add_nodes_from(range(nodes))
    whole.add_edges_from(pairs)
    return nx.number_connected_components(whole)


def kept_pairs(graph, choice):
    return [pair for pair, kept in zip(graph.pairs, choice.kept, strict=True) if kept]


@given(graphs(), shares)
def test_keep_takes_exactly_the_share_with_the_highest_scores(graph, keep):
    choice = graph.choose(Rules(keep=keep))
    order = sorted(range(len(graph.pairs)), key=lambda e: (-graph.score[e], e))
    expected = order[: round(keep * len(order))]
    assert np.flatnonzero(choice.kept).tolist() == sorted(expected)
    assert set(choice.reason[choice.kept]) <= {Reason.SCORE}


@given(graphs(), st.floats(-3, 3) | st.none())
def test_a_threshold_keeps_what_is_above(graph, threshold):
    choice = graph.choose(Rules(threshold=threshold))
    used = HardConcrete().threshold if threshold is None else threshold
    assert choice.kept.tolist() == [s > np.float32(used) for s in graph.score]
    assert choice.threshold == min(used, HardConcrete().threshold)


@given(graphs(), st.sampled_from(["max", "min", "mean"]), shares | st.none())
def test_both_directions_stay_or_go_as_one(graph, symmetric, keep):
    choice = graph.choose(Rules(keep=keep, symmetric=symmetric))
    scores, twins = own_scores(graph, symmetric)
    assert choice.score.tolist() == scores
    assert np.array_equal(choice.kept, choice.kept[twins] if twins else choice.kept)
    if keep is None:
        assert choice.kept.tolist() == [s > HardConcrete().threshold for s in scores]
        return
    wanted, expected = round(keep * len(scores)), []
    for group in ranking(graph, symmetric):
        if len(expected) + len(group) > wanted:
            break
        expected += group
    assert np.flatnonzero(choice.kept).tolist() == sorted(expected)
    # Short by at most one edge of a pair.
    assert wanted - 1 <= choice.kept.sum() <= wanted


@given(graphs(), st.integers(0, 4), combinations, st.none() | shares)
def test_every_node_keeps_its_best_in_edges(graph, degree, symmetric, keep):
    choice = graph.choose(
        Rules(keep=keep, threshold=9.0 if keep is None else None, min_degree=degree)
        if symmetric is None
        else Rules(keep=keep, symmetric=symmetric, min_degree=degree)
    )
    place = {
        edge: number
        for number, group in enumerate(ranking(graph, symmetric))
        for edge in group
    }
    for node in range(graph.nodes):
        into = [e for e, (_, dst) in enumerate(graph.pairs) if dst == node]
        best = sorted(into, key=place.__getitem__)[:degree]
        assert choice.kept[best].all()
        assert choice.kept[into].sum() >= min(degree, len(into))
    if symmetric is None and keep is None:
        assert set(choice.reason[choice.kept]) <= {Reason.MIN_DEGREE}
        assert choice.kept.sum() <= degree * graph.nodes


@settings(deadline=None)  # the first call compiles
@given(graphs(), combinations)
def test_the_forest_that_stays_is_a_maximum_spanning_one(graph, symmetric):
    rules = Rules(threshold=9.0, symmetric=symmetric, keep_connected=True)
    choice = graph.choose(rules)
    scores, _ = own_scores(graph, symmetric)
    whole = nx.MultiGraph()
    whole.add_nodes_from(range(graph.nodes))
    for (u, v), score in zip(graph.pairs, scores, strict=True):
        whole.add_edge(u, v, weight=score)
    best = nx.maximum_spanning_tree(whole)
    forest = kept_pairs(graph, choice)
    links = {frozenset(pair) for pair in forest}
    assert len(links) == best.number_of_edges()
    total = sum(
        max(s for s, k, p in zip(scores, choice.kept, graph.pairs, strict=True)
            if k and frozenset(p) == link)
        for link in links
    )  # fmt: skip
    assert total == best.size(weight="weight")
    assert components(graph.nodes, forest) == components(graph.nodes, graph.pairs)
    assert set(choice.reason[choice.kept]) <= {Reason.CONNECTED}


@settings(deadline=None)  # the first call compiles
@given(graphs(), all_rules(), st.data())
def test_guarantees_hold_together_and_count_towards_the_share(graph, rules, data):
    size = len(graph.pairs)
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    protected = np.array(mask, dtype=bool)
    choice = graph.choose(rules, protected=protected)
    assert choice.kept[protected].all()
    if rules.keep_connected:
        kept = components(graph.nodes, kept_pairs(graph, choice))
        assert kept == components(graph.nodes, graph.pairs)
    for node in range(graph.nodes):
        into = [e for e, (_, dst) in enumerate(graph.pairs) if dst == node]
        assert choice.kept[into].sum() >= min(rules.min_degree, len(into))
    _, twins = own_scores(graph, rules.symmetric)
    if size:
        assert np.array_equal(choice.kept, choice.kept[twins])

    alone = dataclasses.replace(rules, min_degree=0, keep_connected=False)
    by_score = graph.choose(alone).kept
    nothing = dataclasses.replace(rules, keep=None, threshold=99.0)
    guaranteed = graph.choose(nothing, protected=protected).kept
    if rules.keep is None:
        assert np.array_equal(choice.kept, by_score | guaranteed)
    else:
        wanted, count = round(rules.keep * size), int(guaranteed.sum())
        expected = list(np.flatnonzero(guaranteed))
        for group in ranking(graph, rules.symmetric):
            if guaranteed[group[0]]:
                continue
            if len(expected) + len(group) > wanted:
                break
            expected += group
        assert np.flatnonzero(choice.kept).tolist() == sorted(expected)
        assert bool(choice.notes) == (count > wanted)
        assert int(choice.kept.sum()) <= max(wanted, count)
    assert np.array_equal(choice.reason == Reason.REMOVED, ~choice.kept)
    assert np.array_equal(choice.reason == Reason.SCORE, choice.kept & by_score)
    owed = choice.reason == Reason.PROTECTED
    pulled = protected | (protected[twins] if size else protected)
    assert np.array_equal(owed, choice.kept & ~by_score & pulled)
    assert sum(choice.count().values()) == size


@settings(deadline=None)  # the first call compiles
@given(graphs(), all_rules())
def test_gates_of_kept_edges_are_positive_and_follow_where_they_open(graph, rules):
    choice = graph.choose(rules)
    built, gates = graph.graph, HardConcrete()
    log_alpha = torch.from_numpy(choice.score)
    found = chosen_scores(choice, built, gates)
    assert bool((found.gate[found.kept] > 0).all())
    assert bool((found.gate[~found.kept] == 0).all())
    moved = gates.value(
        log_alpha.double() + (gates.threshold - choice.threshold)
    ).float()
    is_open = found.kept & (moved > 0)
    assert torch.equal(found.gate[is_open], moved[is_open])
    assert bool((found.gate[found.kept & ~is_open] <= 1 / 12 + 1e-6).all())
    # What a node hears sums to one, its own loop included.
    heard = torch.index_add(found.loop_attention, 0, built.dst, found.attention)
    assert torch.allclose(heard, torch.ones(graph.nodes), atol=1e-5)


def test_rules_worked_out_by_hand():
    #   1 → 0: 1,  0 → 1: 5,  2 → 1: 4,  3 → 1: 3,  1 → 3: -2,  4 → 3: -5
    pairs = [(1, 0), (0, 1), (2, 1), (3, 1), (1, 3), (4, 3)]
    graph = Scored(5, pairs, np.array([1, 5, 4, 3, -2, -5], dtype=np.float32))
    named = {
        Rules(): [0, 1, 2, 3],
        Rules(keep=0.5): [1, 2, 3],
        Rules(keep=0.5, symmetric="max"): [0, 1, 2],
        Rules(keep=4 / 6, symmetric="max"): [0, 1, 2],
        Rules(threshold=2.0, symmetric="min"): [2],
        Rules(threshold=2.0, symmetric="mean"): [0, 1, 2],
        Rules(threshold=4.5, min_degree=1): [0, 1, 4],
        Rules(threshold=4.5, keep_connected=True): [1, 2, 3, 5],
        Rules(keep=0.5, min_degree=1): [0, 1, 4],
        Rules(keep=4 / 6, min_degree=1): [0, 1, 2, 4],
    }
    for rules, expected in named.items():
        assert np.flatnonzero(graph.choose(rules).kept).tolist() == expected, rules
    protected = np.arange(6) == 5
    choice = graph.choose(Rules(keep=0.5), protected=protected)
    assert choice.reason.tolist() == [0, 1, 1, 0, 0, 2]
    assert choice.count() == {"removed": 3, "score": 2, "protected": 1}
    # Less than the model would keep: its gates stay as they are.
    assert choice.threshold == HardConcrete().threshold
    # More: halfway between -2, the last of the best five, and -5.
    assert graph.choose(Rules(keep=5 / 6)).threshold == -3.5
    assert graph.choose(Rules(keep=1.0)).threshold == pytest.approx(-5.001)


def test_more_guarantees_than_the_share_are_told():
    graph = Scored(3, [(2, 0), (0, 1), (1, 2)], np.zeros(3, dtype=np.float32))
    choice = graph.choose(Rules(keep=0.3, min_degree=1))
    assert choice.kept.all()
    assert choice.notes == (
        "the rules guarantee 3 edges, more than the 1 of a share of 0.3; all of those"
        " stay, and no others",
    )


@pytest.mark.parametrize(
    ("given_rules", "message"),
    [
        ({"keep": 0.0}, r"`keep` must be in \(0, 1\], got 0.0"),
        ({"keep": 1.5}, r"`keep` must be in \(0, 1\], got 1.5"),
        ({"keep": 0.5, "threshold": 1.0}, "exclude each other, got 0.5 and 1.0"),
        ({"threshold": float("nan")}, "`threshold` must be finite, got nan"),
        ({"symmetric": "sum"}, "must be one of max, min, mean, got 'sum'"),
        ({"min_degree": -1}, "`min_degree` must be at least 0 and"),
    ],
)
def test_rules_that_mean_nothing_are_refused(given_rules, message):
    with pytest.raises(ValueError, match=message):
        Rules(**given_rules)


def fitted(data, *, scorer="additive", **options):
    settings = {"hidden": 5, "epochs": 4, "keep": 0.5, "device": "cpu", "fast": True}
    return sgat.SGATClassifier(**settings, scorer=scorer).fit(data, **options)


def pairs_of(graph):
    return set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))


@pytest.fixture(scope="module")
def block():
    data = block_graph(num_nodes=61)
    return fitted(data, scorer="evidence"), data


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
    for named in (index, index.numpy(), index.T, index.T.tolist()):
        assert np.array_equal(find_protected(named, data), wanted)
