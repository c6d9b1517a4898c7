"""Who is near whom in the plane, and where."""

import numpy as np
import pytest

from sgat_lab.embeddings import radius
from sgat_lab.embeddings.plane import Plane


def pairs_of(near: np.ndarray) -> set[tuple[int, int]]:
    return set(zip(near[0].tolist(), near[1].tolist(), strict=True))


def test_directions_are_those_of_the_paper():
    places = np.array([[0.0, 0.0], [-1, -1], [1, -1], [-1, 1], [1, 1], [0, 0]])
    src, dst = np.arange(1, 6), np.zeros(5, dtype=int)
    plane = Plane(places, np.zeros(6, dtype=int))
    assert plane.direction(src, dst).tolist() == [0, 1, 2, 3, 3]


def test_near_pairs_are_the_closest_as_many_as_asked_for(seed):
    places = np.random.default_rng(seed).standard_normal((37, 2))
    found = Plane(places, np.zeros(37, dtype=int)).near_pairs(58)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    closest = np.sort(apart[np.triu_indices(37, 1)])[28]
    expected = np.argwhere((apart <= closest + 1e-12) & ~np.eye(37, dtype=bool))
    assert pairs_of(found) == set(map(tuple, expected.tolist()))
    assert found.shape == (2, 58)


def test_nodes_in_one_place_are_near_and_other_components_are_not():
    places = np.array([[0.0, 0], [0, 0], [0, 0], [5, 5], [0, 0]])
    plane = Plane(places, np.array([0, 0, 0, 0, 1]))
    found = plane.near_pairs(2)
    assert pairs_of(found) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)}
    everyone = plane.near_pairs(99)
    assert len(pairs_of(everyone)) == 12, "never across components"


def test_no_edges_have_no_near_pairs():
    assert Plane(np.zeros((4, 2)), np.arange(4)).near_pairs(0).shape == (2, 0)


def test_too_many_nodes_in_one_place_are_refused(monkeypatch):
    monkeypatch.setattr(radius, "MOST_PAIRS", 5)
    with pytest.raises(ValueError, match="near each other, got 6 where 2 were"):
        Plane(np.zeros((3, 2)), np.zeros(3, dtype=int)).near_pairs(2)
