"""Edges as a mixture of real ones and noise, against data drawn from that model."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit
from torch import Tensor

from sgat.judging.mixture import (
    KNOWN_EDGES,
    KNOWN_RIDGE,
    PRIOR,
    RANGE,
    RIDGE,
    Mixture,
    fit_mixture,
)


def drawn(
    noise_share: float, *, number: int = 20_011, shift: float = 2.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Features of edges and of random pairs, and which edges are real.

    Random pairs are standard normal in 3 columns; real edges are moved by `shift` along
    the first and by -1 along the second. So η = shift φ₀ - φ₁ - (shift² + 1) / 2.
    """
    is_real = torch.rand(number) >= noise_share
    edges, pairs = torch.randn(2, number, 3)
    edges += is_real[:, None] * torch.tensor([shift, -1.0, 0.0])
    return edges, pairs, is_real


def true_odds(features: Tensor, noise_share: float, shift: float = 2.0) -> Tensor:
    tilt = shift * features[:, 0] - features[:, 1] - (shift**2 + 1) / 2
    return tilt + math.log((1 - noise_share) / noise_share)


@pytest.mark.parametrize("noise_share", [0.05, 0.3, 0.5, 0.8])
def test_the_share_of_noise_and_the_odds_are_recovered(noise_share: float, seed: int):
    edges, pairs, _ = drawn(noise_share)
    found = fit_mixture(edges, pairs)
    assert float(found.noise_share) == pytest.approx(noise_share, abs=0.08)
    expected = true_odds(edges, noise_share)
    is_near = expected.abs() < 2
    error = (found.log_odds(edges) - expected)[is_near]
    # The price of the coefficients pulls odds to the middle.
    assert error.abs().mean() < 0.5


def test_odds_are_calibrated(seed: int):
    edges, pairs, is_real = drawn(0.4)
    probability = fit_mixture(edges, pairs).log_odds(edges).sigmoid()
    for low in (0.0, 0.25, 0.5, 0.75):
        group = (probability >= low) & (probability < low + 0.25)
        real = is_real[group].float().mean()
        assert float(real) == pytest.approx(float(probability[group].mean()), abs=0.12)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 40.0])
def test_the_unit_of_a_feature_does_not_matter(unit: float, seed: int):
    edges, pairs, _ = drawn(0.3, number=2003)
    scale = torch.tensor([unit, 1.0, 1.0])
    one, other = fit_mixture(edges, pairs), fit_mixture(edges * scale, pairs * scale)
    assert torch.allclose(one.log_odds(edges), other.log_odds(edges * scale), atol=1e-2)


def test_odds_are_linear_up_to_the_range(seed: int):
    edges, pairs, _ = drawn(0.3, number=2003)
    found = fit_mixture(edges, pairs)
    line = torch.linspace(-30, 30, 61)
    features = torch.stack([line, torch.zeros(61), torch.zeros(61)], dim=1)
    odds = found.log_odds(features)
    inside = ((line - found.mean[0]) / found.std[0]).abs() < RANGE
    step = odds.diff()
    assert (step[inside[1:] & inside[:-1]] > 0).all()
    assert torch.allclose(step[:10], torch.zeros(10)), "beyond it nothing changes"
    assert bool(inside.any()) and not bool(inside.all())


def test_more_of_what_speaks_for_an_edge_never_speaks_against_it(seed: int):
    edges, pairs, _ = drawn(0.3, number=2003)
    found = fit_mixture(edges, pairs)
    better = edges + torch.tensor([0.5, -0.5, 0.0])
    assert (found.log_odds(better) >= found.log_odds(edges)).all()


def test_edges_like_random_pairs_keep_the_prior_and_stay(seed: int):
    edges, pairs, _ = drawn(1.0, number=2003)
    found = fit_mixture(edges, pairs)
    mode = PRIOR[0] / sum(PRIOR)
    assert float(found.noise_share) == pytest.approx(mode, abs=0.05)
    assert (found.log_odds(edges) > 0).float().mean() > 0.99


def test_features_that_never_change_are_ignored(seed: int):
    edges, pairs, _ = drawn(0.3, number=2003)
    constant = [
        torch.cat([part, torch.full((2003, 1), 7.1)], 1) for part in (edges, pairs)
    ]
    one, other = fit_mixture(edges, pairs), fit_mixture(*constant)
    assert float(other.coefficient[3]) == 0
    assert torch.allclose(one.log_odds(edges), other.log_odds(constant[0]), atol=1e-3)
    # On another graph it may change, and means nothing there either.
    moved = constant[0] + torch.tensor([0.0, 0.0, 0.0, 100.0])
    assert torch.equal(other.log_odds(moved), other.log_odds(constant[0]))


def test_a_known_ratio_of_densities_counts_once(seed: int):
    # The log-ratio itself as the only feature: its coefficient is 1.
    edges, pairs, _ = drawn(0.3)
    ratio = [(2 * part[:, :1] - part[:, 1:2] - 2.5) for part in (edges, pairs)]
    found = fit_mixture(*ratio, known=0)
    assert float(found.coefficient[0] / found.std[0]) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("known", [None, 1])
def test_the_fit_is_the_least_loss_that_scipy_finds(known: int | None, seed: int):
    edges, pairs, _ = drawn(0.3, number=307)
    found = fit_mixture(edges, pairs, known=known)
    seen, random = edges.double().numpy(), pairs.double().numpy()
    mean, std = random.mean(axis=0), random.std(axis=0)
    seen, random = (seen - mean) / std, (random - mean) / std
    price, goal = np.full(3, RIDGE), np.zeros(3)
    if known is not None:
        # One unit of the feature, not one standard deviation, has the coefficient 1.
        price[known] = (KNOWN_RIDGE + KNOWN_EDGES / 307) / std[known] ** 2
        goal[known] = std[known]

    def loss(parameters: np.ndarray) -> float:
        weight, constant, share = parameters[:3], parameters[3], expit(parameters[4])
        ratio_seen, ratio_random = (
            (1 - share) * np.exp(part @ weight + constant) + share
            for part in (seen, random)
        )
        told_apart = np.log1p(1 / ratio_seen).mean() + np.log1p(ratio_random).mean()
        prior = PRIOR[0] * np.log(share) + PRIOR[1] * np.log(1 - share)
        return told_apart + price @ (weight - goal) ** 2 - prior / len(seen)

    best = minimize(loss, [0, 0, 0, 0, -1.0]).x
    expected = [*best[:3], best[3] - best[4], expit(best[4])]
    numbers = [*found.coefficient.tolist(), found.constant, found.noise_share]
    assert [float(n) for n in numbers] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("num_edges", "num_pairs"), [(0, 5), (5, 0), (0, 0)])
def test_without_edges_or_pairs_everything_stays(num_edges: int, num_pairs: int):
    found = fit_mixture(torch.randn(num_edges, 3), torch.randn(num_pairs, 3))
    assert isinstance(found, Mixture)
    assert (found.log_odds(torch.randn(7, 3) * 100) > 0).all()
    assert float(found.noise_share) == 0


def test_the_fit_leaves_its_data_and_gradients_alone(seed: int):
    edges, pairs, _ = drawn(0.3, number=503)
    copies = edges.clone(), pairs.clone()
    with torch.no_grad():
        found = fit_mixture(edges, pairs)
    assert torch.equal(edges, copies[0]) and torch.equal(pairs, copies[1])
    assert all(not part.requires_grad and part.dtype == torch.float32 for part in found)
