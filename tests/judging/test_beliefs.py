"""Classes of nodes and of edges, against scikit-learn, block matrices and loops."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from support.awkward import GRAPHS, scattered
from torch import Tensor

from sgat.graph import Graph
from sgat.judging import beliefs
from sgat.judging.beliefs import (
    RIDGE,
    class_beliefs,
    fit_classes,
    joint,
    random_pairs,
)


@pytest.fixture(autouse=True)
def few_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beliefs, "PAIRS_AT_ONCE", 1009)


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


def test_classes_are_learned_from_some_of_many_known_nodes(
    monkeypatch: pytest.MonkeyPatch, seed: int
):
    # Every fourth node has the same class: taking each fourth would show no other.
    y = torch.arange(8009) % 4
    vector = torch.randn(8009, 4) + 2 * torch.nn.functional.one_hot(y, 4)
    known = torch.rand(8009) < 0.9
    every = class_beliefs(vector, fit_classes(vector, y, known, 4))
    monkeypatch.setattr(beliefs, "MOST_KNOWN", 2003)
    some = class_beliefs(vector, fit_classes(vector, y, known, 4))
    assert (some.argmax(dim=1) == every.argmax(dim=1)).float().mean() > 0.95
    assert not torch.equal(some, every)


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


def test_joint_counts_both_orders_of_a_pair(seed: int):
    belief = torch.rand(13, 3, dtype=torch.float64)
    a, b = torch.randint(13, (2, 2003))
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        outer = belief[i][:, None] * belief[j]
        expected += (outer + outer.T) / 2
    assert torch.allclose(joint(belief, a, b), expected)


def adjacency(graph: Graph) -> Tensor:
    found = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    src, dst = graph.edge_index
    found[src, dst] = found[dst, src] = 1
    return found


def test_random_pairs_are_different_nodes_that_no_edge_joins(seed: int):
    graph = scattered(23, 151).undirected()
    a, b = random_pairs(graph, 5003, seed=seed)
    joined = adjacency(graph).bool()
    assert not joined[a, b].any() and not (a == b).any()
    # All of them, each about as often.
    free = (~joined).fill_diagonal_(False)
    count = torch.zeros(23, 23).index_put((a, b), torch.ones(len(a)), accumulate=True)
    assert torch.equal(count > 0, free)
    assert count.max() < 4 * count[free].mean()
    same = random_pairs(graph, 5003, seed=seed)
    assert torch.equal(torch.stack(same), torch.stack((a, b)))
    other = random_pairs(graph, 5003, seed=seed + 1)
    assert len(other[0]) != len(a) or not torch.equal(other[0], a)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_random_pairs_are_all_that_were_drawn_and_no_edge_joins(name: str, seed: int):
    graph = GRAPHS[name]().undirected()
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(graph.num_nodes, (2, 211), generator=generator)
    joined = adjacency(graph).bool()
    is_free = ~joined[drawn[0], drawn[1]] & (drawn[0] != drawn[1])
    found = torch.stack(random_pairs(graph, 211, seed=seed))
    assert torch.equal(found, drawn[:, is_free])


@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_a_graph_in_which_all_are_joined_has_no_such_pairs(num_nodes: int):
    edges = torch.combinations(torch.arange(num_nodes)).T.reshape(2, -1)
    graph = Graph.from_edges(edges, num_nodes, make_undirected=True)
    a, b = random_pairs(graph, 101)
    assert len(a) == len(b) == 0
