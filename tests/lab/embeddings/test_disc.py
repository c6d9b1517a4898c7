"""Who is near whom in the hyperbolic plane, and where."""

import numpy as np
import pytest

from sgat_lab.embeddings import radius
from sgat_lab.embeddings.disc import Disc, euclidean_balls, hyperbolic_distance


def random_places(seed: int, size: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    angle, norm = draw.uniform(0, 2 * np.pi, size), 1 - draw.uniform(size=size) ** 3
    return np.clip(norm, 0, 1 - 1e-5)[:, None] * np.stack(
        [np.cos(angle), np.sin(angle)], axis=1
    )


def by_moebius(x: complex, y: complex) -> float:
    """2 artanh |(x - y) / (1 - x̄ y)|, the distance by another formula."""
    return 2 * np.arctanh(abs((x - y) / (1 - x.conjugate() * y)))


def test_distances_by_hand_and_by_another_formula(seed):
    origin, half = np.array([[0.0, 0.0]]), np.array([[0.0, 0.5]])
    # arcosh(1 + 2 · 0.25 / 0.75) = log 3.
    assert hyperbolic_distance(origin, half) == pytest.approx(np.log(3))
    places = random_places(seed, 41)
    x, y = places[:20], places[20:40]
    expected = [by_moebius(complex(*a), complex(*b)) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(hyperbolic_distance(x, y), expected, rtol=1e-6)
    assert hyperbolic_distance(x, x) == pytest.approx(0)


def test_small_distances_are_not_lost():
    x = np.array([[0.3, 0.2]])
    step = np.array([[1e-9, 0.0]])
    expected = 2 * 1e-9 / (1 - 0.13)
    assert hyperbolic_distance(x, x + step) == pytest.approx(expected, rel=1e-5)


def test_the_edge_of_a_ball_is_as_far_as_its_radius(seed):
    places = random_places(seed, 13) * 0.9
    centres, radii = euclidean_balls(places, 1.7)
    for angle in (0.0, 2.0, 4.0):
        edge = centres + radii[:, None] * [np.cos(angle), np.sin(angle)]
        np.testing.assert_allclose(hyperbolic_distance(places, edge), 1.7, rtol=1e-6)


def test_upper_is_nearer_to_the_origin_and_right_is_counter_clockwise():
    places = np.array([[0.5, 0.0], [0.6, -0.3], [0.6, 0.3], [0.2, -0.1], [0.2, 0.1]])
    disc = Disc(places, np.zeros(5, dtype=int))
    src, dst = np.arange(1, 5), np.zeros(4, dtype=int)
    assert disc.direction(src, dst).tolist() == [0, 1, 2, 3]
    assert disc.direction(dst, src).tolist() == [3, 2, 1, 0], "seen from the other end"


def test_turning_the_disc_changes_no_direction(seed):
    places = random_places(seed, 29)
    cosine, sine = np.cos(2.5), np.sin(2.5)
    turned = places @ np.array([[cosine, sine], [-sine, cosine]])
    src, dst = np.triu_indices(29, 1)
    zeros = np.zeros(29, dtype=int)
    before, after = (Disc(p, zeros).direction(src, dst) for p in (places, turned))
    assert (before == after).all()


def test_near_pairs_are_the_closest_as_many_as_asked_for(seed):
    places = random_places(seed, 37)
    found = Disc(places, np.zeros(37, dtype=int)).near_pairs(58)
    one, other = np.triu_indices(37, 1)
    z = places[:, 0] + 1j * places[:, 1]
    apart = [by_moebius(a, b) for a, b in zip(z[one], z[other], strict=True)]
    closest = np.argsort(apart)[:29]
    expected = {
        pair
        for a, b in zip(one[closest].tolist(), other[closest].tolist(), strict=True)
        for pair in ((a, b), (b, a))
    }
    assert set(zip(*found.tolist(), strict=True)) == expected
    assert found.shape == (2, 58)


def test_crowded_nodes_are_not_more_than_asked_for(seed):
    places = np.random.default_rng(seed).standard_normal((211, 2)) * 1e-4
    places = np.concatenate([places, [[0.0, 0.999]]])
    found = Disc(places, np.zeros(212, dtype=int)).near_pairs(10)
    assert found.shape == (2, 10)


def test_other_components_are_not_near():
    places = np.array([[0.0, 0], [0, 0.1], [0, 0], [0, 0.1], [0.99, 0]])
    disc = Disc(places, np.array([0, 0, 1, 1, 1]))
    assert set(zip(*disc.near_pairs(99).tolist(), strict=True)) == {
        *((0, 1), (1, 0), (2, 3), (3, 2)),
        *((2, 4), (4, 2), (3, 4), (4, 3)),
    }


def test_no_edges_have_no_near_pairs():
    assert Disc(np.zeros((4, 2)), np.arange(4)).near_pairs(0).shape == (2, 0)
    assert Disc(np.zeros((0, 2)), np.arange(0)).near_pairs(0).shape == (2, 0)


def test_too_many_nodes_in_one_place_are_refused(monkeypatch):
    monkeypatch.setattr(radius, "MOST_PAIRS", 5)
    with pytest.raises(ValueError, match="near each other, got 6 where 2 were"):
        Disc(np.zeros((3, 2)), np.zeros(3, dtype=int)).near_pairs(2)
