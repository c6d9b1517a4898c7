import numpy as np
import pytest

from sgat.report import layout
from sgat.report.layout import layout_nodes


def cliques(size: int, number: int):
    """Complete graphs in a row, joined by single edges."""
    pairs = [
        (clique * size + a, clique * size + b)
        for clique in range(number)
        for a in range(size)
        for b in range(a)
    ]
    pairs += [(k * size, (k + 1) * size) for k in range(number - 1)]
    return np.array(pairs).T, size * number


def test_neighbours_are_near_each_other():
    for size, number in ((11, 3), (23, 31)):  # every pair, and the mesh
        (src, dst), nodes = cliques(size, number)
        place = layout_nodes(src, dst, nodes)
        near = np.linalg.norm(place[src] - place[dst], axis=1).mean()
        pairs = np.random.default_rng(0).integers(nodes, size=(2, 2_000))
        far = np.linalg.norm(place[pairs[0]] - place[pairs[1]], axis=1).mean()
        assert near < 0.35 * far


def test_a_layout_is_the_same_every_time_and_fills_the_square():
    (src, dst), nodes = cliques(7, 5)
    first = layout_nodes(src, dst, nodes + 3)
    assert np.array_equal(first, layout_nodes(src, dst, nodes + 3))
    assert first.shape == (nodes + 3, 2) and first.dtype == np.float32
    assert np.isfinite(first).all()
    assert np.abs(first).max() == 1
    assert len(np.unique(first, axis=0)) == nodes + 3


def test_strong_springs_are_shorter():
    src, dst = np.arange(40), np.roll(np.arange(40), -1)
    weight = np.where(np.arange(40) % 2, 1.0, 0.1)
    place = layout_nodes(src, dst, 40, weight)
    length = np.linalg.norm(place[src] - place[dst], axis=1)
    assert length[weight == 1].mean() < 0.8 * length[weight < 1].mean()


@pytest.mark.parametrize("nodes", [0, 1, 2, 13, 1_009])
def test_nodes_without_edges_have_places_of_their_own(nodes):
    nothing = np.zeros(0, dtype=int)
    place = layout_nodes(nothing, nothing, nodes)
    assert place.shape == (nodes, 2)
    assert np.isfinite(place).all()
    assert len(np.unique(place, axis=0)) == nodes


def test_the_mesh_pushes_as_all_pairs_do():
    random = np.random.default_rng(3)
    place = random.standard_normal((701, 2)) * 30
    mass = random.integers(1, 9, size=701).astype(float)
    exact = layout._push_exactly(place, mass)
    fast = layout._mesh_push()(place, mass)
    error = np.linalg.norm(fast - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert np.median(error) < 0.1
    assert np.corrcoef(fast.ravel(), exact.ravel())[0, 1] > 0.98
