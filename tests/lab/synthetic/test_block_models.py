import pytest
import torch
from sklearn.metrics import roc_auc_score

from sgat.data.synthetic import contextual_block_model
from sgat_lab.synthetic.block_models import BLOCK_MODELS, auc_ceiling, block_model


@pytest.mark.parametrize("name", BLOCK_MODELS)
def test_the_planted_share_is_exact(name, seed):
    made = block_model(name, seed, noise_rate=0.3, feature_signal=1.0)
    graph, y = made.data.graph, made.data.y
    assert made.is_signal.double().mean() == pytest.approx(0.7, abs=1e-3)
    assert bool((y[graph.dst] == y[graph.src])[made.is_signal].all())
    assert made.data.num_classes == BLOCK_MODELS[name]["num_classes"]


def test_few_labels_are_a_tenth():
    made = block_model("block-20-few", 0, noise_rate=0.3, feature_signal=1.0)
    assert int(made.data.train.sum()) == 100


def test_shuffling_deals_the_same_labels_out_anew_and_changes_nothing_else(seed):
    given = contextual_block_model(noise_rate=0.5, feature_signal=0.0, seed=seed)
    made = block_model(
        "block-5", seed, noise_rate=0.5, feature_signal=0.0, shuffled=True
    )
    assert torch.equal(made.data.x, given.data.x)
    assert torch.equal(made.data.graph.src, given.data.graph.src)
    assert torch.equal(made.is_signal, given.is_signal)
    assert torch.equal(made.data.y.bincount(), given.data.y.bincount())
    assert (made.data.y == given.data.y).double().mean() < 0.3
    y, graph = made.data.y, made.data.graph
    alike = (y[graph.dst] == y[graph.src])[made.is_signal].double().mean()
    assert alike == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("name", BLOCK_MODELS)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_who_knows_the_classes_reaches_the_ceiling(name, share):
    seeds, ceiling = range(20), auc_ceiling(name, share)
    found, pairs = [], 0
    for seed in seeds:
        made = block_model(name, seed, noise_rate=share, feature_signal=0.0)
        graph, y = made.data.graph, made.data.y
        alike = y[graph.dst] == y[graph.src]
        found.append(roc_auc_score(made.is_signal, alike))
        pairs += int((~made.is_signal).sum()) // 2
    inside = 2 * (1 - ceiling)
    error = (inside * (1 - inside) / pairs) ** 0.5 / 2
    assert sum(found) / len(seeds) == pytest.approx(ceiling, abs=4 * error)
