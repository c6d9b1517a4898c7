"""Classes of nodes and of edges, against scikit-learn, block matrices and loops."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from ops.awkward import scattered
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from sgat.evidence import neighbourhood
from sgat.evidence.beliefs import (
    FLOOR,
    RIDGE,
    Agreement,
    beliefs,
    compatibility,
    fit_classes,
    joint,
)
from sgat.evidence.neighbourhood import random_pairs, undirected
from sgat.graph import Graph


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
    assert np.allclose(beliefs(vector, weight), expected, atol=5e-3)


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
    assert (beliefs(vector, weight).argmax(dim=1) == 1).all()


def test_a_known_class_is_believed_for_sure(seed: int):
    vector, weight = torch.randn(5, 3), torch.randn(4, 3)
    label = torch.tensor([-1, 2, -1, 0, -1])
    found = beliefs(vector, weight, label)
    assert found[1].tolist() == [0, 0, 1] and found[3].tolist() == [1, 0, 0]
    others = label < 0
    assert torch.equal(found[others], beliefs(vector, weight)[others])


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


def by_hand(
    belief: Tensor,
    compatible: Tensor,
    weights: Tensor,
    a: int,
    b: int,
    is_known: Tensor | None = None,
) -> float:
    """φ of a pair, from a matrix of weights in which they do not hear each other."""
    weights = weights.clone()
    weights[a, b] = weights[b, a] = 0
    message = (belief @ compatible + FLOOR).log()
    message = message - message.mean(dim=1, keepdim=True)
    heard = (belief + 1e-4).log() + weights @ message
    settled = torch.zeros(len(belief)).bool() if is_known is None else is_known
    one, other = (
        belief[end] if settled[end] else heard[end].softmax(0) for end in (a, b)
    )
    return math.log(float(one @ compatible @ other) + FLOOR)


@pytest.mark.parametrize("num_known", [0, 7])
def test_the_agreement_of_an_edge_has_not_heard_it(num_known: int, seed: int):
    graph = undirected(scattered(17, 61))
    belief = torch.rand(17, 3).softmax(dim=1)
    is_known = torch.arange(17) < num_known
    sure = F.one_hot(torch.arange(17) % 3).float()
    belief = torch.where(is_known[:, None], sure, belief)
    compatible = torch.rand(3, 3)
    compatible = compatible + compatible.T
    weight = torch.rand(graph.num_edges)
    weight = graph.larger_direction(weight)
    found = Agreement(belief, compatible, graph, weight, is_known)
    dense = torch.zeros(17, 17)
    dense[graph.dst.long(), graph.src.long()] = weight
    value = found.feature(graph.dst, graph.src, weight)
    for edge in range(graph.num_edges):
        ends = int(graph.dst[edge]), int(graph.src[edge])
        expected = by_hand(belief, compatible, dense, *ends, is_known)
        assert float(value[edge]) == pytest.approx(expected, abs=1e-4)
    a, b = random_pairs(graph, 53)
    for row, ends in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        expected = by_hand(belief, compatible, dense, *ends, is_known)
        assert float(found.feature(a, b)[row]) == pytest.approx(expected, abs=1e-4)


def test_two_known_classes_agree_as_far_as_their_edges_do():
    # Worked out by hand: neighbours 2 and 3 say otherwise, and are not asked.
    graph = Graph.from_edges(torch.tensor([[0, 2, 3], [1, 0, 1]]), make_undirected=True)
    belief = F.one_hot(torch.tensor([0, 1, 1, 0]), 2).float()
    compatible = torch.tensor([[2.0, 0.25], [0.25, 3.0]])
    everyone = torch.ones(4, dtype=torch.bool)
    weight = torch.ones(graph.num_edges)
    found = Agreement(belief, compatible, graph, weight, everyone)
    a, b = torch.tensor([0, 0, 1]), torch.tensor([1, 3, 2])
    expected = [math.log(value + FLOOR) for value in (0.25, 2.0, 3.0)]
    assert found.feature(a, b).tolist() == pytest.approx(expected, abs=1e-5)


def test_no_pairs_have_no_agreement():
    graph = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 5)
    found = Agreement(torch.rand(5, 3), torch.ones(3, 3), graph, torch.zeros(0))
    none = torch.zeros(0, dtype=torch.long)
    assert found.feature(none, none, torch.zeros(0)).shape == (0,)
