"""Sums of leaves found by bits, against trees that are walked."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from support.device_arrays import there
from support.triton_device import needs_triton

from sgat.judging import contrast
from sgat.ops.device_array import host
from sgat.ops.tree_scores import tree_scores


def a_wood(number: int, seed: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Rows and trees, and the scores of the rows by walking the trees."""
    rng = np.random.default_rng(seed)
    signals = rng.integers(-3, 4, (number, 5)).astype(np.float32)
    part = rng.integers(0, 2, number).astype(np.uint8)
    cuts = np.full((2, 5, 63), np.inf, dtype=np.float32)
    cuts[..., :2] = -1, 1
    # Tree t of set s asks for signal t % 5: two leaves, parted at level s + 1.
    reach = np.full((2, 5, 64, 16), 3, dtype=np.uint8)
    value = rng.standard_normal((2, 16, 256))
    for s, t in np.ndindex(2, 16):
        reach[s, t % 5, : s + 1, t], reach[s, t % 5, s + 1 :, t] = 1, 2
    wanted = np.zeros(number)
    for t in range(16):
        is_above = signals[:, t % 5] > np.where(part, 1, -1)
        wanted += value[part, t, np.where(is_above, 2, 1)]
    return (signals, part, cuts, reach, value), wanted


@pytest.mark.parametrize("number", [0, 1, 211, 40_009])
def test_the_one_leaf_left_open_counts(number: int, seed: int):
    given, wanted = a_wood(number, seed)
    assert np.allclose(tree_scores(*given), wanted, atol=1e-12)


@needs_triton[0]
@needs_triton[1]
@pytest.mark.parametrize("number", [0, 1, 211])
def test_the_one_leaf_left_open_counts_on_a_gpu(number: int, seed: int):
    (signals, part, *trees), wanted = a_wood(number, seed)
    found = tree_scores(there(signals), there(part), *trees)
    assert np.allclose(host(found), wanted, atol=1e-12)


@pytest.mark.parametrize("trees", [7, 12, 40])
def test_scores_are_those_of_scikit_learn(trees: int, seed: int, monkeypatch):
    rng = np.random.default_rng(seed)
    signals = rng.standard_normal((6007, 5)).astype(np.float32)
    signals[:, 1] = signals[:, 1].round()
    is_edge = signals @ rng.random(5) + rng.standard_normal(6007) > 0
    grown = []

    class Kept(HistGradientBoostingClassifier):
        def fit(self, *given):
            grown.append(self)
            return super().fit(*given)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingClassifier", Kept)
    rise = [1, 1, -1, 0, 0]
    heed = rng.random(6007)
    found = contrast._grow(signals, is_edge, heed, trees=trees, rise=rise)
    score = tree_scores(signals, np.zeros(6007, np.uint8), *(p[None] for p in found))
    cuts = [contrast._cuts(column, heed) for column in signals.T]
    wanted = grown[0].decision_function(contrast._levels(signals, cuts))
    assert np.allclose(score, wanted, atol=1e-9)
