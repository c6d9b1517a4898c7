"""Pairs that edges are compared with: no edges, degrees as drawn, what is left out."""

import numpy as np
import pytest

from sgat.judging.pairs import Pairs


@pytest.fixture
def ends() -> np.ndarray:
    rng = np.random.default_rng(3)
    drawn = rng.integers(0, 53, (2, 401)) ** 2 // 53
    low, high = np.minimum(*drawn), np.maximum(*drawn)
    return np.unique(np.stack([low, high])[:, low < high], axis=1)


def test_edges_stand_first_and_each_leaves_itself_out(ends: np.ndarray):
    pairs = Pairs.of(ends, 53, np.random.default_rng(0))
    here = pairs.edges
    assert np.array_equal(np.stack([pairs.a[here], pairs.b[here]]), ends)
    assert np.array_equal(np.stack([pairs.out_b[here], pairs.out_a[here]]), ends)
    assert np.array_equal(pairs.edge_a[here], np.arange(ends.shape[1]))


def test_pairs_are_no_edges_and_no_loops(ends: np.ndarray):
    pairs = Pairs.of(ends, 53, np.random.default_rng(0))
    edges = {frozenset(pair) for pair in ends.T.tolist()}
    for here in (pairs.swapped, pairs.any):
        drawn = zip(pairs.a[here].tolist(), pairs.b[here].tolist(), strict=True)
        found = [frozenset(pair) for pair in drawn]
        assert len(found) > 500 and all(len(pair) == 2 for pair in found)
        assert not edges & set(found)


def test_swapped_pairs_leave_out_an_edge_at_each_end(ends: np.ndarray):
    pairs = Pairs.of(ends, 53, np.random.default_rng(0))
    here = pairs.swapped
    for node, gone, edge in (
        (pairs.a, pairs.out_a, pairs.edge_a),
        (pairs.b, pairs.out_b, pairs.edge_b),
    ):
        found = np.sort(np.stack([node[here], gone[here]]), axis=0)
        assert np.array_equal(found, ends[:, edge[here]])
    assert (pairs.is_out[here] == 1).all() and (pairs.is_out[pairs.any] == 0).all()


def test_swapped_pairs_have_the_degrees_of_edges_and_others_those_of_nodes():
    # Hubs that hardly any pair is an edge of, so that few draws are refused.
    rng = np.random.default_rng(1)
    drawn = np.stack([rng.integers(0, 20, 3001), rng.integers(20, 2003, 3001)])
    ends = np.unique(drawn, axis=1)
    pairs = Pairs.of(ends, 2003, np.random.default_rng(0))
    is_hub = [np.mean(pairs.a[part] < 20) for part in (pairs.swapped, pairs.any)]
    assert 0.35 < is_hub[0] < 0.65 and is_hub[1] < 0.03


def test_nodes_without_edges_are_in_no_pair(ends: np.ndarray):
    pairs = Pairs.of(ends, 530, np.random.default_rng(0))
    assert np.array_equal(np.unique(pairs.b), np.unique(ends))


def test_the_same_seed_draws_the_same(ends: np.ndarray):
    one, same, other = (
        Pairs.of(ends, 53, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert np.array_equal(one.a, same.a)
    assert len(one.a) != len(other.a) or not np.array_equal(one.a, other.a)
