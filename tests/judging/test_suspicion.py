"""Suspicion against nodes, and the prior log-odds that an edge is wrong."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit

from sgat.judging import suspicion as module
from sgat.judging.suspicion import fit_prior, suspicion


def test_suspicion_is_of_the_other_edges_at_both_ends():
    ends = np.array([[0, 0, 0, 4], [1, 2, 3, 5]])
    wrong = np.array([0.0, 1.0, 1.0, 0.0])
    found = suspicion(ends, 6, wrong)
    # The others at node 0 are wrong; of one of those, half of the others is.
    assert found[0, 0] > found[1, 0] and found[1] == pytest.approx(found[2])
    assert found[3] == pytest.approx([0, 0], abs=0.01)
    even = suspicion(ends, 6, np.full(4, 0.3))
    assert even == pytest.approx(0, abs=0.01)


def test_the_prior_goes_by_the_traits_of_unlike_edges(monkeypatch):
    rng = np.random.default_rng(1)
    trait = rng.integers(0, 2, 20_011)
    wrong = rng.random(20_011) < np.where(trait == 1, 0.5, 0.05)
    score = rng.standard_normal(20_011) + 3 * ~wrong
    slopes, minimise = [], module.minimise

    def check(loss, start):
        at = start + np.linspace(-0.3, 0.4, len(start))
        error = check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], at)
        slopes.append(error / np.linalg.norm(loss(at)[1]))
        return minimise(loss, start)

    monkeypatch.setattr(module, "minimise", check)
    prior = fit_prior(score, trait[:, None] - 0.5)
    assert expit(prior)[trait == 1].mean() == pytest.approx(0.5, abs=0.06)
    assert expit(prior)[trait == 0].mean() < 0.08
    assert len(slopes) == 1 and slopes[0] < 1e-4
