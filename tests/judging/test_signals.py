"""Signals of pairs, against a dense graph from which edges are really removed."""

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from sgat.features import SparseFeatures
from sgat.judging.pairs import Pairs
from sgat.judging.signals import Signals

NODES = 23


@pytest.fixture
def ends() -> np.ndarray:
    rng = np.random.default_rng(3)
    low, high = np.triu_indices(NODES, 1)
    chosen = rng.random(len(low)) < 0.25
    return np.stack([low[chosen], high[chosen]])


def made(ends: np.ndarray, x=None, label=None) -> Signals:
    pairs = Pairs.of(ends, NODES, np.random.default_rng(0))
    label = np.full(NODES, -1) if label is None else label
    return Signals(ends, NODES, x, pairs, label, seed=0)


def without(ends: np.ndarray, weight: np.ndarray, pairs: Pairs, place: int):
    """The weighted adjacency matrix without the edges that a pair leaves out."""
    dense = np.zeros((NODES, NODES))
    dense[ends[0], ends[1]] = dense[ends[1], ends[0]] = weight
    if pairs.is_out[place]:
        for node, gone in ((pairs.a, pairs.out_a), (pairs.b, pairs.out_b)):
            dense[node[place], gone[place]] = dense[gone[place], node[place]] = 0
    return dense


@pytest.mark.parametrize("has_labels", [False, True])
def test_signals_are_those_of_the_graph_without_what_is_left_out(
    ends: np.ndarray, has_labels: bool
):
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.2, 1, ends.shape[1])
    label = np.where(np.arange(NODES) % 2 == 0, np.arange(NODES) % 3, -1)
    x = torch.randn(NODES, 5, generator=torch.Generator().manual_seed(1))
    signals = made(ends, x, label if has_labels else None)
    pairs, u = signals.pairs, signals.vector
    found = signals.of_all(weight)
    assert found.shape == (len(pairs.a), 16 if has_labels else 13)
    whole = without(ends, weight, pairs, -1)
    strength, degree = whole.sum(axis=1), (whole > 0).sum(axis=1)
    first, second = pairs.swapped.start, pairs.any.start
    for place in (0, 1, 17, first, first + 1, first + 19, second, second + 1):
        a, b = pairs.a[place], pairs.b[place]
        dense = without(ends, weight, pairs, place)

        def means(vector, a=a, b=b, dense=dense):
            mean = [dense[i] @ vector / (dense[i].sum() + 1) for i in (a, b)]
            both = mean[0] @ mean[1]
            length = math.prod(np.linalg.norm(part) for part in mean)
            around = vector[a] @ mean[1] + vector[b] @ mean[0]
            return [around, both, both / max(length, 1e-9)]

        def shared(dense, strength, a=a, b=b):
            common = dense[a] * dense[b]
            # The shares are of the whole strength of a common neighbour.
            share = (common / np.maximum(strength, 1)).sum()
            total = dense[a].sum() + dense[b].sum() - common.sum()
            return np.log1p([10 * share, 10 * common.sum() / max(total, 0.5)])

        expected = [*means(u), *shared(dense, strength)]
        assert found[place, 2:7] == pytest.approx(expected, abs=2e-5)
        expected = shared((dense > 0).astype(float), degree)
        assert found[place, 9:11] == pytest.approx(expected, abs=2e-5)
        if has_labels:
            expected = means(signals.belief)
            assert found[place, 11:14] == pytest.approx(expected, abs=2e-5)
        sizes = [np.log1p((dense[i] > 0).sum()) for i in (a, b)]
        expected = [sizes[0] + sizes[1], abs(sizes[0] - sizes[1])]
        assert found[place, -2:] == pytest.approx(expected, abs=1e-6)
    assert found[pairs.edges, signals.shared].min() >= 0


def test_content_is_the_cosine_of_rare_words(ends: np.ndarray):
    words = sparse.random_array((NODES, 41), density=0.2, rng=np.random.default_rng(2))
    found = made(ends, SparseFeatures.from_scipy(words.astype(np.float32))).content
    dense = words.toarray() * -np.log(
        (words.toarray() > 0).mean(axis=0).clip(1 / NODES)
    )
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True).clip(min=1e-12)
    pairs = made(ends).pairs
    expected = (unit[pairs.a] * unit[pairs.b]).sum(axis=1)
    assert found[:, 0] == pytest.approx(expected, abs=1e-5)
    as_dense = made(ends, torch.from_numpy(words.toarray()).float()).content
    assert as_dense == pytest.approx(found, abs=1e-4)


def test_without_features_the_edges_are_left(ends: np.ndarray):
    signals = made(ends)
    found = signals.of_all(np.ones(ends.shape[1]))
    assert found.shape[1] == 8 and signals.of_content.shape[1] == 2
    assert (found[:, signals.shared] > 0).any()


def test_spectral_vectors_see_blocks_and_not_the_edge_itself():
    rng = np.random.default_rng(0)
    block = np.arange(400) % 2
    low, high = np.triu_indices(400, 1)
    chosen = rng.random(len(low)) < np.where(block[low] == block[high], 0.1, 0.01)
    ends = np.stack([low[chosen], high[chosen]])
    pairs = Pairs.of(ends, 400, np.random.default_rng(0))
    signals = Signals(ends, 400, None, pairs, np.full(400, -1), seed=0)
    cosine = signals.of_all(np.ones(ends.shape[1]))[:, 3]
    same = block[pairs.a] == block[pairs.b]
    here = np.arange(len(cosine)) >= pairs.any.start
    assert cosine[here & same].mean() > cosine[here & ~same].mean() + 0.1
    # Edges of one block look like other pairs of one block.
    edges = cosine[pairs.edges][same[pairs.edges]].mean()
    assert edges == pytest.approx(cosine[here & same].mean(), abs=0.1)
