"""Bayesian DropEdge: the distribution of a rate, its divergence, and a pass."""

import math

import pytest
import torch
from scipy.integrate import quad
from support.awkward import random_edges
from support.small_data import block_graph

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat.ops import noise
from sgat_lab.baselines import fit
from sgat_lab.baselines.bayesian_dropedge import (
    MASKS,
    METHOD,
    BayesianDropEdge,
    KeepRates,
    relaxed_mask,
)
from sgat_lab.config import MethodConfig

N, K, D, C = 23, 7, 5, 3
SHAPES = [(0.8, 1.0), (1.7, 0.9), (3.0, 2.0), (0.5, 1.5)]


def rate_of(a: float, b: float) -> KeepRates:
    rate = KeepRates(1, prior=0.8, start=0.5).requires_grad_(False)
    torch.nn.init.constant_(rate.log_a, math.log(a))
    torch.nn.init.constant_(rate.log_b, math.log(b))
    return rate.double()


def density(a: float, b: float, p: float) -> float:
    return a * b * p ** (a - 1) * (1 - p**a) ** (b - 1)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_mean_and_divergence_are_the_integrals(a, b):
    rate = rate_of(a, b)

    def log_ratio(p: float) -> float:
        prior = 0.8 * p ** (0.8 - 1)
        return density(a, b, p) * math.log(density(a, b, p) / prior)

    mean, _ = quad(lambda p: p * density(a, b, p), 0, 1)
    divergence, _ = quad(log_ratio, 0, 1)
    assert float(rate.mean()) == pytest.approx(mean, abs=1e-6)
    assert float(rate.divergence()) == pytest.approx(divergence, abs=1e-6)


def test_the_prior_is_no_way_from_itself():
    assert float(rate_of(0.8, 1.0).divergence()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_samples_are_distributed_as_the_density(a, b, seed):
    rate = rate_of(a, b)
    drawn = torch.cat([rate.sample() for _ in range(4000)])
    for point in (0.2, 0.5, 0.8):
        expected = 1 - (1 - point**a) ** b
        spread = (expected * (1 - expected) / 4000) ** 0.5
        assert abs(float((drawn < point).double().mean()) - expected) < 5 * spread


def test_it_starts_where_it_is_told():
    rates = KeepRates(3, prior=0.8, start=0.7)
    rates.reset_parameters()
    assert rates.mean().tolist() == pytest.approx([0.7] * 3)


def test_a_mask_by_hand():
    # π = 0.8 has odds 4, u = 0.5 odds 1, u = 0.1 odds 1/9; at t = ½ odds are squared.
    mask = relaxed_mask(torch.tensor(0.8), torch.tensor([0.5, 0.1]), 0.5)
    torch.testing.assert_close(mask, torch.tensor([16 / 17, 16 / 97]))


def test_a_mask_above_one_half_is_a_hard_draw(seed):
    uniform = torch.rand(20000)
    share = (relaxed_mask(torch.tensor(0.3), uniform, 0.67) > 0.5).double().mean()
    assert abs(float(share) - 0.3) < 5 * (0.3 * 0.7 / 20000) ** 0.5


def test_a_pass_is_that_of_dense_masked_matrices(seed):
    graph = Graph.from_edges(random_edges(N, 127), N, torch.rand(127) + 0.5)
    x = torch.randn(N, K)
    model = BayesianDropEdge(K, D, C, dropout=0.0, kl_weight=0.3)
    model.reset_parameters()
    output = model.train().compute(x, graph, seed=seed)

    # The rates are the first that torch's generator gives after it was seeded.
    torch.manual_seed(seed)
    rates = model.rates.sample()
    adjacency = torch.eye(N)
    adjacency[graph.dst.long(), graph.src.long()] = graph.edge_weight
    scale = adjacency.sum(dim=1).rsqrt()
    adjacency = scale[:, None] * adjacency * scale
    out, hard = x, torch.zeros(127, dtype=torch.bool)
    for layer, conv in enumerate(model.convs):
        uniform = noise.edge_uniform(seed, graph, MASKS + layer)
        odds = rates[layer] / (1 - rates[layer]) * uniform / (1 - uniform)
        mask = torch.eye(N)
        relaxed = odds ** (1 / 0.67) / (1 + odds ** (1 / 0.67))
        mask = mask.index_put((graph.dst.long(), graph.src.long()), relaxed)
        hard |= relaxed > 0.5
        weight = model.projection.weight if layer == 0 else conv.lin.weight.T
        out = (mask * adjacency) @ (out.relu() if layer else out) @ weight + conv.bias

    torch.testing.assert_close(output.logits, out, rtol=1e-4, atol=1e-5)
    assert int(output.num_used) == int(hard.sum())
    expected = 0.3 * (model.rates.divergence()[0] + model.rates.divergence()[1])
    torch.testing.assert_close(output.extra_loss, expected)
    weights = list(model.parameters())
    slope = torch.randn_like(out)
    for ours, dense in zip(
        torch.autograd.grad(output.logits, weights, slope),
        torch.autograd.grad(out, weights, slope),
        strict=True,
    ):
        torch.testing.assert_close(ours, dense, rtol=1e-3, atol=1e-4)


def test_evaluation_weighs_neighbours_by_the_mean_rate():
    # 0 → 1: node 1 hears itself by ½, and node 0 by 1 / √2 times the rate 0.6.
    graph = Graph.from_edges(torch.tensor([[0], [1]]), 2)
    model = BayesianDropEdge(1, 1, 1, layers=1, dropout=0.0).eval()
    model.reset_parameters()
    torch.nn.init.ones_(model.projection.weight)
    x = torch.tensor([[2.0], [4.0]])
    expected = torch.tensor([[2.0], [2 + 0.6 * 2**0.5]])
    torch.testing.assert_close(model(x, graph), expected)


def test_rates_are_learned_and_a_high_price_takes_them_to_the_prior():
    data = block_graph()
    prior = 0.25
    options = {"prior": prior, "kl_weight": 100.0, "start_keep": 0.9}
    config = MethodConfig(method="bayesian_dropedge", hidden=8, options=options)
    train = TrainConfig(epochs=80, lr=0.1, device="cpu", select="last")
    model = fit([data], config, train).model
    expected = prior / (1 + prior)
    assert model.rates.mean().tolist() == pytest.approx([expected] * 2, abs=0.05)


def test_options_reach_the_model():
    options = {"prior": 2, "start_keep": 0.9, "kl_weight": 0.5, "temperature": 0.1}
    config = MethodConfig(method="bayesian_dropedge", hidden=8, options=options)
    model = METHOD.build(config, block_graph())
    model.reset_parameters()
    assert (model.kl_weight, model.temperature) == (0.5, 0.1)
    assert model.rates.prior == 2
    torch.testing.assert_close(model.rates.mean(), torch.tensor([0.9, 0.9]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": 0.0}, "`prior` must be positive and finite, got 0.0."),
        ({"temperature": -1.0}, "`temperature` must be positive and finite, got -1.0."),
        ({"start_keep": 1.0}, r"`start_keep` must be in \(0, 1\), got 1.0."),
        ({"kl_weight": -0.1}, "`kl_weight` must be at least 0, got -0.1."),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BayesianDropEdge(K, D, C, **options)
