import dataclasses

import numpy as np
import pytest
import torch

from sgat.data.synthetic import inject
from sgat.estimator import SGATClassifier
from sgat.judging import judge
from sgat_lab.attacks import ourselves
from sgat_lab.attacks.graphs import NoisyGraph
from sgat_lab.attacks.ourselves import Surrogate, attack, harm, likeness
from sgat_lab.synthetic.block_models import contextual_block_model

RATE = 0.2


def keys(given: NoisyGraph) -> torch.Tensor:
    """Keys of the wrong edges from the smaller to the larger node."""
    graph = given.data.graph
    return graph.keys[given.wrong & (graph.src < graph.dst)]


def removed(given: NoisyGraph) -> float:
    """Share of the wrong edges that the judge calls wrong."""
    data = given.data
    judged = judge(data.graph, data.x, data.y, train=data.train, seed=1)
    return float((judged.probability[given.wrong] <= 0.5).double().mean())


def quick(seed: int = 0, device: str = "cpu", fast: bool = True) -> SGATClassifier:
    """The classifier with few epochs."""
    return SGATClassifier(seed=seed, device=device, epochs=15, fast=True)


@pytest.fixture(scope="module", autouse=True)
def few_rounds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ourselves, "SGATClassifier", quick)
        patch.setattr(ourselves, "ROUNDS", 2)
        yield


@pytest.fixture(scope="module")
def data():
    return contextual_block_model(
        num_nodes=307,
        num_classes=3,
        degree=4.0,
        noise_rate=0.0,
        feature_signal=2.0,
        fractions=(0.2, 0.1, 0.7),
    ).data


@pytest.fixture(scope="module")
def attacked(data) -> NoisyGraph:
    return attack(data, RATE)


@pytest.fixture(scope="module")
def at_random(data) -> NoisyGraph:
    made = inject(data, "cross-class", RATE, 0)
    return NoisyGraph(made.data, made.added)


def test_the_budget_is_kept(data, attacked):
    assert len(keys(attacked)) == round(RATE * data.graph.num_edges / 2)
    assert int(attacked.wrong.sum()) == 2 * len(keys(attacked))


def test_new_edges_join_pairs_of_two_classes_that_no_edge_joined(data, attacked):
    graph, wrong = attacked.data.graph, attacked.wrong
    assert graph.num_nodes == data.num_nodes and graph.is_undirected
    assert len(graph.keys.unique()) == graph.num_edges
    assert torch.equal(graph.keys[~wrong], data.graph.keys)
    assert (data.y[graph.src[wrong]] != data.y[graph.dst[wrong]]).all()


def test_features_classes_and_roles_stay(data, attacked):
    for name in ("x", "y", "train", "val", "test"):
        assert torch.equal(getattr(attacked.data, name), getattr(data, name))


@pytest.mark.judged_anew
def test_the_same_seed_adds_the_same_edges(data, attacked):
    assert torch.equal(keys(attacked), keys(attack(data, RATE)))


def test_it_does_more_harm_than_random_edges(attacked, at_random):
    ours, others = (
        quick().fit(given.data).score(role="test") for given in (attacked, at_random)
    )
    assert ours < others - 0.05


def test_the_judge_finds_fewer_of_its_edges(attacked, at_random):
    assert removed(attacked) < removed(at_random) - 0.2


def test_harm_is_the_slope_of_the_loss(seed):
    """Compared with the change of P, scaled down so that the first order is all."""
    rng = np.random.default_rng(seed)
    number, classes = 11, 3
    ends = np.stack(np.triu_indices(number, 1))
    ends = ends[:, rng.permutation(ends.shape[1])[:17]]
    y, test = rng.integers(0, classes, number), rng.random(number) < 0.7
    surrogate = Surrogate(rng.standard_normal((number, classes)), 4, 0.15)
    matrix = np.eye(number)
    matrix[ends[0], ends[1]] = matrix[ends[1], ends[0]] = 1
    degree = matrix.sum(axis=1)
    walk = matrix / degree[:, None]

    def loss(walk):
        score = surrogate.scores(walk)[-1]
        own = score[np.arange(number), y]
        others = np.where(np.eye(classes, dtype=bool)[y], -np.inf, score).max(axis=1)
        tau = ourselves.SOFTNESS * np.median(np.abs(surrogate.own))
        return -np.tanh((own - others) / tau)[test].sum()

    found = harm(surrogate, ends, y, test)
    for u, v in ((0, 1), (2, 7), (9, 10)):
        change, small = np.zeros_like(walk), 1e-6
        for one, other in ((u, v), (v, u)):
            change[one] = (np.eye(number)[other] - walk[one]) / (degree[one] + 1)
        slope = (loss(walk + small * change) - loss(walk - small * change)) / 2 / small
        assert found[u, v] == pytest.approx(slope, abs=1e-6)


def test_pairs_of_one_class_look_more_like_edges(data):
    src, dst = data.graph.edge_index.numpy().astype(np.int64)
    ends = np.stack([src, dst])[:, src < dst]
    pairs = np.random.default_rng(0).integers(0, data.num_nodes, (2, 2000))
    y = data.y.numpy()
    found = likeness(pairs, ends, data.x, np.where(data.train, y, -1), 0)
    same = y[pairs[0]] == y[pairs[1]]
    assert np.median(found[same]) > np.median(found[~same])
    assert (found[~same] < 0).mean() > 0.8


def test_bad_input_is_one_sentence(data):
    with pytest.raises(ValueError, match="`rate` must be above 0, got 0"):
        attack(data, 0.0)
    untested = dataclasses.replace(data, test=torch.zeros_like(data.test))
    with pytest.raises(ValueError, match="and test nodes"):
        attack(untested, 0.1)
