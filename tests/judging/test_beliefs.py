"""Classes of nodes and of edges, against scikit-learn, block matrices and loops."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from sgat.graph import Graph
from sgat.judging import neighbourhood
from sgat.judging.beliefs import (
    RIDGE,
    _ratios,
    _squares,
    _steady,
    _variance,
    class_beliefs,
    compatibility,
    fit_classes,
    joint,
)
from sgat.judging.neighbourhood import random_pairs


@pytest.fixture(autouse=True)
def few_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "PAIRS_AT_ONCE", 1009)


def test_the_classes_are_those_of_a_logistic_regression(seed: int):
    y = torch.arange(211) % 4
    vector = torch.randn(211, 5) * torch.tensor([1.0, 0.3, 2.0, 0.1, 1.0])
    vector[:, 0] += y
    vector[:, 3] -= 0.2 * (y == 2)
    known = torch.rand(211) < 0.6
    weight = fit_classes(vector, y, known, 4)
    assert weight.shape == (6, 4) and weight.dtype == torch.float32
    scaled = (vector / vector.std(dim=0, correction=0)).double().numpy()
    other = LogisticRegression(C=1 / (2 * RIDGE * int(known.sum())), tol=1e-8)
    other.fit(scaled[known], y[known])
    expected = other.predict_proba(scaled)
    assert np.allclose(class_beliefs(vector, weight), expected, atol=5e-3)


def test_unknown_labels_are_not_looked_at(seed: int):
    y, vector = torch.arange(53) % 3, torch.randn(53, 5)
    known = torch.arange(53) < 31
    hidden = torch.where(known, y, -1)
    assert torch.equal(
        fit_classes(vector, y, known, 3), fit_classes(vector, hidden, known, 3)
    )


def test_a_single_label_is_enough(seed: int):
    vector = torch.randn(7, 5)
    known = torch.arange(7) == 2
    weight = fit_classes(vector, torch.full((7,), 1), known, 3)
    assert bool(weight.isfinite().all())
    assert (class_beliefs(vector, weight).argmax(dim=1) == 1).all()


def test_a_known_class_is_believed_for_sure(seed: int):
    vector, weight = torch.randn(5, 3), torch.randn(4, 3)
    label = torch.tensor([-1, 2, -1, 0, -1])
    found = class_beliefs(vector, weight, label)
    assert found[1].tolist() == [0, 0, 1] and found[3].tolist() == [1, 0, 0]
    others = label < 0
    assert torch.equal(found[others], class_beliefs(vector, weight)[others])


def block(matrix: Tensor, per_class: int = 199) -> tuple[Tensor, Graph]:
    """Classes for sure, and edges with these probabilities between classes."""
    y = torch.arange(len(matrix)).repeat_interleave(per_class)
    edges = (torch.rand(len(y), len(y)) < matrix[y][:, y]).triu(1).nonzero().T
    return y, Graph.from_edges(edges, len(y), make_undirected=True)


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.6])
def test_compatible_classes_are_those_of_the_blocks_whatever_the_noise(
    noise: float, seed: int
):
    # As many edges of every node, so real edges are this much likelier than chance.
    real = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0], [0.0, 3.0, 0.0]])
    y, graph = block(0.03 * ((1 - noise) * real + noise))
    pairs = random_pairs(graph, 50_021, seed=seed)
    found = compatibility(F.one_hot(y, 3).float(), graph, *pairs)
    assert torch.allclose(found, real, atol=0.4)
    assert torch.equal(found, found.T)


def test_edges_by_chance_join_all_classes_alike(seed: int):
    y, graph = block(torch.full((3, 3), 0.03))
    pairs = random_pairs(graph, 50_021, seed=seed)
    found = compatibility(F.one_hot(y, 3).float(), graph, *pairs)
    assert torch.equal(found, torch.ones(3, 3))


def test_labels_dealt_out_at_random_are_no_sign_of_anything(seed: int):
    # As many cells as chance can fill unevenly, and nodes with many edges.
    number, fractions = 0, torch.rand(401) ** 3
    for attempt in range(10):
        edges = fractions.multinomial(2 * 2003, replacement=True).view(2, -1)
        graph = Graph.from_edges(edges, 401, make_undirected=True, say_merged=False)
        y = torch.randperm(401) % 10
        pairs = random_pairs(graph, 5003, seed=attempt)
        found = compatibility(F.one_hot(y, 10).float(), graph, *pairs, seed=attempt)
        number += not torch.equal(found, torch.ones(10, 10))
    assert number <= 1


def test_beliefs_that_say_nothing_make_all_classes_alike(seed: int):
    _, graph = block(torch.eye(3) * 0.06)
    pairs = random_pairs(graph, 50_021, seed=seed)
    belief = torch.full((graph.num_nodes, 3), 1 / 3)
    assert torch.equal(compatibility(belief, graph, *pairs), torch.ones(3, 3))


def test_without_edges_or_pairs_all_classes_are_alike():
    belief = torch.rand(5, 3)
    empty = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 5)
    full = Graph.from_edges(torch.combinations(torch.arange(5)).T, make_undirected=True)
    for graph in (empty, full):
        pairs = random_pairs(graph, 101)
        assert torch.equal(compatibility(belief, graph, *pairs), torch.ones(3, 3))


def test_joint_counts_both_orders_of_a_pair(seed: int):
    belief = torch.rand(13, 3, dtype=torch.float64)
    a, b = torch.randint(13, (2, 2003))
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        outer = belief[i][:, None] * belief[j]
        expected += (outer + outer.T) / 2
    assert torch.allclose(joint(belief, a, b), expected)


def test_much_noise_does_not_look_like_a_choice_of_classes(seed: int):
    # A tenth of the edges inside ten classes, as few as chance has elsewhere.
    matrix = 0.02 * (0.9 + 0.1 * 10 * torch.eye(10))
    y, graph = block(matrix, per_class=59)
    pairs = random_pairs(graph, 50_021, seed=seed)
    found = compatibility(F.one_hot(y, 10).float(), graph, *pairs)
    assert found.diagonal().std() < 1.5
    assert torch.allclose(found.diagonal().mean(), torch.tensor(10.0), atol=2.5)
    apart = found[~torch.eye(10, dtype=torch.bool)]
    assert apart.max() < 0.2


def test_what_all_classes_have_in_common_is_seen_where_no_one_shows_it(seed: int):
    # 3 % of the edges inside twenty classes: six more of each than the nine of chance,
    # but 115 more of all than 186.
    matrix, by_chance = 0.02 * (0.97 + 0.03 * 20 * torch.eye(20)), 0
    for attempt in range(5):
        y, graph = block(matrix, per_class=31)
        pairs = random_pairs(graph, 20_011, seed=attempt)
        belief = F.one_hot(y, 20).float()
        found = compatibility(belief, graph, *pairs, seed=attempt)
        assert found.diagonal().mean() > 10
        dealt = belief[torch.randperm(len(y))]
        found = compatibility(dealt, graph, *pairs, seed=attempt)
        by_chance += not torch.equal(found, torch.ones(20, 20))
    assert by_chance <= 1


def test_ratios_keep_what_chance_does_not_explain():
    # Worked out by hand: means 2 and .5, scatter 1 and .01; chance explains a quarter
    # of the first and, counted twice, three quarters of the second.
    ratio = torch.tensor([[1.0, 0.4], [0.6, 3.0]])
    drawn = torch.full((2, 2), 0.25)
    variance = torch.tensor([[0.25, 0.00375], [0.00375, 0.25]])
    expected = torch.tensor([[1.25, 0.475], [0.525, 2.75]])
    assert torch.allclose(_steady(ratio, drawn, variance), expected)
    assert torch.equal(_steady(ratio, drawn, variance * 0), ratio)
    alike = torch.tensor([[2.0, 0.5], [0.5, 2.0]])
    assert torch.allclose(_steady(ratio, drawn, variance * 4), alike)


def squares_by_loop(belief: Tensor, a: Tensor, b: Tensor) -> Tensor:
    total = torch.zeros(belief.shape[1], belief.shape[1], dtype=torch.float64)
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        outer = belief[i][:, None] * belief[j]
        total += ((outer + outer.T) / 2) ** 2
    return total


def test_squares_are_those_of_a_loop(seed: int):
    belief = torch.rand(13, 3, dtype=torch.float64)
    a, b = torch.randint(13, (2, 2003))
    assert torch.allclose(_squares(belief, a, b), squares_by_loop(belief, a, b))


@pytest.mark.parametrize("sure", [1.0, 0.8])
def test_the_variance_of_ratios_is_that_of_many_draws(sure: float):
    torch.manual_seed(0)
    matrix = 0.02 + 0.06 * torch.eye(7)
    ratios, told = [], []
    for attempt in range(300):
        y, graph = block(matrix, per_class=31)
        belief = F.one_hot(y, 7).double() * sure + (1 - sure) / 7
        edges, pairs = (graph.dst, graph.src), random_pairs(graph, 5003, seed=attempt)
        ratios.append(_ratios(belief, edges, pairs)[0])
        told.append(_variance(belief, edges, pairs, ratios[-1]))
    share = torch.stack(told).mean(dim=0) / torch.stack(ratios).var(dim=0)
    is_one = torch.eye(7, dtype=torch.bool)
    assert float(share[is_one].mean()) == pytest.approx(1, rel=0.15)
    assert float(share[~is_one].mean()) == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("sure", [1.0, 0.9])
def test_a_class_of_a_dozen_nodes_has_no_ratio_of_thousands(sure: float, seed: int):
    # Joined among themselves by 30 edges of 37,500, which next to no random pair is.
    y = torch.randint(4, (20_000,))
    a, b = torch.randint(20_000, (2, 240_000))
    share = torch.tensor([1.0, 0.75, 0.5, 0.25])
    kept = (y[a] == y[b]) & (torch.rand(len(a)) < share[y[a]])
    kept &= (a >= 12) & (b >= 12) & (a != b)
    y[:12] = 4
    rare = torch.combinations(torch.arange(12))[torch.randperm(66)[:30]].T
    edges = torch.cat([torch.stack([a, b])[:, kept], rare], dim=1)
    graph = Graph.from_edges(edges, 20_000, make_undirected=True, say_merged=False)
    others = torch.tensor([0.25, 0.25, 0.25, 0.25, 0.0])
    belief = F.one_hot(y, 5).double() * sure + (1 - sure) * others
    found = compatibility(belief, graph, *random_pairs(graph, 100_003, seed=seed))
    # At most what one pair more leaves: 1 + 100,003 · 30 / 37,500.
    assert 1 < found[4, 4] < 100
    # The others are told apart, and random pairs agree as by chance, on average.
    assert bool((found.diagonal()[:4].diff() < -0.5).all())
    common = torch.bincount(y, minlength=5).float() / 20_000
    assert float(common @ found @ common) == pytest.approx(1, abs=0.05)
