"""Effective resistance: circuits worked out by hand, and the estimate beside them."""

import networkx
import numpy as np
import pytest
from support.awkward import random_edges

from sgat_lab import resistance
from sgat_lab.resistance import exact_resistance, leverages, sketched_resistance

# Ends, conductances and resistances of small circuits.
CIRCUITS = {
    "chain": ([0, 1, 2], [1, 2, 3], [1, 2, 4], [1, 1 / 2, 1 / 4]),
    "triangle": ([0, 1, 2], [1, 2, 0], [1, 1, 1], [2 / 3] * 3),
    # The way round has the conductance 1 / (1/2 + 1/2) = 1 beside the link's own 3.
    # For the other two: 1 / (1/3 + 1/2) = 6/5 beside 2.
    "weighted triangle": ([0, 1, 0], [1, 2, 2], [3, 2, 2], [1 / 4, 5 / 16, 5 / 16]),
    "parallel links": ([0, 1], [1, 0], [1, 3], [1 / 4, 1 / 4]),
    "two components": ([0, 3, 4, 5], [1, 4, 5, 3], [5, 1, 1, 1], [1 / 5] + [2 / 3] * 3),
    "square with a tail": (
        [0, 1, 2, 3, 3],
        [1, 2, 3, 0, 4],
        [1, 1, 1, 1, 1],
        [3 / 4] * 4 + [1],
    ),
}


@pytest.fixture(params=CIRCUITS)
def circuit(request):
    one, other, weight, expected = CIRCUITS[request.param]
    return np.array(one), np.array(other), np.array(weight, float), np.array(expected)


def test_resistances_are_those_worked_out_by_hand(circuit):
    *ends, expected = circuit
    np.testing.assert_allclose(exact_resistance(7, *ends), expected)


def test_the_estimate_comes_near(circuit, seed):
    *ends, expected = circuit
    estimate = sketched_resistance(7, *ends, seed, num_projections=800)
    # The spread of a mean of squares of Gaussians: √(2 / number), 5 % here.
    np.testing.assert_allclose(estimate, expected, rtol=6 * (2 / 800) ** 0.5)


def test_leverages_of_a_graph_count_its_spanning_tree(seed):
    # Foster: Σ w R = N - number of components.
    src, dst = random_edges(43, 151).numpy()
    weight = np.random.default_rng(seed).uniform(0.1, 9, 151)
    value = leverages(47, src, dst, weight, seed)  # 4 more nodes without links
    graph = networkx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    graph.add_nodes_from(range(47))
    num_components = networkx.number_connected_components(graph)
    assert value.sum() == pytest.approx(47 - num_components)
    assert (value > 0).all() and (value <= 1).all()


def test_large_graphs_are_estimated(seed, monkeypatch):
    src, dst = random_edges(43, 151).numpy()
    weight = np.random.default_rng(seed).uniform(0.1, 9, 151)
    exact = leverages(47, src, dst, weight, seed)
    monkeypatch.setattr(resistance, "LARGEST_DENSE", 46)
    estimate = leverages(47, src, dst, weight, seed)
    assert not np.array_equal(exact, estimate)
    np.testing.assert_allclose(estimate, exact, rtol=6 * (2 / 200) ** 0.5)
    np.testing.assert_array_equal(estimate, leverages(47, src, dst, weight, seed))


def test_links_of_weight_zero_carry_nothing():
    one, other = np.array([0, 1, 2]), np.array([1, 2, 0])
    value = leverages(3, one, other, np.array([1.0, 2.0, 0.0]), 0)
    np.testing.assert_allclose(value, [1, 1, 0], atol=1e-12)
    assert leverages(3, one, other, np.zeros(3), 0).tolist() == [0, 0, 0]
    assert len(leverages(3, one[:0], other[:0], np.zeros(0), 0)) == 0
