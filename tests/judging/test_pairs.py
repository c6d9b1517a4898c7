"""Pairs that edges are compared with: no edges, degrees as drawn, what is left out."""

import numpy as np
import pytest

from sgat.judging.matrices import numbered
from sgat.judging.pairs import Pairs, draw_pairs


@pytest.fixture
def ends() -> np.ndarray:
    rng = np.random.default_rng(3)
    drawn = rng.integers(0, 53, (2, 401)) ** 2 // 53
    low, high = np.minimum(*drawn), np.maximum(*drawn)
    return np.unique(np.stack([low, high])[:, low < high], axis=1)


def drawn_pairs(ends: np.ndarray, num_nodes: int = 53, seed: int = 0):
    rng = np.random.default_rng(seed)
    return draw_pairs(ends, numbered(ends, num_nodes), rng)


@pytest.mark.parametrize("rows", [slice(3, 19), np.array([7, 2, 5])])
def test_each_edge_leaves_itself_out(ends: np.ndarray, rows):
    pairs = Pairs.of_edges(ends, rows)
    assert np.array_equal(np.stack([pairs.a, pairs.b]), ends[:, rows])
    assert np.array_equal(np.stack([pairs.out_b, pairs.out_a]), ends[:, rows])
    assert np.array_equal(pairs.edge_a, np.arange(ends.shape[1])[rows])


def test_pairs_are_no_edges_and_no_loops_and_follow_the_edges(ends: np.ndarray):
    edges, last = {frozenset(pair) for pair in ends.T.tolist()}, ends.shape[1]
    for pairs in drawn_pairs(ends):
        assert pairs.place == slice(last, last := last + len(pairs.a))
        drawn = zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)
        found = [frozenset(pair) for pair in drawn]
        assert len(found) > 500 and all(len(pair) == 2 for pair in found)
        assert not edges & set(found)


def test_swapped_pairs_leave_out_an_edge_at_each_end(ends: np.ndarray):
    pairs, loose = drawn_pairs(ends)
    for node, gone, edge in (
        (pairs.a, pairs.out_a, pairs.edge_a),
        (pairs.b, pairs.out_b, pairs.edge_b),
    ):
        found = np.sort(np.stack([node, gone]), axis=0)
        assert np.array_equal(found, ends[:, edge])
    assert pairs.is_out and not loose.is_out


def test_swapped_pairs_have_the_degrees_of_edges_and_others_those_of_nodes():
    # Hubs that hardly any pair is an edge of, so that few draws are refused.
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(0, 20, 3001), rng.integers(20, 2003, 3001)])
    ends = np.unique(drawn, axis=1)
    is_hub = [np.mean(pairs.a < 20) for pairs in drawn_pairs(ends, 2003)]
    assert 0.35 < is_hub[0] < 0.65 and is_hub[1] < 0.03


def test_nodes_without_edges_are_in_no_pair(ends: np.ndarray):
    loose = drawn_pairs(ends, 530)[1]
    assert np.array_equal(np.unique(loose.b), np.unique(ends))


def test_the_same_seed_draws_the_same(ends: np.ndarray):
    one, same, other = (drawn_pairs(ends, seed=seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(one.a, same.a)
    assert len(one.a) != len(other.a) or not np.array_equal(one.a, other.a)
