"""REINFORCE and REBAR against the exact gradient, by enumeration, and by hand."""

import math

import pytest
import torch
from support.exact_gradient import (
    LOG_ALPHA,
    estimates,
    exact,
    linear_draw,
    standard_errors,
)

from sgat.ops import noise
from sgat_lab.binary_gates.estimators import (
    Rebar,
    Reinforce,
    RunningMean,
    conditional_logit,
)
from sgat_lab.binary_gates.gates import BinaryGates


@pytest.mark.parametrize(
    ("gradient", "samples"),
    [
        ("reinforce", 1),
        ("reinforce", 3),
        # Many thousands of draws, three passes each.
        pytest.param("rebar", 1, marks=[pytest.mark.slow, pytest.mark.promise]),
    ],
)
def test_the_mean_estimate_is_the_exact_gradient(gradient, samples, seed):
    found = estimates(gradient, samples, seed)
    assert standard_errors(found[LOG_ALPHA], exact()[LOG_ALPHA]) < 4
    # The derivative by the weights for the drawn gates is part of it. (More numbers, so
    # a larger largest one.)
    for name, truth in exact().items():
        assert standard_errors(found[name], truth) < 5, name


def test_rebar_and_more_draws_have_less_variance_than_reinforce(seed):
    found = [
        # As many as the other test takes, so that they are drawn once.
        *(estimates("reinforce", samples, seed) for samples in (1, 3)),
        estimates("rebar", 1, seed, 250),
    ]
    plain, more, rebar = (float(part[LOG_ALPHA].var(dim=0).sum()) for part in found)
    assert rebar < 0.8 * plain
    assert more < 0.8 * plain


def test_the_score_function_worked_out_by_hand():
    estimator = Reinforce(BinaryGates("reinforce", samples=1), "cpu")
    first = estimator.estimate(linear_draw([1, 0], {}))
    assert first.tolist() == [0, 0], "no baseline yet"
    # f = 4 against the baseline 3: 1 · (1 - ½, 1 - ¾).
    second = estimator.estimate(linear_draw([1, 1], {}))
    assert second.tolist() == pytest.approx([0.5, 0.25])
    # f = 1 against (0.95 · 3 + 4) / 1.95.
    third = estimator.estimate(linear_draw([0, 1], {}))
    advantage = 1 - (0.95 * 3 + 4) / 1.95
    assert third.tolist() == pytest.approx([-0.5 * advantage, 0.25 * advantage])


def test_draws_are_the_baselines_of_each_other():
    estimator = Reinforce(BinaryGates("reinforce", samples=3), "cpu")
    # Gates open iff u > 1 - π = (½, ¼): (1, 0), (0, 1), (1, 1) with losses 3, 1, 4.
    draw = linear_draw([1, 0], {1: [0.4, 0.3], 2: [0.6, 0.9]})
    # Advantages 3 - 5/2, 1 - 7/2, 4 - 2 by scores (½, -¾), (-½, ¼), (½, ¼).
    hand = [(0.25 + 1.25 + 1) / 3, (-0.375 - 0.625 + 0.5) / 3]
    assert estimator.estimate(draw).tolist() == pytest.approx(hand)


def test_the_scale_of_the_control_variate_is_that_of_least_variance(seed):
    estimator = Rebar(BinaryGates("rebar", temperature=0.5), "cpu")
    assert float(estimator.scale) == 1
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(400):
        u, v = torch.rand(2, 2, generator=generator, dtype=torch.float64).tolist()
        gate = [float(u[0] > 0.5), float(u[1] > 0.25)]
        draw = linear_draw(gate, {noise.GATES: u, noise.RELAXED_GATES: v})
        fixed = Rebar(estimator.gates, "cpu")
        ends = []
        for scale in (0.0, 1.0):
            for mean in ("mean_loss", "product", "square"):
                getattr(fixed, mean).state.copy_(getattr(estimator, mean).state)
            fixed.product.state[0] = -scale * fixed.square.state[0]
            ends.append(fixed.estimate(draw))
        chosen, scale = float(estimator.scale), estimator.estimate(draw)
        # The estimate is linear in η.
        assert torch.allclose(scale, ends[0] + chosen * (ends[1] - ends[0]))
        found.append(torch.stack([*ends, scale]))
    variance = torch.stack(found[20:]).var(dim=0).sum(dim=1)
    assert variance[2] < 1.1 * variance[:2].min()


@pytest.mark.parametrize("log_alpha", [-2.0, 0.3, 4.0])
def test_the_second_logit_is_drawn_given_the_gate(log_alpha, seed):
    count = 200_000
    u, v = torch.rand(2, count, dtype=torch.float64).clamp(1e-9, 1 - 1e-9)
    location = torch.full((count,), log_alpha, dtype=torch.float64)
    logit = location + u.logit()
    gate = (logit > 0).double()
    again = conditional_logit(location, gate, v)
    assert ((again > 0) == (logit > 0)).all()
    # Over all gates it is the logistic distribution again, by the
    # Dvoretzky-Kiefer-Wolfowitz inequality, and given the gate both are independent.
    for point in (-5.0, -1.0, -0.1, 0.2, 1.5, 6.0):
        share = float((again <= point).double().mean())
        assert share == pytest.approx(1 / (1 + math.exp(log_alpha - point)), abs=0.01)
    for side in (gate == 0, gate == 1):
        pair = torch.stack([logit[side], again[side]])
        assert abs(float(torch.corrcoef(pair)[0, 1])) < 0.06


def test_the_second_logit_worked_out_by_hand():
    # α = 3, v = ½: log(1 + 1 · (1 + 3)) for an open gate, -log(1 + 1 · (1 + ⅓)) else.
    log_alpha = torch.full((2,), math.log(3), dtype=torch.float64)
    gate = torch.tensor([1.0, 0.0], dtype=torch.float64)
    found = conditional_logit(log_alpha, gate, torch.full_like(gate, 0.5))
    assert found.tolist() == pytest.approx([math.log(5), -math.log(7 / 3)])


def test_a_running_mean_starts_with_its_first_number():
    mean = RunningMean("cpu")
    assert float(mean.value(7.0)) == 7
    mean.add(torch.tensor(3.0))
    assert float(mean.value(7.0)) == pytest.approx(3)
    mean.add(torch.tensor(5.0))
    assert float(mean.value(7.0)) == pytest.approx((0.95 * 3 + 5) / 1.95)
