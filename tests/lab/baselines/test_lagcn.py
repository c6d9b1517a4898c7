"""LAGCN's refined graphs against loops over nodes, and what its classifier learns."""

import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat_lab.baselines import lagcn
from sgat_lab.baselines.lagcn import (
    METHOD,
    EdgeClassifier,
    are_alike,
    best_of_row,
    prepare,
    refined,
    train_classifier,
    training_pairs,
    two_hops,
)
from sgat_lab.config import MethodConfig


def config(**options) -> MethodConfig:
    return MethodConfig(method="lagcn", options=options)


def directed_graph() -> Graph:
    """0 → 1 → 2 → 3, 0 → 2 and 4 → 3."""
    return Graph.from_edges(torch.tensor([[0, 1, 2, 0, 4], [1, 2, 3, 2, 3]]), 5)


class Oracle(EdgeClassifier):
    """Knows for each pair of nodes how likely they are alike."""

    def __init__(self, chance: torch.Tensor) -> None:
        super().__init__(1, 1, 0)
        self.chance = chance

    def embed(self, x, graph):
        return x

    def forward(self, h, pairs):
        return torch.logit(self.chance[pairs[0], pairs[1]])


def data_on(graph: Graph) -> NodeData:
    mask = torch.ones(graph.num_nodes, dtype=torch.bool)
    x, y = torch.ones(graph.num_nodes, 1), torch.arange(graph.num_nodes) % 2
    return NodeData(graph, x, y, mask, ~mask, ~mask, (0, 1))


def edges(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))


def test_two_hops_are_neighbours_of_neighbours_that_are_no_neighbours():
    found = {tuple(pair) for pair in two_hops(directed_graph(), 9).T.tolist()}
    assert found == {(1, 3), (0, 3)}
    assert two_hops(directed_graph(), 2).shape == (2, 0), "node 3 hears two already"


def test_two_hops_never_lead_back_to_the_node():
    pair = Graph.from_edges(torch.tensor([[0, 1], [1, 0]]), 2)
    assert two_hops(pair, 9).shape == (2, 0)


def test_each_node_gets_its_likeliest_pairs_up_to_its_room():
    pairs = torch.tensor([[5, 6, 7, 5, 6], [1, 1, 1, 0, 2]])
    chance = torch.tensor([0.8, 0.9, 0.7, 0.6, 0.99])
    chosen = best_of_row(pairs, chance, torch.tensor([1, 2, 0]))
    assert set(map(tuple, chosen.T.tolist())) == {(6, 1), (5, 1), (5, 0)}


def test_unlike_ends_are_cut_and_like_two_hops_joined():
    chance = torch.full((5, 5), 0.5)
    chance[0, 1] = 0.1  # an edge, surely unlike: cut
    chance[1, 2] = 0.4  # an edge, not sure: stays
    chance[0, 3] = 0.9  # two hops, surely alike: joined
    chance[1, 3] = 0.6  # two hops, not sure
    chance[0, 4] = 1.0  # far away
    data = data_on(directed_graph())
    found = refined(data, Oracle(chance), threshold=0.7, add_edges=3).graph
    assert edges(found) == {(1, 2), (2, 3), (0, 2), (4, 3), (0, 3)}
    only_cut = refined(data, Oracle(chance), threshold=0.7, add_edges=0).graph
    assert edges(only_cut) == {(1, 2), (2, 3), (0, 2), (4, 3)}


def test_an_undirected_graph_stays_undirected_and_keeps_its_weights():
    index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    weight = torch.tensor([2.0, 3.0, 4.0])
    graph = Graph.from_edges(index, 4, weight, make_undirected=True)
    found = refined(
        data_on(graph), Oracle(torch.full((4, 4), 0.9)), threshold=0.7, add_edges=2
    ).graph
    assert found.is_undirected
    ends = zip(found.src.tolist(), found.dst.tolist(), strict=True)
    weights = dict(zip(ends, found.weight.tolist(), strict=True))
    assert weights == {
        **{(0, 1): 2, (1, 0): 2, (1, 2): 3, (2, 1): 3, (2, 3): 4, (3, 2): 4},
        **{(0, 2): 1, (2, 0): 1, (1, 3): 1, (3, 1): 1},
    }


def test_the_classifier_is_its_formula_and_symmetric(seed):
    graph, x = directed_graph(), torch.randn(5, 3)
    model = EdgeClassifier(3, 4, hops=1).eval()
    model.projection.reset_parameters()
    matrix = torch.eye(5)
    matrix[graph.dst.long(), graph.src.long()] = 1.0
    scale = matrix.sum(dim=1) ** -0.5
    h = scale[:, None] * matrix * scale @ (x @ model.projection.weight)
    torch.testing.assert_close(model.embed(x, graph), h)
    joint = torch.cat([h[1] + h[3], (h[1] - h[3]).abs(), h[1] * h[3]])
    expected = model.out(model.hidden(joint).clamp(min=0))
    pairs = torch.tensor([[1, 3], [3, 1]])
    torch.testing.assert_close(model(h, pairs), expected.repeat(2))


def test_the_classifier_learns_from_training_nodes_alone(seed, monkeypatch):
    monkeypatch.setattr(lagcn, "STEPS", 20)
    data = block_graph()
    pairs, alike = training_pairs(data)
    assert bool(data.train[pairs].all())
    assert int(alike.sum()) * 2 == len(alike) > 0
    assert torch.equal(alike, data.y[pairs[0]] == data.y[pairs[1]])
    hidden = torch.where(data.train, data.y, 0)
    blind = dataclasses.replace(data, y=hidden)
    first, second = (prepare([each], config(), 3)[0].graph for each in (data, blind))
    assert edges(first) == edges(second)


def test_classes_are_told_apart_and_the_graph_gets_cleaner(seed):
    data = block_graph(feature_signal=3.0)
    model = train_classifier(data, hidden=16, hops=0)
    rest = (~data.train).nonzero().squeeze(1)
    pairs = rest[torch.randint(len(rest), (2, 997))]
    said = model(model.embed(data.x, data.graph), pairs) > 0
    assert (said == are_alike(data.y, pairs)).float().mean() > 0.75
    (after,) = prepare([data], config(add_edges=0, hops=0), seed)
    before_share = are_alike(data.y, data.graph.edge_index).float().mean()
    after_share = are_alike(data.y, after.graph.edge_index).float().mean()
    assert after.graph.num_edges < data.graph.num_edges
    assert after_share > before_share + 0.05


def test_labels_are_shared_by_nodes_with_several(monkeypatch):
    monkeypatch.setattr(lagcn, "STEPS", 5)
    y = torch.tensor([[1.0, 0, 1], [0, 0, 1], [0, 1, 0]])
    pairs = torch.tensor([[0, 0, 1], [1, 2, 2]])
    assert are_alike(y, pairs).tolist() == [True, False, False]
    graphs = several_graphs()
    after = prepare(graphs, config(), 0)
    assert [each.num_nodes for each in after] == [each.num_nodes for each in graphs]


def test_a_threshold_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"'threshold' of 'lagcn' must be in \[0, 1\]"):
        prepare([block_graph()], config(threshold=1.5), 0)
    assert METHOD.defaults["threshold"] == 0.7
