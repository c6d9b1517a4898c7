"""Rings and their warping against networkx and a plain double loop."""

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_graphs import barbell, from_networkx, tree, without_edges

from sgat.graph import Graph
from sgat_lab.embeddings import structural_distance as module
from sgat_lab.embeddings.kernels.rings import warp
from sgat_lab.embeddings.neighbours import neighbours_of
from sgat_lab.embeddings.structural_distance import Rings, collect, structural_distance


def ring(rings: Rings, node: int, hop: int) -> list[tuple[float, float]]:
    at = node * rings.hops + hop
    part = slice(rings.ptr[at], rings.ptr[at + 1])
    found = zip(rings.degree[part], rings.frequency[part], strict=True)
    return [(float(degree), float(frequency)) for degree, frequency in found]


def plain_warp(one: list[tuple[float, float]], other: list[tuple[float, float]]):
    """Eq. 10 of the paper in a full table."""
    best = np.full((len(one) + 1, len(other) + 1), np.inf)
    best[0, 0] = 0
    for i, (degree, number) in enumerate(one):
        for j, (other_degree, other_number) in enumerate(other):
            low, high = sorted((degree, other_degree))
            cost = (high / low - 1) * max(number, other_number)
            best[i + 1, j + 1] = cost + min(best[i, j], best[i, j + 1], best[i + 1, j])
    return best[-1, -1]


def random_graph(seed: int) -> nx.Graph:
    return nx.gnp_random_graph(41, 0.07, seed=seed)


def test_rings_are_the_degrees_at_each_distance(seed):
    found = random_graph(seed)
    rings = collect(neighbours_of(from_networkx(found)), 4)
    for node in found:
        hops = nx.single_source_shortest_path_length(found, node)
        for hop in range(4):
            degrees = [found.degree[j] for j, far in hops.items() if far == hop]
            values, counts = np.unique(degrees, return_counts=True)
            expected = list(zip(values.tolist(), counts.tolist(), strict=True))
            assert ring(rings, node, hop) == expected


def test_rings_collected_in_parts_are_the_same(seed, monkeypatch):
    linked = neighbours_of(from_networkx(random_graph(seed)))
    whole = collect(linked, 3)
    monkeypatch.setattr(module, "AT_ONCE", 100)
    for one, other in zip(whole, collect(linked, 3), strict=True):
        np.testing.assert_array_equal(one, other)


def test_warping_by_hand():
    one, other = np.array([1.0, 2.0]), np.array([2.0])
    counts = np.array([3.0, 1.0]), np.array([2.0])
    # 1 against 2, three times: (2/1 - 1) · 3; 2 against 2 is free.
    assert warp(one, counts[0], other, counts[1], np.empty(1)) == 3
    assert warp(other, counts[1], one, counts[0], np.empty(2)) == 3


def test_warping_is_that_of_a_double_loop(seed):
    draw = np.random.default_rng(seed)
    for _ in range(50):
        sizes = draw.integers(1, 9, size=2)
        degrees = [np.sort(draw.choice(30, n, replace=False) + 1.0) for n in sizes]
        counts = [draw.integers(1, 7, size=n).astype(float) for n in sizes]
        one, other = (
            list(zip(d.tolist(), c.tolist(), strict=True))
            for d, c in zip(degrees, counts, strict=True)
        )
        found = warp(degrees[0], counts[0], degrees[1], counts[1], np.empty(sizes[1]))
        assert found == pytest.approx(plain_warp(one, other))


def test_distances_add_up_ring_by_ring(seed):
    rings = collect(neighbours_of(from_networkx(random_graph(seed))), 4)
    one, other = np.random.default_rng(seed).integers(41, size=(2, 97))
    found = structural_distance(rings, one, other)
    for pair, (u, v) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        total = 0.0
        for hop in range(4):
            rows = ring(rings, u, hop), ring(rings, v, hop)
            if rows[0] == [(0, 1)] or rows[1] == [(0, 1)]:
                break  # nodes without neighbours are compared with nobody
            total += plain_warp(*rows) if all(rows) else np.inf
            assert found[pair, hop] == pytest.approx(total)


def test_nodes_alike_are_at_no_distance():
    rings = collect(neighbours_of(barbell()), 5)
    one, other = np.array([0, 9, 10, 13]), np.array([25, 20, 19, 16])
    assert (structural_distance(rings, one, other) == 0).all()
    assert structural_distance(rings, np.array([0]), np.array([9]))[0, 0] > 0


def test_beyond_the_last_ring_distances_are_infinite():
    rings = collect(neighbours_of(tree()), 6)
    # The root sees four levels, a leaf everybody within eight hops.
    found = structural_distance(rings, np.array([0]), np.array([120]))
    assert np.isfinite(found[0]).tolist() == [True] * 5 + [False]


def test_no_edges_and_no_nodes():
    rings = collect(neighbours_of(without_edges(3)), 2)
    assert [ring(rings, node, 1) for node in range(3)] == [[], [], []]
    assert len(collect(neighbours_of(without_edges(0)), 2).degree) == 0


def test_relabelling_moves_distances_along(seed):
    graph = from_networkx(random_graph(seed))
    order = torch.randperm(41)
    moved = Graph.from_edges(order[graph.edge_index], 41)
    one, other = np.triu_indices(41, 1)
    new = order.numpy()
    np.testing.assert_allclose(
        structural_distance(collect(neighbours_of(graph), 3), one, other),
        structural_distance(collect(neighbours_of(moved), 3), new[one], new[other]),
    )
