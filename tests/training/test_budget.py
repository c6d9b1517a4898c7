"""EdgeBudget and bias_shift: a share of edges instead of a penalty to tune."""

import math

import pytest
import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.training.budget import (
    DAMPING,
    LARGEST_STEP,
    SMOOTHING,
    EdgeBudget,
    bias_shift,
)

GATES = HardConcrete()
SHARES = [0.0, 0.001, 0.05, 0.3, 0.5, 0.77, 0.999, 1.0]


def kept_after_shift(log_alpha: Tensor, share: float) -> int:
    num_kept = round(share * len(log_alpha))
    shift = bias_shift(log_alpha, num_kept, GATES)
    # Under a captured graph the number is a tensor; the shift must not change by it.
    assert torch.equal(bias_shift(log_alpha, torch.tensor(num_kept), GATES), shift)
    shifted = log_alpha + shift
    return int(GATES.is_kept(shifted).sum())


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("num_edges", [1, 2, 7, 1009])
def test_the_shift_keeps_exactly_the_share(num_edges: int, share: float, seed: int):
    log_alpha = torch.randn(num_edges, dtype=torch.float64) * 3 + 5
    assert kept_after_shift(log_alpha, share) == round(share * num_edges)


def test_the_shift_keeps_the_best_edges(seed: int):
    log_alpha = torch.randn(1009, dtype=torch.float64)
    kept = GATES.is_kept(log_alpha + bias_shift(log_alpha, 303, GATES))
    assert log_alpha[kept].min() > log_alpha[~kept].max()
    assert (GATES.value(log_alpha + bias_shift(log_alpha, 303, GATES)) > 0).equal(kept)


def test_the_shift_for_all_edges_leaves_open_ones_alone():
    open_already = torch.tensor([0.0, 3.0, 7.0])
    assert bias_shift(open_already, 3, GATES) == 0.0


def test_edges_of_equal_scores_stay_or_go_together():
    # Two above, four alike, one below; three edges cannot be kept.
    log_alpha = torch.tensor([2.0, 3.0, 1.0, 1.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    assert kept_after_shift(log_alpha, 2 / 7) == 2
    assert kept_after_shift(log_alpha, 3 / 7) in (2, 6)
    assert kept_after_shift(log_alpha, 6 / 7) == 6
    assert kept_after_shift(torch.zeros(5), 0.6) in (0, 5)


def test_in_single_precision_only_edges_at_the_boundary_can_be_missed(seed: int):
    # Scores so close together that adding the shift rounds some to the same number.
    log_alpha = torch.randn(100_003) * 0.01 + 3
    num_kept = round(0.3 * 100_003)
    boundary = log_alpha.double().sort(descending=True).values[num_kept - 1]
    at_boundary = (log_alpha.double() - boundary).abs() < 1e-6
    assert bool(at_boundary.any())
    missed = kept_after_shift(log_alpha, 0.3) - num_kept
    assert abs(missed) < int(at_boundary.sum())


def test_no_edges_need_no_shift():
    assert bias_shift(torch.zeros(0), 0, GATES) == 0.0


def test_the_target_falls_in_equal_steps_to_the_share_to_keep():
    budget = EdgeBudget(keep=0.3, warmup=6)
    targets = [budget.target(epoch) for epoch in range(9)]
    assert targets == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.3, 0.3])
    assert EdgeBudget(keep=0.3).target(0) == 0.3


@pytest.mark.parametrize("target", [0.03, 0.3, 0.9])
@pytest.mark.parametrize("start", [-6.0, 0.0, 6.0])
def test_newton_steps_reach_the_target_on_fixed_scores(
    target: float, start: float, seed: int
):
    log_alpha = torch.randn(1009, dtype=torch.float64) * 2
    bias = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    budget = EdgeBudget(keep=target)
    for _ in range(90):
        share = GATES.probability_open(log_alpha + bias).mean()
        slope = budget.backward(0 * bias, share, bias)
        budget.step(bias, share.detach(), target, slope)
    share = GATES.probability_open(log_alpha + bias).mean()
    assert share.item() == pytest.approx(target, abs=1e-9)


def test_a_step_is_a_damped_newton_step_and_a_long_one_is_cut():
    bias = torch.tensor(2.0, requires_grad=True)
    EdgeBudget(keep=0.3).step(bias, torch.tensor(0.4), 0.3, torch.tensor(0.25))
    assert bias.item() == pytest.approx(2 - 0.4 * DAMPING)
    bias.data.fill_(1.6)
    EdgeBudget(keep=0.3).step(bias, torch.tensor(0.9), 0.3, torch.tensor(0.001))
    assert bias.item() == pytest.approx(1.6 - LARGEST_STEP)
    EdgeBudget(keep=0.3).step(bias, torch.tensor(0.1), 0.3, torch.tensor(0.001))
    assert bias.item() == pytest.approx(1.6)
    assert bias.grad is None


def test_the_multiplier_is_minus_the_ratio_of_the_slopes():
    # data loss -2 b and share b / 8: μ = 2 / (1/8) = 16 in the running mean.
    bias = torch.tensor(0.5, requires_grad=True)
    budget = EdgeBudget(keep=0.3)
    for step in range(1, 6):
        slope = budget.backward(-2 * bias, bias / 8, bias)
        assert slope.item() == pytest.approx(1 / 8)
        assert budget.multiplier.item() == pytest.approx(16 * (1 - SMOOTHING**step))
        assert bias.grad.item() == 0


def test_other_parameters_descend_the_lagrangian_and_the_bias_stays_out_of_it():
    weight = torch.tensor(3.0, requires_grad=True)
    bias = torch.tensor(0.5, requires_grad=True)
    budget = EdgeBudget(keep=0.3)
    budget.multiplier.fill_(7.0)
    budget.backward(weight.square() + bias, weight * bias, bias)
    # ∂(w² + b)/∂w + 7 ∂(w b)/∂w with the multiplier from before the step.
    assert weight.grad.item() == pytest.approx(6 + 7 * 0.5)
    assert bias.grad.item() == 0


def test_a_share_that_does_not_move_gives_a_finite_step():
    bias = torch.tensor(-500.0, requires_grad=True)
    budget = EdgeBudget(keep=0.3)
    share = GATES.probability_open(bias)
    slope = budget.backward(bias * 1e-3, share, bias)
    budget.step(bias, share.detach(), 0.3, slope)
    assert bias.item() == -500.0 + LARGEST_STEP
    assert math.isfinite(budget.multiplier)
