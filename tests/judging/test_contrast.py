"""Scores that tell edges from pairs, and where they stand among pairs."""

import contextlib
import time
import warnings
from threading import get_ident

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from sgat.judging import contrast as module
from sgat.judging.contrast import contrast, normal_scores, normal_scores_by_degree


def drawn(number: int, shift: float, seed: int) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((number, 4))
    found[:, 0] += shift
    return found


def test_edges_are_told_from_pairs_out_of_sample():
    rng = np.random.default_rng(0)
    edges, pairs = contrast(
        drawn(2003, 1.5, 1), drawn(3001, 0.0, 2), rng, trees=20, num_free=2
    )
    is_edge = np.arange(5004) < 2003
    found = roc_auc_score(is_edge, np.concatenate([edges, pairs]))
    assert found == pytest.approx(0.855, abs=0.03)
    # Where there is nothing to learn, no edge is known by heart.
    edges, pairs = contrast(
        drawn(2003, 0.0, 3), drawn(3001, 0.0, 4), rng, trees=20, num_free=2
    )
    found = roc_auc_score(is_edge, np.concatenate([edges, pairs]))
    assert found == pytest.approx(0.5, abs=0.03)


def test_scores_rise_with_likeness_and_classes_may_go_either_way():
    # Edges that are less alike than pairs: a signal of classes shows it, others cannot.
    for place, least, most in ((1, 0.7, 1.0), (0, 0.4, 0.6)):
        rng = np.random.default_rng(0)
        edges, pairs = rng.standard_normal((2, 2003, 4))
        edges[:, place] -= 1
        found = np.concatenate(contrast(edges, pairs, rng, trees=20, num_free=3))
        assert least < roc_auc_score(np.arange(4006) < 2003, found) < most


def test_signals_of_classes_go_one_way_alone():
    # Few edges where classes agree a little: still no higher where they agree less.
    rng = np.random.default_rng(1)
    edges, pairs = rng.uniform(-1, 1, (2, 4001, 3))
    edges[:, 0] = np.where(rng.random(4001) < 0.7, 0.9, -0.9)
    found, _ = contrast(edges, pairs, rng, trees=20, num_free=3)
    assert found[edges[:, 0] > 0].min() > found[edges[:, 0] < 0].max() - 2
    assert found[edges[:, 0] > 0].mean() > found[edges[:, 0] < 0].mean()


def test_many_edges_are_sampled_and_all_are_scored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_EDGES", 501)
    rng = np.random.default_rng(0)
    edges, pairs = contrast(
        drawn(4001, 2.0, 1), drawn(2003, 0.0, 2), rng, trees=20, num_free=2
    )
    assert len(edges) == 4001 and (edges > np.median(pairs)).mean() > 0.85


def test_normal_scores_of_pairs_are_normal():
    rng = np.random.default_rng(0)
    found = normal_scores(rng.exponential(size=3001), rng.exponential(size=5003))
    assert kstest(found, "norm").pvalue > 0.01
    assert np.array_equal(
        normal_scores(np.array([-1.0, 9.0]), np.arange(9.0)).argsort(), [0, 1]
    )


def test_scores_are_next_to_pairs_with_such_degrees():
    rng = np.random.default_rng(0)
    degree = rng.uniform(0, 5, (8003, 2))
    score = 3 * degree[:, 0] + rng.standard_normal(8003)
    found = normal_scores_by_degree(
        score[:3001], score[3001:], degree[:3001], degree[3001:]
    )
    assert abs(np.corrcoef(found, degree[:3001, 0])[0, 1]) < 0.6
    plain = normal_scores(score[:3001], score[3001:])
    assert np.corrcoef(plain, degree[:3001, 0])[0, 1] > 0.9
    assert found.std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("kind", ["many values", "few values", "one value"])
def test_levels_are_quantiles_by_weight_or_the_values_themselves(kind: str):
    rng = np.random.default_rng(0)
    value = rng.standard_normal(5003).astype(np.float32)
    if kind != "many values":
        value = np.round(value) if kind == "few values" else np.ones_like(value)
    weight = rng.random(5003) ** 3
    levels = module._levels(value[:, None], [module._cuts(value, weight)])[:, 0]
    if kind != "many values":
        assert np.array_equal(levels, np.unique(value, return_inverse=True)[1])
        return
    shares = np.bincount(levels.astype(int), weights=weight) / weight.sum()
    assert len(shares) == module.LEVELS
    assert np.allclose(shares, 1 / module.LEVELS, atol=2 / weight.sum())
    assert (np.diff(levels[np.argsort(value)]) >= 0).all()


def test_edges_that_are_hardly_real_teach_little():
    rng = np.random.default_rng(4)
    pairs = rng.standard_normal((4001, 3))
    edges = rng.standard_normal((4001, 3))
    wrong = np.arange(4001) % 2 == 0
    edges[~wrong, 0] += 2
    # The second signal stands out for wrong edges alone.
    edges[wrong, 1] += 2
    gaps = []
    for doubt in (None, wrong.astype(np.float32)):
        scores, _ = contrast(
            edges, pairs, np.random.default_rng(0), trees=20, num_free=2, doubt=doubt
        )
        gaps.append(scores[~wrong].mean() - scores[wrong].mean())
    assert gaps[1] > gaps[0] + 0.5


def test_threads_do_not_touch_the_warning_filters_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    # scikit-learn changes them for a moment while it checks its input and bins it.
    inside, overlaps = [], []
    enter, leave = warnings.catch_warnings.__enter__, warnings.catch_warnings.__exit__

    def entered(self):
        inside.append(get_ident())
        time.sleep(0.01)
        overlaps.append(len(set(inside)) > 1)
        return enter(self)

    def left(self, *error):
        inside.remove(get_ident())
        return leave(self, *error)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", entered)
    monkeypatch.setattr(warnings.catch_warnings, "__exit__", left)
    rng = np.random.default_rng(0)
    contrast(drawn(503, 1.5, 1), drawn(701, 0.0, 2), rng, trees=2, num_free=2)
    assert len(overlaps) > 10 and not any(overlaps)


def test_the_next_contrast_does_not_wait_for_one_that_failed():
    edges = drawn(503, 1.5, 1)
    edges[:, 0] = np.nan
    for _ in range(2):
        with contextlib.suppress(ValueError):
            contrast(edges, edges, np.random.default_rng(0), trees=2, num_free=2)
    pairs = drawn(701, 0.0, 2)
    contrast(pairs, pairs, np.random.default_rng(0), trees=2, num_free=2)
