"""Shares of wrong edges, from scores whose truth is known."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from sgat.judging import shares


def scores(share: float, number: int = 20_011, seed: int = 0, shift: float = 2.5):
    """Scores of edges of which a share is wrong, and which are."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(number) < share
    return rng.standard_normal(number) + shift * ~wrong, wrong


def low_end(score, traits=None) -> shares.LowEnd:
    """The low end with one share for all, or with shares by traits."""
    given = np.zeros((len(score), 0)) if traits is None else traits
    return shares.low_end(score, given, np.ones(len(score), dtype=bool))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6])
def test_the_low_end_shows_the_share_of_wrong_edges(share: float):
    score, _ = scores(share)
    found = low_end(score)
    assert found.share == pytest.approx(share, abs=0.03)
    assert found.tail < 0.1
    assert found.separation == pytest.approx(2.5, abs=0.35)
    assert found.trust == pytest.approx(float(share > 0), abs=0.02)


def test_edges_that_look_like_pairs_of_nodes_are_not_counted():
    # Real edges that are hardly more alike than pairs: many at the low end, sloping.
    score, _ = scores(0.0, shift=1.0)
    found = low_end(score)
    assert found.trust == 0 and found.separation < shares.USEFUL[0]


def test_shares_of_edges_that_hardly_outdo_pairs_fade():
    # From 0.54 to 0.64 of the pairs are outdone, by more and more real edges.
    trust = [low_end(scores(share)[0]).trust for share in np.linspace(0.92, 0.72, 21)]
    assert trust[0] == 0 and trust[-1] > 0.9
    assert np.abs(np.diff(trust)).max() < 0.3


def test_few_edges_prove_little():
    few, more, many = (low_end(scores(0.2, number)[0]) for number in (19, 401, 7001))
    assert few.trust < more.trust < many.trust
    assert few.trust == 0 and many.trust > 0.99


def test_the_separation_of_few_edges_counts_less():
    # As of Texas: whether real edges stand clear of pairs changed with the seed.
    rng = np.random.default_rng(0)
    found = [low_end(rng.standard_normal(277) + 2.2) for _ in range(40)]
    errors = [each.error for each in found]
    spread = np.std([each.separation for each in found])
    assert spread < np.mean(errors) < 4 * spread
    assert np.mean([each.useful for each in found]) < 0.6
    assert low_end(rng.standard_normal(20_011) + 2.2).useful == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_graph_may_have_real_edges_that_look_wrong_by_their_traits(seed: int):
    # As on small graphs of web pages: the more edges a page has, the less they tell.
    rng = np.random.default_rng(seed)
    trait = rng.standard_normal((301, 2))
    score = rng.standard_normal(301) + 2 + 0.5 * trait[:, 0]
    found = low_end(score, trait)
    assert (found.share * found.trust).mean() < 0.03


def test_losses_have_the_slopes_that_they_say(monkeypatch):
    checked = []
    minimise = shares.minimise

    def check(loss, start):
        at = start + np.linspace(-0.3, 0.4, len(start))
        error = check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], at)
        checked.append(error / np.linalg.norm(loss(at)[1]))
        return minimise(loss, start)

    monkeypatch.setattr(shares, "minimise", check)
    score, _ = scores(0.3, 997)
    traits = np.random.default_rng(3).standard_normal((997, 2))
    shares.likelihood(score, traits[:, 0])
    low_end(score, traits)
    low_end(score)
    assert len(checked) == 13 and max(checked) < 1e-4


def test_real_edges_may_look_as_wrong_as_any():
    score, _ = scores(0.1)
    wrong = expit(-2 - 2.5 * score + 2.5**2 / 2)
    found = shares.with_doubt(wrong, wrong.sum(), score, 0.0)
    assert found.sum() == pytest.approx(wrong.sum(), rel=1e-3)
    share = wrong.mean()
    assert found.max() == pytest.approx(share / (share + shares.ODD), abs=0.01)
    assert (np.diff(found[np.argsort(score)]) <= 0).all()
    # Where hardly any edge is wrong, none is likely to be.
    found = shares.with_doubt(wrong / 100, wrong.sum() / 100, score, 0.0)
    assert found.max() < 0.2


def test_plain_likeness_changes_the_order_of_probabilities_and_not_their_values():
    score, is_wrong = scores(0.2, shift=1.0)
    likeness = np.random.default_rng(1).standard_normal(len(score)) - is_wrong
    wrong = expit(-1.5 - score)
    found, other = (
        shares.with_doubt(wrong, wrong.sum(), likeness, weight) for weight in (1.0, 0.0)
    )
    assert np.sort(found) == pytest.approx(np.sort(other), abs=1e-4)
    assert roc_auc_score(is_wrong, found) > roc_auc_score(is_wrong, other) + 0.05


def test_shares_may_differ_by_traits():
    rng = np.random.default_rng(1)
    trait = rng.integers(0, 2, 20_011)
    wrong = rng.random(20_011) < np.where(trait == 1, 0.5, 0.05)
    score = rng.standard_normal(20_011) + 3 * ~wrong
    end = low_end(score, trait[:, None] - 0.5)
    found, trust = end.share, end.trust
    assert trust > 0.99
    assert found[trait == 1].mean() == pytest.approx(0.5, abs=0.06)
    assert found[trait == 0].mean() == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_what_edges_at_hubs_have_beyond_others_is_wrong(share: float):
    # Real edges look so much like pairs that the share of all edges says little.
    rng = np.random.default_rng(2)
    degrees = rng.standard_normal((20_011, 2)) * (1.0, 0.7)
    degrees[:, 1] = abs(degrees[:, 1])
    wrong = rng.random(20_011) < share * (degrees[:, 1] > 0.6)
    score = rng.standard_normal(20_011) + (1.3 + 0.2 * degrees[:, 0]) * ~wrong
    found = low_end(score, degrees - degrees.mean(axis=0))
    assert found.separation < shares.USEFUL[0]
    assert found.excess.min() >= 0
    if share:
        assert found.excess.mean() == pytest.approx(wrong.mean(), abs=0.04)
        assert found.excess[wrong].mean() > 2 * found.excess[~wrong].mean()
    else:
        assert found.excess.mean() < shares.USUAL_EXCESS


def test_the_likelihood_is_that_of_two_normal_distributions():
    score, wrong = scores(0.3)
    prior = np.full(len(score), np.log(0.3 / 0.7))
    found = shares.likelihood(score, prior)
    exact = 2.5 * score - 2.5**2 / 2
    here = (score > -1) & (score < 3)
    assert np.abs(found - exact)[here].mean() < 0.5
    probability = expit(prior - found)
    assert probability.mean() == pytest.approx(0.3, abs=0.02)
    order = np.argsort(score)
    assert (np.diff(found[order]) >= -1e-9).all()
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (probability >= low) & (probability < low + 0.2)
        if inside.sum() > 200:
            assert wrong[inside].mean() == pytest.approx(
                probability[inside].mean(), abs=0.1
            )


def test_the_prior_is_shifted_to_an_expected_number():
    score, _ = scores(0.3)
    prior = np.zeros(len(score))
    likely = shares.likelihood(score, prior)
    for number in (1.0, 500.0, 9000.0):
        found = shares.with_share(likely, prior, number)
        assert expit(found - likely).sum() == pytest.approx(number, rel=1e-3)


@pytest.mark.parametrize("middle", [-1.0, 0.0, 0.3])
def test_edges_below_a_valley_are_counted_as_they_are(middle: float):
    # Wrong edges may be more, or less, unlike than pairs.
    rng = np.random.default_rng(0)
    wrong = rng.random(20_011) < 0.2
    score = 0.45 * rng.standard_normal(20_011) + np.where(wrong, middle, 2.6)
    assert shares.below_valley(score) == pytest.approx(0.2, abs=0.02)
    together = low_end(score).share.mean()
    assert abs(together - 0.2) > (0.05 if middle else 0)


def test_without_a_valley_nothing_is_below(seed: int):
    assert shares.below_valley(scores(0.2, 9001, seed, shift=1.5)[0]) is None
    assert shares.below_valley(scores(0.0, 9001, seed)[0]) is None
    # Real edges that look like pairs make one further up, few edges one by chance.
    assert shares.below_valley(scores(0.2, 9001, seed, shift=4.5)[0] + 0.5) is None
    assert shares.below_valley(scores(0.2, 307, seed, shift=4.0)[0]) is None


def test_groups_with_more_unlike_edges_have_wrong_ones():
    rng = np.random.default_rng(2)
    group = rng.choice(3, 9001, p=[0.6, 0.3, 0.1])
    share = np.array([0.0, 0.5, 0.8])[group]
    wrong = rng.random(9001) < share
    # Of the real edges of every group a fifth is as unlike as wrong ones.
    unlike = wrong | (rng.random(9001) < 0.2)
    score = rng.standard_normal(9001) + 4 * ~unlike
    found = shares.excess(score, group)
    assert found == pytest.approx([0, 0.5, 0.8], abs=0.08)
    assert not shares.excess(score, np.ones(9001, dtype=int)).any()
    even = rng.standard_normal(9001) + 4 * (rng.random(9001) > 0.2)
    assert shares.excess(even, group).max() < 0.05
    # Of few edges, most of what one group has more is chance.
    few = [slice(start, start + 600) for start in range(0, 9000, 600)]
    chance = [shares.excess(even[part], group[part]).any() for part in few]
    assert len(chance) == 15 and sum(chance) <= 3
