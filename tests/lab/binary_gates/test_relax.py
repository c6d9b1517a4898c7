"""RELAX against the exact gradient, and what it learns."""

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
    STEPS,
    Draw,
    Rebar,
    Relax,
    conditional_logit,
    surrogate,
)
from sgat_lab.binary_gates.gates import BinaryGates

DOUBLE = torch.float64


# Many thousands of draws.
@pytest.mark.promise
@pytest.mark.slow
def test_the_mean_estimate_is_the_exact_gradient(seed):
    found = estimates("relax", 1, seed)
    assert standard_errors(found[LOG_ALPHA], exact()[LOG_ALPHA]) < 4
    # The derivative by the weights for the drawn gates is part of it. (More numbers, so
    # a larger largest one.)
    for name, truth in exact().items():
        assert standard_errors(found[name], truth) < 5, name


def test_the_variance_is_lower_than_that_of_reinforce(seed):
    plain, relax = (
        float(estimates(gradient, 1, seed, 250)[LOG_ALPHA].var(dim=0).sum())
        for gradient in ("reinforce", "relax")
    )
    assert relax < 0.8 * plain


def draw_of(generator: torch.Generator) -> Draw:
    """A draw of the linear loss with the gates of the noise."""
    u, v = torch.rand(2, 2, generator=generator, dtype=DOUBLE).tolist()
    gate = [float(u[0] > 1 / 2), float(u[1] > 1 / 4)]
    return linear_draw(gate, {noise.GATES: u, noise.RELAXED_GATES: v})


def test_it_starts_as_rebar(seed):
    gates = BinaryGates("relax", temperature=0.5)
    relax, rebar = Relax(gates, "cpu"), Rebar(gates, "cpu")
    generator = torch.Generator().manual_seed(seed)
    # REBAR's factor is 1 in both; in the first step nothing is learned.
    for _ in range(2):
        assert relax.learned.tolist() == pytest.approx(
            [1, math.log(0.5), *[0] * len(STEPS)], abs=1e-7
        )
        draw = draw_of(generator)
        assert torch.allclose(relax.estimate(draw), rebar.estimate(draw))


def worked_out(relax: Relax, draw: Draw) -> torch.Tensor:
    """The formula of the class, each derivative by hand; the loss is linear."""
    scale, log_temperature, *height = relax.learned.tolist()
    tau = math.exp(log_temperature)
    spread = math.sqrt(float(relax.mean_square.value(0.0)))
    mean = float(relax.mean_loss.value(draw.loss))
    found = []
    first = draw.log_alpha + draw.uniform(noise.GATES).logit()
    v = draw.uniform(noise.RELAXED_GATES)
    again = conditional_logit(draw.log_alpha, draw.gate, v)
    loss_again = float(draw.loss_at(torch.sigmoid(again / tau)))
    for edge, factor in enumerate((3.0, 1.0)):
        a, y, other = (float(x[edge]) for x in (draw.log_alpha, first, again))
        z = float(draw.gate[edge])
        score = z - 1 / (1 + math.exp(-a))
        # d ỹ / d log α: α v / (α v + 1) for an open gate, v / (v + α) for a closed one.
        alpha, w = math.exp(a), float(v[edge])
        moved = w * alpha / (w * alpha + 1) if z == 1 else w / (w + alpha)

        def slope(x: float) -> float:
            s = 1 / (1 + math.exp(-x / tau))
            return s * (1 - s) / tau

        def own(x: float) -> float:
            steps = [h * math.tanh(x - m) for h, m in zip(height, STEPS, strict=True)]
            return spread * sum(steps) / len(STEPS)

        def own_slope(x: float) -> float:
            steps = [
                h * (1 - math.tanh(x - m) ** 2)
                for h, m in zip(height, STEPS, strict=True)
            ]
            return spread * sum(steps) / len(STEPS)

        relaxed = factor * (slope(y) - slope(other) * moved)
        relaxed -= (loss_again - mean) * score
        free = own_slope(y) - own_slope(other) * moved - own(other) * score
        plain = (float(draw.loss) - mean) * score
        found.append(plain + scale * relaxed + free)
    return torch.tensor(found, dtype=DOUBLE)


def test_the_estimate_is_its_formula(seed):
    relax = Relax(BinaryGates("relax", temperature=0.7), "cpu")
    generator = torch.Generator().manual_seed(seed)
    relax.learned += 0.3 * torch.randn(len(relax.learned), generator=generator).double()
    for _ in range(6):
        draw = draw_of(generator)
        expected = worked_out(relax, draw)
        assert torch.allclose(relax.estimate(draw), expected)


def test_the_control_variate_has_mean_zero_whatever_was_learned(seed):
    generator = torch.Generator().manual_seed(seed)
    gates = BinaryGates("relax", temperature=0.7)
    learned = torch.randn(2 + len(STEPS), generator=generator).double()
    found = []
    for _ in range(1500):
        relax = Relax(gates, "cpu")
        relax.learned.copy_(learned)
        relax.mean_loss.add(torch.tensor(2.0))
        relax.mean_square.add(torch.tensor(1.5))
        found.append(relax.estimate(draw_of(generator)))
    # π (1 - π) times the two factors of the linear loss.
    truth = torch.tensor([3 / 4, 3 / 16], dtype=DOUBLE)
    assert standard_errors(torch.stack(found), truth) < 4


def test_learning_lowers_the_variance(seed):
    gates = BinaryGates("relax", temperature=3.0)
    generator = torch.Generator().manual_seed(seed)
    relax = Relax(gates, "cpu")
    for _ in range(400):
        relax.estimate(draw_of(generator))
    squares = {"start": [], "learned": []}
    for _ in range(400):
        draw = draw_of(generator)
        for name, found in squares.items():
            fresh = Relax(gates, "cpu")
            for key, tensor in relax.state.items():
                if name == "learned" or key != "learned":
                    fresh.state[key].copy_(tensor)
            found.append(float(fresh.estimate(draw).square().sum()))
    assert sum(squares["learned"]) < 0.9 * sum(squares["start"])


def test_the_surrogate_worked_out_by_hand():
    logit = torch.tensor([0.5, -2.0], dtype=DOUBLE)
    height = [torch.tensor(float(m == 1), dtype=DOUBLE) for m in STEPS]
    found = surrogate(logit, height) * len(STEPS)
    assert found.tolist() == pytest.approx([math.tanh(-0.5), math.tanh(-3.0)])
