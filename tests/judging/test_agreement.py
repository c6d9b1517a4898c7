"""Beliefs heard along edges, against loops and against all assignments of classes."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from support.awkward import scattered
from torch import Tensor

from sgat.graph import Graph
from sgat.judging import agreement, neighbourhood
from sgat.judging.agreement import DAMPING, FLOOR, LEAST, STEPS, Agreement
from sgat.judging.neighbourhood import random_pairs


@pytest.fixture(autouse=True)
def few_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "PAIRS_AT_ONCE", 13)


def symmetric(graph: Graph, value: Tensor) -> Tensor:
    return graph.larger_direction(value)


def by_loops(
    belief: Tensor,
    compatible: Tensor,
    graph: Graph,
    weight: Tensor,
    is_known: Tensor,
) -> tuple[dict[tuple[int, int], Tensor], Tensor]:
    """Messages by (sender, receiver), and beliefs, with a loop for every sum."""
    edges = list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    real = dict(zip(edges, weight, strict=True))
    nodes = range(len(belief))
    degree = [sum(b == i for _, b in edges) for i in nodes]
    said = {(a, b): belief[a] for a, b in edges}
    node = belief
    for _ in range(STEPS):
        everybody = sum(degree[i] * node[i] for i in nodes) / len(edges)
        common = weight.mean() * (everybody @ compatible)
        heard = {
            edge: (
                1 - real[edge] + real[edge] * (said[edge] @ compatible) + LEAST
            ).log()
            for edge in edges
        }

        def told(a: int, but: int | None = None, heard=heard, common=common) -> Tensor:
            if is_known[a]:
                return belief[a]
            parts = [heard[k, b] for k, b in edges if b == a and k != but]
            total = (belief[a] + LEAST).log() - degree[a] * common
            return (total + sum(parts)).softmax(dim=0)

        old = said
        said = {
            (a, b): DAMPING * old[a, b] + (1 - DAMPING) * told(a, b) for a, b in edges
        }
        new = torch.stack([told(a) for a in nodes])
        node = DAMPING * node + (1 - DAMPING) * new
    return said, node


@pytest.mark.parametrize("num_known", [0, 7])
def test_messages_are_those_of_loops(num_known: int, seed: int):
    graph = scattered(17, 61).undirected()
    belief = torch.rand(17, 3).softmax(dim=1)
    is_known = torch.arange(17) < num_known
    sure = F.one_hot(torch.arange(17) % 3).float()
    belief = torch.where(is_known[:, None], sure, belief)
    compatible = torch.rand(3, 3) * 3
    compatible = compatible + compatible.T
    weight = symmetric(graph, torch.rand(graph.num_edges))
    found = Agreement(belief, compatible, graph, weight, is_known)
    said, node = by_loops(belief, compatible, graph, weight, is_known)
    assert torch.allclose(found.belief, node, atol=1e-5)
    value = found.of_edges()
    for edge, (a, b) in enumerate(
        zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
    ):
        expected = math.log(float(said[a, b] @ compatible @ said[b, a]) + FLOOR)
        assert float(value[edge]) == pytest.approx(expected, abs=1e-4)
    a, b = random_pairs(graph, 53)
    expected = ((node[a] @ compatible * node[b]).sum(dim=1) + FLOOR).log()
    assert torch.allclose(found.of_pairs(a, b), expected, atol=1e-4)


def test_on_a_tree_beliefs_are_those_of_all_assignments(
    monkeypatch: pytest.MonkeyPatch, seed: int
):
    # With all classes alike to everybody who is far away, and steps to spare.
    monkeypatch.setattr(agreement, "STEPS", 40)
    edges = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
    graph = Graph.from_edges(torch.tensor(edges).T, 7, make_undirected=True)
    # Classes that go round: what everybody says is the same for each of them.
    compatible = torch.tensor([[0.0, 3, 0], [0, 0, 3], [3, 0, 0]])
    compatible = (compatible + compatible.T) / 2
    belief = torch.rand(7, 3).softmax(dim=1)
    weight = symmetric(graph, torch.rand(graph.num_edges))
    # What is left of it is taken off by hand.
    found = Agreement(belief, compatible, graph, weight)
    degree = graph.row_ptr.diff()[:, None]
    everybody = (degree * found.belief).sum(dim=0) / degree.sum()
    field = degree * weight.mean() * (everybody @ compatible)
    real = dict(
        zip(
            zip(graph.src.tolist(), graph.dst.tolist(), strict=True),
            weight.tolist(),
            strict=True,
        )
    )
    expected = torch.zeros(7, 3)
    for classes in itertools.product(range(3), repeat=7):
        total = 1.0
        for i, c in enumerate(classes):
            total *= float(belief[i, c] + LEAST) * math.exp(-float(field[i, c]))
        for i, j in edges:
            w = real[i, j]
            total *= 1 - w + w * float(compatible[classes[i], classes[j]]) + LEAST
        for i, c in enumerate(classes):
            expected[i, c] += total
    expected /= expected.sum(dim=1, keepdim=True)
    assert torch.allclose(found.belief, expected, atol=1e-4)


def test_an_edge_does_not_hear_itself():
    # 0 - 1 - 2, and 97 pairs besides, so that what everybody believes hardly changes.
    pairs = torch.arange(3, 197).view(-1, 2)
    edges = torch.cat([torch.tensor([[0, 1], [1, 2]]), pairs]).T
    graph = Graph.from_edges(edges, make_undirected=True)
    belief = torch.full((197, 2), 0.5)
    belief[0, 0], belief[0, 1], belief[2, 0], belief[2, 1] = 0.9, 0.1, 0.2, 0.8
    compatible = torch.tensor([[2.0, 0.1], [0.1, 2.0]])
    is_first = (graph.src < 2) & (graph.dst < 2)
    found = []
    for own in (0.1, 0.9):
        weight = torch.where(is_first, own, 0.5)
        agree = Agreement(belief, compatible, graph, weight)
        found.append((agree.of_edges()[is_first], agree.belief[1]))
    assert torch.allclose(found[0][0], found[1][0], atol=0.01)
    # But node 1 hears it, and says so to node 2.
    assert (found[0][1] - found[1][1]).abs().max() > 0.1


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
    assert found.of_pairs(a, b).tolist() == pytest.approx(expected, abs=1e-5)


def test_many_steps_do_not_end_in_one_class(monkeypatch: pytest.MonkeyPatch, seed: int):
    monkeypatch.setattr(agreement, "STEPS", 50)
    y = torch.arange(3).repeat_interleave(101)
    chance = torch.where(y[:, None] == y, 0.12, 0.01)
    edges = (torch.rand(303, 303) < chance).triu(1).nonzero().T
    graph = Graph.from_edges(edges, 303, make_undirected=True)
    belief = (0.3 * F.one_hot(y, 3) + 0.2 * torch.rand(303, 3)).softmax(dim=1)
    weight = torch.full((graph.num_edges,), 0.8)
    found = Agreement(belief, 3 * torch.eye(3), graph, weight)
    assert (found.belief.argmax(dim=1) == y).double().mean() > 0.95


def test_no_pairs_have_no_agreement():
    graph = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 5)
    belief = torch.rand(5, 3).softmax(dim=1)
    found = Agreement(belief, torch.ones(3, 3), graph, torch.zeros(0))
    none = torch.zeros(0, dtype=torch.long)
    assert found.of_edges().shape == found.of_pairs(none, none).shape == (0,)
    # Nobody is heard, so nothing changes but for what is added before logarithms.
    assert torch.allclose(found.belief, belief, atol=1e-3)
