"""HardConcrete: values, distribution, the threshold of evaluation, and errors.

The distribution of a gate follows from solving z ≤ x for the noise u. For 0 ≤ x < 1

    P(z ≤ x) = σ(β logit((x - γ) / (ζ - γ)) - log α),   P(z ≤ 1) = 1
"""

import functools
import math
import re

import pytest
import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops import noise

SHAPES = [
    HardConcrete(),
    HardConcrete(temperature=0.66),
    HardConcrete(temperature=0.25, gamma=-0.5, zeta=1.05),
]
DRAWS = 1_000_000
# The Dvoretzky-Kiefer-Wolfowitz inequality: a distance as large as this between the
# true and the empirical distribution of so many draws has probability below 1e-13.
DISTANCE = 0.004


@functools.cache
def draws(seed: int) -> Tensor:
    """Noise of a million edges: all pairs of a thousand targets and sources."""
    node = torch.arange(1000)
    return noise.uniform(
        seed, node.repeat_interleave(1000), node.repeat(1000), noise.GATES
    )


def distribution(gates: HardConcrete, log_alpha: float, x: float) -> float:
    """P(z ≤ x) of a gate."""
    if x >= 1:
        return 1.0
    position = (x - gates.gamma) / (gates.zeta - gates.gamma)
    logit = math.log(position / (1 - position))
    return 1 / (1 + math.exp(log_alpha - gates.temperature * logit))


# Worked by hand with β = ½, γ = -¼, ζ = 1¼, so that z = clamp(1½ s - ¼) with
# s = odds² / (1 + odds²) and odds = u / (1 - u) · α.
#   u    α   odds   s      z
#   ½    1   1      1/2    1/2
#   ½    2   2      4/5    0.95
#   ½    3   3      9/10   1.1 → 1
#   ½    1/2 1/2    1/5    0.05
#   ½    1/3 1/3    1/10   -0.1 → 0
#   3/4  1   3      9/10   1.1 → 1
#   3/4  2/3 2      4/5    0.95
#   1/4  3/2 1/2    1/5    0.05
#   1/4  1   1/3    1/10   -0.1 → 0
WORKED = [
    (1 / 2, 1, 1 / 2),
    (1 / 2, 2, 0.95),
    (1 / 2, 3, 1.0),
    (1 / 2, 1 / 2, 0.05),
    (1 / 2, 1 / 3, 0.0),
    (3 / 4, 1, 1.0),
    (3 / 4, 2 / 3, 0.95),
    (1 / 4, 3 / 2, 0.05),
    (1 / 4, 1, 0.0),
]


@pytest.mark.parametrize(("uniform", "alpha", "gate"), WORKED)
def test_sampled_gates_worked_out_by_hand(uniform: float, alpha: float, gate: float):
    gates = HardConcrete(temperature=0.5, gamma=-0.25, zeta=1.25)
    log_alpha = torch.tensor(math.log(alpha), dtype=torch.float64)
    drawn = gates.sample(log_alpha, torch.tensor(uniform, dtype=torch.float64))
    assert float(drawn) == pytest.approx(gate, abs=1e-15)
    if uniform == 0.5:
        assert float(gates.value(log_alpha)) == pytest.approx(gate, abs=1e-15)


# With β = ½, γ = -0.3125, ζ = 1.25: exp(β log(-γ / ζ)) = √¼ and P(z ≠ 0) = α / (α + ½).
@pytest.mark.parametrize(
    ("alpha", "probability"), [(1, 2 / 3), (4, 8 / 9), (1 / 2, 1 / 2), (1 / 6, 1 / 4)]
)
def test_probability_of_being_open_worked_out_by_hand(alpha, probability):
    gates = HardConcrete(temperature=0.5, gamma=-0.3125, zeta=1.25)
    log_alpha = torch.tensor(math.log(alpha), dtype=torch.float64)
    assert float(gates.probability_open(log_alpha)) == pytest.approx(probability)


def test_the_papers_threshold():
    assert HardConcrete().threshold == pytest.approx(-1.5986, abs=5e-5)
    assert HardConcrete().threshold == 2 / 3 * math.log(0.1 / 1.1)


@pytest.mark.parametrize("gates", SHAPES, ids=str)
@pytest.mark.parametrize("log_alpha", [-3.0, -0.7, 0.0, 2.5])
def test_sampled_gates_have_the_hard_concrete_distribution(
    gates: HardConcrete, log_alpha: float, seed: int
):
    gate = gates.sample(torch.tensor(log_alpha), draws(seed))
    assert gate.numel() == DRAWS
    for x in (0.0, 1e-3, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0):
        share = float((gate <= x).double().mean())
        assert abs(share - distribution(gates, log_alpha, x)) < DISTANCE, x


@pytest.mark.parametrize("gates", SHAPES, ids=str)
@pytest.mark.parametrize("log_alpha", [-3.0, -0.7, 0.0, 2.5])
def test_probability_open_is_the_share_of_gates_that_are_not_zero(
    gates: HardConcrete, log_alpha: float, seed: int
):
    probability = float(gates.probability_open(torch.tensor(log_alpha)))
    assert probability == pytest.approx(1 - distribution(gates, log_alpha, 0.0))
    gate = gates.sample(torch.tensor(log_alpha), draws(seed))
    assert abs(float((gate != 0).double().mean()) - probability) < DISTANCE


@pytest.mark.parametrize("gates", SHAPES, ids=str)
def test_evaluation_keeps_an_edge_iff_log_alpha_is_above_the_threshold(
    gates: HardConcrete, seed: int
):
    log_alpha = torch.rand(DRAWS, dtype=torch.float64) * 20 - 10
    bound = gates.temperature * math.log(-gates.gamma / gates.zeta)
    kept = gates.value(log_alpha) > 0
    assert 0 < int(kept.sum()) < DRAWS
    assert torch.equal(kept, log_alpha > bound)
    assert torch.equal(gates.is_kept(log_alpha), kept)
    assert torch.equal(gates.probability_open(log_alpha) > 0.5, kept)


def test_single_precision_moves_the_threshold_by_rounding_only(seed: int):
    gates = HardConcrete()
    log_alpha = gates.threshold + torch.linspace(-1e-4, 1e-4, 20_001)
    kept = gates.value(log_alpha) > 0
    far = (log_alpha.double() - gates.threshold).abs() > 1e-6
    assert torch.equal(kept[far], gates.is_kept(log_alpha)[far])


@pytest.mark.parametrize("gates", SHAPES, ids=str)
def test_the_evaluation_gate_is_the_gate_of_the_median_noise(gates: HardConcrete):
    log_alpha = torch.linspace(-7, 7, 1001)
    median_noise = torch.full_like(log_alpha, 0.5)
    assert torch.equal(gates.sample(log_alpha, median_noise), gates.value(log_alpha))


@pytest.mark.parametrize("log_alpha", [-3.0, -0.7, 0.3, 1.1, 4.0])
def test_the_median_of_sampled_gates_is_the_evaluation_gate_and_the_mean_is_not(
    log_alpha: float, seed: int
):
    gates, location = HardConcrete(), torch.tensor(log_alpha)
    gate = gates.sample(location, draws(seed))
    low, high = gates.sample(location, 0.5 + DISTANCE * torch.tensor([-1.0, 1.0]))
    assert low <= gate.median() <= high
    assert low <= gates.value(location) <= high
    assert not low <= gate.mean() <= high


def test_gates_grow_with_their_location_and_their_noise():
    gates, line = HardConcrete(), torch.linspace(0.001, 0.999, 999)
    drawn = gates.sample(torch.linspace(-5, 5, 101)[:, None], line)
    assert (drawn.diff(dim=0) >= 0).all() and (drawn.diff(dim=1) >= 0).all()
    assert drawn.min() == 0 and drawn.max() == 1


def test_extreme_locations_give_finite_gates_and_gradients():
    log_alpha = torch.tensor([-1e4, -300.0, 300.0, 1e4], requires_grad=True)
    gate = HardConcrete().sample(log_alpha, torch.full((4,), 2.0**-24))
    assert gate.tolist() == [0.0, 0.0, 1.0, 1.0]
    (gate.sum() + HardConcrete().probability_open(log_alpha).sum()).backward()
    assert log_alpha.grad.tolist() == [0.0, 0.0, 0.0, 0.0]


def test_slope_inside_and_flatness_outside():
    gates = HardConcrete()
    # The clamp holds outside |log α| = β log 11 = 1.6.
    log_alpha = torch.linspace(-4, 4, 97, dtype=torch.float64, requires_grad=True)
    gates.value(log_alpha).sum().backward()
    concrete = torch.sigmoid(log_alpha.detach() / gates.temperature)
    slope = (gates.zeta - gates.gamma) / gates.temperature * concrete * (1 - concrete)
    inside = log_alpha.detach().abs() < gates.temperature * math.log(11)
    assert 0 < int(inside.sum()) < 97
    assert torch.allclose(log_alpha.grad, torch.where(inside, slope, 0))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": 0.0}, "`temperature` must be positive, got 0.0."),
        ({"temperature": -1.0}, "`temperature` must be positive, got -1.0."),
        ({"temperature": math.nan}, "`temperature` must be positive, got nan."),
        (
            {"gamma": 0.0},
            "`gamma` must be negative, got 0.0; at 0 no gate would ever close.",
        ),
        ({"zeta": 1.0}, "`zeta` must be greater than 1, got 1.0."),
    ],
)
def test_impossible_shapes_are_refused(options: dict[str, float], sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        HardConcrete(**options)
