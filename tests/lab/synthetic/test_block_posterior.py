import itertools
import math

import numba
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sgat.graph import Graph
from sgat_lab.synthetic.block_models import BLOCK_MODELS, block_model, class_means
from sgat_lab.synthetic.block_posterior import (
    Chances,
    original_probability,
    own_beliefs,
    propagate,
)

# Nodes 0 to 6; 6 stands alone.
TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
CYCLES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (0, 5)]
ONE, NOTHING = (0.7, 0.2), (1.0, 1.0)


def both_ways(edges: list[tuple[int, int]], num_nodes: int = 7) -> Graph:
    index = torch.tensor(edges).T
    return Graph.from_edges(torch.cat([index, index.flip(0)], dim=1), num_nodes)


def enumerated(
    own: torch.Tensor,
    edges: list[tuple[int, int]],
    joined: tuple[float, float],
    apart: tuple[float, float],
) -> torch.Tensor:
    """Probability of each class of each node, summed over all assignments."""
    num_nodes, num_classes = own.shape
    found = torch.zeros_like(own)
    for classes in itertools.product(range(num_classes), repeat=num_nodes):
        weight = math.exp(sum(float(own[i, c]) for i, c in enumerate(classes)))
        for i, j in itertools.combinations(range(num_nodes), 2):
            is_edge = (i, j) in edges or (j, i) in edges
            same, other = joined if is_edge else apart
            weight *= same if classes[i] == classes[j] else other
        for i, c in enumerate(classes):
            found[i, c] += weight
    return found / found.sum(dim=1, keepdim=True)


def drawn_own(seed: int, num_classes: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(7, num_classes, generator=generator, dtype=torch.float64)


def test_on_a_tree_beliefs_are_those_of_all_assignments(seed):
    own, graph = drawn_own(seed, 3), both_ways(TREE)
    found = propagate(own, graph, ONE, NOTHING, own.softmax(dim=1))
    expected = enumerated(own, TREE, ONE, NOTHING)
    torch.testing.assert_close(found.node, expected, atol=1e-5, rtol=0)


def test_what_an_edge_is_told_of_its_ends_has_not_come_through_it(seed):
    own, graph = drawn_own(seed, 3), both_ways(TREE)
    found = propagate(own, graph, ONE, NOTHING, own.softmax(dim=1))
    for edge, (i, j) in enumerate(zip(graph.src, graph.dst, strict=True)):
        left = [e for e in TREE if set(e) != {int(i), int(j)}]
        without = enumerated(own, left, ONE, NOTHING)
        # Without the edge a tree falls apart, and its ends are independent.
        expected = (without[i] * without[j]).sum()
        assert found.alike[edge] == pytest.approx(float(expected), abs=1e-5)


def test_with_cycles_and_pairs_apart_beliefs_are_near_those_of_all_assignments(seed):
    own, graph = drawn_own(seed, 2), both_ways(CYCLES)
    joined, apart = (0.35, 0.25), (0.65, 0.75)
    found = propagate(own, graph, joined, apart, own.softmax(dim=1))
    expected = enumerated(own, CYCLES, joined, apart)
    assert (found.node - expected).abs().max() < 0.01
    # Pairs that are apart are heard: without them it is not the same.
    deaf = enumerated(own, CYCLES, joined, NOTHING)
    assert (deaf - expected).abs().max() > 0.03


def test_who_hears_nothing_believes_nothing():
    graph, flat = both_ways(CYCLES), torch.full((7, 4), 0.25, dtype=torch.float64)
    found = propagate(flat.log(), graph, ONE, NOTHING, flat)
    torch.testing.assert_close(found.node, flat)
    torch.testing.assert_close(found.alike, flat.new_full((16,), 0.25))


def test_a_graph_without_edges_leaves_nodes_to_themselves():
    own = drawn_own(0, 3)
    graph = Graph.from_edges(torch.empty(2, 0, dtype=torch.long), 7)
    found = propagate(own, graph, ONE, NOTHING, own.softmax(dim=1))
    torch.testing.assert_close(found.node, own.softmax(dim=1))
    assert len(found.alike) == 0


@pytest.mark.parametrize("name", BLOCK_MODELS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_chances_are_those_of_the_graphs_that_are_drawn(name, share):
    made = block_model(name, 0, noise_rate=share, feature_signal=0.0)
    graph, y = made.data.graph, made.data.y
    size = y.bincount()
    inside = int((size * (size - 1)).sum())
    originals = int(made.is_signal.sum())
    others = len(y) * (len(y) - 1) - originals
    chances = Chances.of(name, share)
    assert chances.original == pytest.approx(originals / inside)
    assert chances.planted == pytest.approx((graph.num_edges - originals) / others)
    alike = int((y[graph.dst] == y[graph.src]).sum()) / inside
    assert chances.joined[0] == pytest.approx(alike, rel=0.1)


def test_the_probability_of_an_edge_worked_out_by_hand():
    chances = Chances(original=0.4, planted=0.1)
    # Alike: .4 original, .6 · .1 planted; else .1 planted.
    found = original_probability(torch.tensor([1.0, 0.5, 0.0]), chances)
    torch.testing.assert_close(found, torch.tensor([0.4 / 0.46, 0.2 / 0.28, 0.0]))


def test_own_beliefs_are_those_of_bayes_and_labels_are_sure():
    x, mean = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 0], [0, 2]])
    found = own_beliefs(x, mean, None, None).exp()
    density = [math.exp(0), math.exp(-(1 + 4) / 2)]
    assert found[0, 0] == pytest.approx(density[0] / sum(density))
    known = torch.tensor([True, False])
    told = own_beliefs(x, mean, torch.tensor([1, 0]), known).exp()
    assert told[0].tolist() == pytest.approx([0.0, 1.0])
    torch.testing.assert_close(told[1], found[1])


def told_everything(name: str, seed: int, share: float, signal: float):
    made = block_model(name, seed, noise_rate=share, feature_signal=signal)
    data, chances = made.data, Chances.of(name, share)
    mean = class_means(data.num_classes, data.x.shape[1], signal, seed)
    return made, chances, own_beliefs(data.x, mean, data.y, data.train)


@pytest.mark.parametrize(
    ("name", "share", "signal"), [("block-20-few", 0.9, 2.0), ("block-5", 0.7, 0.5)]
)
def test_where_there_are_labels_the_start_does_not_matter(name, share, signal, seed):
    made, chances, own = told_everything(name, seed, share, signal)
    truth = F.one_hot(made.data.y, own.shape[1]).double()
    first, second = (
        propagate(own, made.data.graph, chances.joined, chances.apart, start)
        for start in (truth, own.softmax(dim=1))
    )
    torch.testing.assert_close(first.alike, second.alike, atol=1e-4, rtol=0)


@numba.njit
def chain(ptr, src, y, free, own, originals, sweeps, seed):
    """Share of a long walk over all assignments in which edges are original, [E].

    Two nodes swap classes with the chances of what the graph was made by, to the last
    number: all sets of so many original edges inside classes are equally likely.
    """
    np.random.seed(seed)
    found, samples, inside = np.zeros(len(src)), 0, 0
    for i in range(len(y)):
        for e in range(ptr[i], ptr[i + 1]):
            inside += y[i] == y[src[e]]
    inside //= 2
    for sweep in range(sweeps):
        for _ in range(len(free)):
            i, j = np.random.choice(free), np.random.choice(free)
            c, d = y[i], y[j]
            if c == d:
                continue
            new = inside
            for e in range(ptr[i], ptr[i + 1]):
                if src[e] != j:
                    new += int(y[src[e]] == d) - int(y[src[e]] == c)
            for e in range(ptr[j], ptr[j + 1]):
                if src[e] != i:
                    new += int(y[src[e]] == c) - int(y[src[e]] == d)
            if new < originals:
                continue
            gain = own[i, d] - own[i, c] + own[j, c] - own[j, d]
            gain += math.lgamma(new + 1) - math.lgamma(new - originals + 1)
            gain -= math.lgamma(inside + 1) - math.lgamma(inside - originals + 1)
            if math.log(np.random.random()) < gain:
                y[i], y[j], inside = d, c, new
        if sweep >= sweeps // 5:
            samples += 1
            for i in range(len(y)):
                for e in range(ptr[i], ptr[i + 1]):
                    if y[i] == y[src[e]]:
                        found[e] += originals / inside
    return found / samples


@pytest.mark.parametrize(
    ("name", "share", "signal"),
    [("block-20", 0.9, 2.0), ("block-5", 0.9, 0.5), ("block-20-few", 0.9, 2.0)],
)
def test_a_walk_over_all_assignments_finds_the_same_edges(name, share, signal):
    made, chances, own = told_everything(name, 3, share, signal)
    graph, y = made.data.graph, made.data.y
    truth = F.one_hot(y, own.shape[1]).double()
    alike = propagate(own, graph, chances.joined, chances.apart, truth).alike
    found = original_probability(alike, chances)
    walked = chain(
        np.searchsorted(graph.dst.numpy(), np.arange(len(y) + 1)),
        graph.src.numpy(),
        y.numpy().copy(),
        torch.nonzero(~made.data.train).flatten().numpy(),
        own.numpy(),
        int(made.is_signal.sum()) // 2,
        3000,
        0,
    )
    assert np.abs(found.numpy() - walked).mean() < 0.02
    assert np.corrcoef(found.numpy(), walked)[0, 1] > 0.97


def test_probabilities_mean_what_they_say():
    found, truth = [], []
    for seed in range(4):
        made, chances, own = told_everything("block-20", seed, 0.9, 2.0)
        start = F.one_hot(made.data.y, own.shape[1]).double()
        graph = made.data.graph
        alike = propagate(own, graph, chances.joined, chances.apart, start).alike
        found.append(original_probability(alike, chances))
        truth.append(made.is_signal)
    probability, is_signal = torch.cat(found), torch.cat(truth).double()
    part = (probability * 5).long()
    # A planted edge may join one class, so that nobody is surer.
    assert int(part.max()) == 3
    for number in range(4):
        chosen = part == number
        said, is_so = probability[chosen].mean(), is_signal[chosen].mean()
        # Every edge is there twice.
        error = (is_so * (1 - is_so) / chosen.sum() * 2).sqrt()
        assert abs(said - is_so) < 4 * error
