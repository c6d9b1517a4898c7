"""Signals of pairs, against a dense graph from which edges are really removed."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import sparse

from sgat.features import SparseFeatures
from sgat.judging import signals as module
from sgat.judging.matrices import numbered
from sgat.judging.pairs import Pairs, draw_pairs
from sgat.judging.signals import OfEdges, Signals, edge_blocks

NODES = 23


@pytest.fixture
def ends() -> np.ndarray:
    rng = np.random.default_rng(3)
    low, high = np.triu_indices(NODES, 1)
    chosen = rng.random(len(low)) < 0.25
    return np.stack([low[chosen], high[chosen]])


def made(ends: np.ndarray, x=None, label=None, nodes=NODES):
    """Signals of a graph; its edges as pairs, swapped pairs and pairs of any nodes."""
    numbers = numbered(ends, nodes)
    drawn = draw_pairs(ends, numbers, np.random.default_rng(0))
    label = np.full(nodes, -1) if label is None else label
    every = Pairs.of_edges(ends, slice(0, ends.shape[1]))
    return Signals(ends, numbers, x, drawn, label, seed=0), (every, *drawn)


def without(ends: np.ndarray, weight: np.ndarray, pairs: Pairs, place: int):
    """The weighted adjacency matrix without the edges that a pair leaves out."""
    dense = np.zeros((NODES, NODES))
    dense[ends[0], ends[1]] = dense[ends[1], ends[0]] = weight
    if pairs.is_out and place >= 0:
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
    signals, kinds = made(ends, x, label if has_labels else None)
    u = signals.vector
    signals.weigh(weight)
    whole = without(ends, weight, kinds[0], -1)
    strength, degree = whole.sum(axis=1), (whole > 0).sum(axis=1)
    assert (signals.of_all(kinds[0])[:, signals.shared] >= 0).all()
    for pairs, place in itertools.product(kinds, (0, 1, 17, 19)):
        found = signals.of_all(pairs)
        assert found.shape == (len(pairs.a), 16 if has_labels else 13)
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


def test_content_is_the_cosine_of_rare_words(ends: np.ndarray):
    words = sparse.random_array((NODES, 41), density=0.2, rng=np.random.default_rng(2))
    x = SparseFeatures.from_scipy(words.astype(np.float32))
    signals, kinds = made(ends, x)
    dense = words.toarray() * -np.log(
        (words.toarray() > 0).mean(axis=0).clip(1 / NODES)
    )
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True).clip(min=1e-12)
    as_dense = made(ends, torch.from_numpy(words.toarray()).float())[0]
    for pairs in kinds:
        found = signals.of_content(pairs)
        expected = (unit[pairs.a] * unit[pairs.b]).sum(axis=1)
        assert found[:, 0] == pytest.approx(expected, abs=1e-5)
        assert as_dense.of_content(pairs) == pytest.approx(found, abs=1e-4)


def test_without_features_the_edges_are_left(ends: np.ndarray):
    signals, kinds = made(ends)
    signals.weigh(np.ones(ends.shape[1]))
    found = signals.of_all(kinds[0])
    assert found.shape[1] == 8 and signals.of_content(kinds[0]).shape[1] == 2
    assert (found[:, signals.shared] > 0).any()


def test_spectral_vectors_see_blocks_and_not_the_edge_itself():
    rng = np.random.default_rng(0)
    block = np.arange(400) % 2
    low, high = np.triu_indices(400, 1)
    chosen = rng.random(len(low)) < np.where(block[low] == block[high], 0.1, 0.01)
    ends = np.stack([low[chosen], high[chosen]])
    signals, (edges, _, anywhere) = made(ends, nodes=400)
    signals.weigh(np.ones(ends.shape[1]))
    same, cosine = (
        [part(pairs) for pairs in (edges, anywhere)]
        for part in (
            lambda pairs: block[pairs.a] == block[pairs.b],
            lambda pairs: signals.of_all(pairs)[:, 3],
        )
    )
    alike = [each[is_same].mean() for each, is_same in zip(cosine, same, strict=True)]
    assert alike[1] > cosine[1][~same[1]].mean() + 0.1
    # Edges of one block look like other pairs of one block.
    assert alike[0] == pytest.approx(alike[1], abs=0.1)


@pytest.mark.parametrize("is_kept", [True, False])
def test_signals_of_a_part_are_those_of_the_whole(ends, monkeypatch, is_kept: bool):
    count, made_of = ends.shape[1], []
    monkeypatch.setattr(module, "EDGES_AT_ONCE", 17)
    monkeypatch.setattr(module, "KEPT", count if is_kept else count - 1)
    x = torch.randn(NODES, 5, generator=torch.Generator().manual_seed(1))
    signals, (every, *_) = made(ends, x)
    signals.weigh(np.ones(count))

    def make(rows):
        made_of.append(rows)
        return signals.of_all(Pairs.of_edges(ends, rows))

    lazy, whole = OfEdges(make, count, signals.blocks()), signals.of_all(every)
    parts = np.concatenate([lazy[rows] for rows in edge_blocks(count)])
    some = np.array([5, 3, 40])
    assert len(lazy) == count > 3 * 17
    assert parts == pytest.approx(whole, abs=1e-6)
    assert lazy[some] == pytest.approx(whole[some], abs=1e-6)
    # What is kept is made once; of the rest nothing is.
    assert len(made_of) == len([*edge_blocks(count)]) + (not is_kept)
