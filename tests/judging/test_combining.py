"""P(wrong) of edges, from the shares of each kind of wrong edges."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sgat.judging import shares
from sgat.judging.combining import NOTHING_COUNTED, Findings, combine, share_apart
from sgat.judging.contrast import normal_scores
from sgat.judging.suspicion import fit_prior


@pytest.mark.parametrize("does_score_tell", [False, True])
def test_where_nothing_is_counted_scores_and_suspicion_order_the_edges(
    seed: int, does_score_tell: bool
):
    # Real edges look like swapped pairs, so none that look so are counted. Wrong ones
    # are at hubs: trees that know degrees find them less like any pair than real ones.
    # Where scores tell nothing else, a plain likeness stands in for these trees.
    rng = np.random.default_rng(seed)
    is_wrong = np.arange(4007) < 401
    score = rng.standard_normal(4007) + np.where(is_wrong, 0.0, 0.7)
    at_hub, plain = 2.8 if does_score_tell else 4.0, rng.standard_normal(4007) + 0.6
    loose = rng.standard_normal(4007) / 2 + np.where(is_wrong, at_hub, 2.5)
    suspect = rng.standard_normal(4007) + np.where(is_wrong, 2.0, 0.0)
    nothing, flat = np.zeros(4007), np.zeros((4007, 0))
    by_traits = shares.low_end(score, flat, np.ones(4007, dtype=bool))
    if does_score_tell:
        by_traits = by_traits._replace(separation=shares.USEFUL[1], trust=0.0)
    group = np.zeros(4007, dtype=np.int64)
    wrong = combine(
        Findings(
            *(score, score, loose, nothing - 3.0, by_traits, group, suspect),
            ring=nothing,
            plain=plain,
            unshared=None,
        )
    )
    assert wrong.mean() < NOTHING_COUNTED
    assert roc_auc_score(is_wrong, -loose) < 0.4
    assert roc_auc_score(is_wrong, wrong) > 0.65


@pytest.mark.parametrize("at_hubs", [0.0, 0.7])
def test_edges_at_hubs_are_counted_where_real_ones_look_like_them(at_hubs: float):
    rng = np.random.default_rng(0)
    degrees = abs(rng.standard_normal((9001, 2)))
    is_wrong = rng.random(9001) < at_hubs * (degrees[:, 1] > 1)
    score = rng.standard_normal(9001) + np.where(is_wrong, 0.0, 1.2)
    loose = rng.standard_normal(9001) / 2 + 2.6
    nothing, everywhere = np.zeros(9001), np.ones(9001, dtype=bool)
    by_traits = shares.low_end(score, degrees - degrees.mean(axis=0), everywhere)
    prior = fit_prior(score, degrees)
    group = np.zeros(9001, dtype=np.int64)
    wrong = combine(
        Findings(
            *(score, score, loose, prior, by_traits, group, nothing),
            ring=nothing,
            plain=nothing,
            unshared=None,
        )
    )
    assert by_traits.separation < shares.USEFUL[0]
    assert wrong.mean() == pytest.approx(is_wrong.mean(), abs=0.05)
    if at_hubs:
        assert roc_auc_score(is_wrong, wrong) > 0.85
    else:
        assert wrong.mean() < NOTHING_COUNTED


@pytest.mark.parametrize("keeps_away", [False, True])
def test_wrong_edges_that_keep_away_from_alike_pairs_are_not_counted_too_often(
    keeps_away: bool,
):
    # Pairs of like classes, a third of all, have higher scores than others.
    rng = np.random.default_rng(0)
    pairs_alike = rng.random(20_011) < 1 / 3
    pairs = rng.standard_normal(20_011) + 1.5 * pairs_alike
    is_wrong, alike = rng.random(9001) < 0.4, rng.random(9001) < 0.9
    alike[is_wrong] = (rng.random(is_wrong.sum()) < 1 / 3) & (not keeps_away)
    score = rng.standard_normal(9001) + 1.5 * alike + np.where(is_wrong, 0.0, 3.0)
    apart = share_apart(score, pairs, alike, pairs_alike)
    assert apart == pytest.approx(is_wrong.mean(), abs=0.03)
    one, everywhere = np.zeros((9001, 0)), np.ones(9001, dtype=bool)
    together = shares.low_end(normal_scores(score, pairs), one, everywhere)
    if keeps_away:
        assert together.share.mean() > is_wrong.mean() + 0.04
    # With too few of a kind they are not counted apart.
    assert share_apart(score, pairs, alike & False, pairs_alike) is None


def test_a_count_by_classes_takes_no_more_than_a_tenth_off(seed: int):
    # Wrong edges that an attack made keep away from no part: counted apart, most of
    # them were missing on Pubmed.
    rng = np.random.default_rng(seed)
    is_wrong = rng.random(6007) < 0.3
    score = rng.standard_normal(6007) + np.where(is_wrong, 0.0, 3.0)
    nothing, flat = np.zeros(6007), np.zeros((6007, 0))
    by_traits = shares.low_end(score, flat, np.ones(6007, dtype=bool))
    group = np.zeros(6007, dtype=np.int64)
    wrong = combine(
        Findings(
            *(score, score, score, nothing - 1.0, by_traits, group, nothing),
            ring=nothing,
            plain=nothing,
            unshared=None,
            by_class=0.05,
        )
    )
    assert wrong.mean() == pytest.approx(0.9 * 0.3, abs=0.03)
