"""Verdicts on graphs with wrong edges of every kind, and on graphs with none."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from support.small_data import block_graph

from sgat.data.synthetic import inject
from sgat.judging import judge
from sgat.judging.verdict import (
    FEWEST_EDGES,
    REASONS,
    _in_rings,
    assess,
)
from sgat_lab.synthetic.block_models import contextual_block_model

CLEAN, SPARSE = (
    contextual_block_model(
        num_nodes=1009,
        num_classes=20,
        degree=degree,
        noise_rate=0.0,
        feature_signal=3.0,
        num_features=23,
        seed=3,
    ).data
    for degree in (14.0, 6.0)
)


def calibration_error(probability: np.ndarray, truth: np.ndarray) -> float:
    parts = np.array_split(np.argsort(probability), 10)
    gaps = [abs(probability[part].mean() - truth[part].mean()) for part in parts]
    return float(np.mean(gaps))


@pytest.mark.parametrize(
    ("kind", "rate"),
    [("random", 0.1), ("random", 1.0), ("cross-class", 0.5), ("hub", 1.0)],
)
def test_wrong_edges_of_every_kind_are_found_and_counted(kind: str, rate: float):
    noisy = inject(CLEAN, kind, rate, seed=1)
    found = judge(noisy.data.graph, CLEAN.x, CLEAN.y, train=CLEAN.train)
    real = (~noisy.added).numpy()
    # One in twenty random pairs joins one class, as real edges do.
    share = rate / (1 + rate) * (0.95 if kind == "random" else 1)
    assert found.noise_share == pytest.approx(share, abs=0.03 if share < 0.1 else 0.05)
    assert roc_auc_score(real, found.graph.log_odds) > 0.93
    if rate < 1 or kind == "hub":
        assert calibration_error(found.probability.double().numpy(), real) < 0.06


def test_edges_aimed_at_labelled_nodes_are_found():
    rng = np.random.default_rng(0)
    label = CLEAN.y.numpy()
    known = np.flatnonzero(CLEAN.train.numpy())[:100]
    train = torch.zeros(1009, dtype=torch.bool)
    train[known] = True
    a, b = rng.choice(known, 4001), rng.integers(0, 1009, 4001)
    other = label[a] != label[b]
    edges = torch.from_numpy(np.stack([a[other][:1500], b[other][:1500]]))
    graph = CLEAN.graph
    joined = torch.cat([graph.edge_index, edges, edges.flip(0)], dim=1)
    attacked = type(graph).from_edges(joined, 1009, say_merged=False)
    is_new = torch.from_numpy(~np.isin(attacked.keys.numpy(), graph.keys.numpy()))
    with_labels = judge(attacked, CLEAN.x, CLEAN.y, train=train)
    assert roc_auc_score(~is_new, with_labels.graph.log_odds) > 0.95
    assert with_labels.noise_share == pytest.approx(
        float(is_new.float().mean()), abs=0.05
    )


def test_clean_graphs_have_next_to_no_wrong_edges():
    for x in (CLEAN.x, None):
        found = judge(CLEAN.graph, x)
        assert found.noise_share < 0.03
        assert (found.probability > 0.5).float().mean() > 0.98


def test_the_labels_of_other_nodes_are_not_looked_at():
    small = block_graph(num_nodes=101, noise_rate=0.4)
    hidden = torch.where(small.train, small.y, (small.y + 1) % 3)
    one, other = (
        judge(small.graph, small.x, y, train=small.train) for y in (small.y, hidden)
    )
    assert torch.equal(one.graph.log_odds, other.graph.log_odds)


def test_too_few_edges_are_left_alone():
    ends = np.stack([np.arange(FEWEST_EDGES - 1), np.arange(1, FEWEST_EDGES)])
    found = assess(ends, FEWEST_EDGES, None, np.full(FEWEST_EDGES, -1))
    assert (found.wrong < 0.01).all()
    assert {REASONS[place] for place in found.reason} == {"too few edges to tell"}


@pytest.mark.parametrize("kind", ["star", "chain", "complete"])
def test_awkward_graphs_get_finite_verdicts(kind: str):
    number = 61
    every = np.arange(1, number)
    ends = {
        "star": np.stack([np.zeros_like(every), every]),
        "chain": np.stack([every - 1, every]),
        "complete": np.stack(np.triu_indices(number, 1)),
    }[kind]
    x = torch.randn(number, 3, generator=torch.Generator().manual_seed(0))
    for features in (x, torch.ones(number, 2), None):
        found = assess(ends, number, features, np.arange(number) % 3 - 1)
        assert np.isfinite(found.wrong).all() and found.wrong.shape == (ends.shape[1],)
        assert ((found.wrong >= 0) & (found.wrong <= 1)).all()
        assert found.reason.max() < len(REASONS)


def test_dense_features_of_one_value_say_nothing():
    same = dataclasses.replace(CLEAN, x=torch.ones(1009, 3))
    found = judge(same.graph, same.x)
    assert found.noise_share < 0.05


@pytest.mark.parametrize("drawn", [1, 2])
def test_edges_at_hubs_rank_low_where_neither_features_nor_scores_tell(drawn: int):
    # The degrees of their ends make trees find such edges real: AUC was 0.81 and 0.77.
    noisy = inject(SPARSE, "hub", 0.1, seed=drawn)
    found = judge(noisy.data.graph)
    assert roc_auc_score(~noisy.added, found.graph.log_odds) > 0.815


def test_rings_of_wrong_edges_do_not_speak_for_each_other():
    # Fourteen rings, each of ten nodes that are all joined: they share neighbours.
    rng = np.random.default_rng(5)
    low, high = np.triu_indices(10, 1)
    rings = [rng.choice(1009, 10, replace=False) for _ in range(14)]
    added = np.concatenate([np.stack([ring[low], ring[high]]) for ring in rings], 1)
    edges = torch.from_numpy(added)
    joined = torch.cat([SPARSE.graph.edge_index, edges, edges.flip(0)], dim=1)
    graph = type(SPARSE.graph).from_edges(joined, 1009, say_merged=False)
    is_real = np.isin(graph.keys.numpy(), SPARSE.graph.keys.numpy())
    found = judge(graph, SPARSE.x)
    assert roc_auc_score(is_real, found.graph.log_odds) > 0.82
    assert found.noise_share > 0.02


def test_no_rings_are_seen_where_features_do_not_tell():
    # Nearly as many unlike edges as unlike pairs, and a few more with neighbours.
    rng = np.random.default_rng(6)
    shared = np.arange(6007) % 2 == 0
    doubt = rng.random(6007)
    for shift, is_seen in ((0.3, False), (1.5, True)):
        score = rng.standard_normal(6007) + np.where(shared, 0.0, shift)
        assert (_in_rings(score, doubt, shared).sum() > 0) == is_seen
