"""Estimated gradients against the exact one, by enumeration of all gates of a graph."""

import dataclasses
import functools
import itertools
import math

import pytest
import torch
from support.small_data import block_graph, several_graphs
from torch import Tensor

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.gates import BinaryGates, HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import noise, reference
from sgat.training.epoch import Epochs, Role
from sgat.training.evaluate import evaluate, loss_on
from sgat.training.gate_gradient import (
    Draw,
    Rebar,
    Reinforce,
    RunningMean,
    conditional_logit,
    estimator_for,
)
from sgat.training.loop import Training, fit

BINARY = ["reinforce", "gumbel", "rebar"]
EDGES = torch.tensor([[1, 2, 0, 3, 1, 4, 3], [0, 0, 1, 1, 2, 3, 4]])
LOG_ALPHA = "convs.0.scorer.log_alpha"
STEPS = 700


def small_data() -> NodeData:
    generator = torch.Generator().manual_seed(3)
    everyone = torch.ones(5, dtype=torch.bool)
    return NodeData(
        graph=Graph.from_edges(EDGES, 5, torch.linspace(0.5, 2, 7)),
        x=2 * torch.randn(5, 3, generator=generator, dtype=torch.float64),
        y=torch.tensor([0, 1, 1, 0, 1]),
        train=everyone,
        val=~everyone,
        test=~everyone,
        classes=("a", "b"),
    )


def still_epochs(gradient: str, samples: int = 2, **settings) -> Epochs:
    """Training on the small graph with free gates, so slow that nothing moves."""
    config = ModelConfig(
        hidden=2,
        heads=1,
        dropout=0.0,
        attention_dropout=0.0,
        gate_mode="transductive",
        gate_bias=False,
        gate_gradient=gradient,
        gate_samples=samples,
    )
    model = SGAT.from_config(config, 3, 2, 7).double()
    model.reset_parameters(torch.Generator().manual_seed(5))
    with torch.no_grad():
        model.gating.scorer.log_alpha.copy_(torch.linspace(-1.5, 1.5, 7))
    still = {"lr": 1e-300, "weight_decay": 0.0, "l0_weight": 0.0} | settings
    return Epochs(model, [small_data()], TrainConfig(**still))


def gradients(epochs: Epochs, seed: int) -> dict[str, Tensor]:
    """What one training step leaves in the parameters."""
    data = epochs.training[0]
    epochs.model.train()
    epochs._step(torch.tensor(seed), data, Role(data, data.train))
    return {name: p.grad.clone() for name, p in epochs.model.named_parameters()}


@functools.cache
def exact() -> dict[str, Tensor]:
    """The gradient of the expected loss: the sum over all 2⁷ sets of gates."""
    model, data = still_epochs("reinforce").model.eval(), small_data()
    probability = torch.sigmoid(model.gating.scorer.log_alpha)
    expected = torch.zeros((), dtype=torch.float64)
    for bits in itertools.product([0.0, 1.0], repeat=7):
        gate = torch.tensor(bits, dtype=torch.float64)
        opened = reference.with_gates(data.graph, gate, torch.zeros(()))
        logits = model(data.x, opened)
        chance = torch.where(gate == 1, probability, 1 - probability).prod()
        expected = expected + chance * loss_on(logits, data.y)
    expected.backward()
    return {name: p.grad for name, p in model.named_parameters()}


@functools.cache
def estimates(gradient: str, samples: int, seed: int) -> dict[str, Tensor]:
    """Gradients of many training steps with different noise, [STEPS - 1, ...].

    The first step is left out: without a baseline, "reinforce" estimates 0 there.
    """
    epochs = still_epochs(gradient, samples)
    steps = [gradients(epochs, noise.derive(seed, step)) for step in range(STEPS)]
    return {name: torch.stack([g[name] for g in steps[1:]]) for name in steps[0]}


def standard_errors(found: Tensor, truth: Tensor) -> float:
    """The largest distance of a mean from the truth, in its standard errors."""
    error = found.std(dim=0) / math.sqrt(len(found))
    return float(((found.mean(dim=0) - truth).abs() / error).max())


@pytest.mark.parametrize(
    ("gradient", "samples"), [("reinforce", 1), ("reinforce", 3), ("rebar", 1)]
)
def test_the_mean_estimate_is_the_exact_gradient(gradient, samples, seed):
    found = estimates(gradient, samples, seed)
    assert standard_errors(found[LOG_ALPHA], exact()[LOG_ALPHA]) < 4
    # The derivative by the weights for the drawn gates is part of it. (More numbers, so
    # a larger largest one.)
    for name, truth in exact().items():
        assert standard_errors(found[name], truth) < 5, name


def test_the_straight_through_gradient_is_biased_and_points_the_right_way(seed):
    found, truth = estimates("gumbel", 1, seed)[LOG_ALPHA], exact()[LOG_ALPHA]
    assert torch.isfinite(found).all() and (found != 0).all(), "closed gates count too"
    assert float(torch.cosine_similarity(found.mean(dim=0), truth, dim=0)) > 0.5
    # The same yardstick sees a bias where there is one.
    assert standard_errors(found, truth) > 4


def test_rebar_and_more_draws_have_less_variance_than_reinforce(seed):
    settings = [("reinforce", 1), ("reinforce", 3), ("rebar", 1)]
    plain, more, rebar = (
        float(estimates(*setting, seed)[LOG_ALPHA].var(dim=0).sum())
        for setting in settings
    )
    assert rebar < 0.8 * plain
    assert more < 0.8 * plain


# f(b) = 3 b₁ + b₂ with π = (½, ¾): exact gradient (3 · ¼, 1 · 3/16).
HALF = torch.tensor([0.0, math.log(3)], dtype=torch.float64)


def linear_draw(gate: list[float], uniform: dict[int, list[float]]) -> Draw:
    def loss_at(gate: Tensor) -> Tensor:
        return 3 * gate[0] + gate[1]

    drawn = torch.tensor(gate, dtype=torch.float64)
    return Draw(
        log_alpha=HALF,
        gate=drawn,
        loss=loss_at(drawn),
        uniform=lambda stream: torch.tensor(uniform[stream], dtype=torch.float64),
        loss_at=loss_at,
    )


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


def test_only_the_score_function_needs_an_estimator():
    assert estimator_for(HardConcrete(), "cpu") is None
    assert estimator_for(BinaryGates("gumbel"), "cpu") is None
    assert isinstance(estimator_for(BinaryGates("reinforce"), "cpu"), Reinforce)
    assert isinstance(estimator_for(BinaryGates("rebar"), "cpu"), Rebar)


@pytest.mark.parametrize("gradient", BINARY)
def test_the_penalty_has_its_exact_gradient(gradient, seed):
    free, priced = (
        gradients(still_epochs(gradient, l0_weight=price), seed)[LOG_ALPHA]
        for price in (0.0, 0.5)
    )
    probability = torch.sigmoid(torch.linspace(-1.5, 1.5, 7, dtype=torch.float64))
    assert torch.allclose(priced - free, 0.5 * probability * (1 - probability))


def small(gradient: str, **options) -> ModelConfig:
    return ModelConfig(hidden=7, gate_gradient=gradient, **options)


def test_the_same_seed_draws_the_same_gates_for_every_gradient(seed):
    data = block_graph()
    opened = []
    for gradient in BINARY:
        model = SGAT.from_config(small(gradient), 13, 3, 0)
        model.reset_parameters(torch.Generator().manual_seed(0))
        opened.append(model.train().compute(data.x, data.graph, seed=seed).opened)
    first, *others = opened
    assert 0 < int(first.num_open) < data.graph.num_edges
    assert (first.gate == 1).all()
    for other in others:
        assert torch.equal(other.edge[other.gate > 0], first.edge)


@pytest.mark.parametrize("gradient", BINARY)
def test_training_learns_with_binary_gates(gradient):
    data = block_graph(feature_signal=3.0)
    config = TrainConfig(epochs=60, lr=0.02, device="cpu")
    result = fit([data], small(gradient), config)
    (test,) = evaluate(result.model, [data], ["test"])
    assert test.score > 0.6, "three classes of equal size: 0.33 is chance"
    opened = result.sgat.compute(data.x, data.graph).opened
    assert (opened.gate == 1).all()
    kept = result.sgat.log_alpha(data.x, data.graph) > 0
    assert torch.equal(opened.edge, kept.nonzero().squeeze(1))
    pruned = result.sgat.prune(data.x, data.graph)
    with torch.no_grad():
        logits = [result.model(data.x, edges) for edges in (data.graph, pruned)]
    assert torch.allclose(*logits, atol=1e-5)


@pytest.mark.parametrize("gradient", BINARY)
def test_a_share_of_edges_is_kept_with_binary_gates(gradient):
    data = block_graph()
    config = TrainConfig(epochs=40, keep=0.3, device="cpu")
    result = fit([data], small(gradient, symmetric=False), config)
    assert result.best.kept_share == pytest.approx(0.3, abs=0.01)
    drawn = [record.expected_open for record in result.records[-10:]]
    assert sum(drawn) / 10 == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize("gradient", BINARY)
@pytest.mark.parametrize("samples", [1, 2])
def test_a_resumed_run_goes_on_to_the_same_bits(gradient, samples, tmp_path):
    path = tmp_path / "state.safetensors"
    config = TrainConfig(epochs=9, device="cpu", keep=0.5)
    model = small(gradient, gate_samples=samples)
    whole = Training([block_graph()], model, config).run()
    part = Training([block_graph()], model, config)
    part.run_epochs()
    part.run_epochs()
    part.save(path)
    rest = Training([block_graph()], model, config)
    resumed = rest.run(checkpoint_path=path, resume=True)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, resumed.model.state_dict()[name])


@pytest.mark.parametrize("gradient", BINARY)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_batches_of_graphs_and_half_precision_train(gradient, precision):
    config = TrainConfig(epochs=3, batch_size=2, precision=precision, device="cpu")
    result = fit(several_graphs(), small(gradient), config)
    assert all(math.isfinite(record.loss) for record in result.records)


@pytest.mark.parametrize("gradient", BINARY)
def test_a_graph_without_edges_trains(gradient):
    nothing = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 211)
    data = dataclasses.replace(block_graph(), graph=nothing)
    result = fit([data], small(gradient), TrainConfig(epochs=3, device="cpu"))
    assert all(math.isfinite(record.loss) for record in result.records)


def test_the_reported_loss_is_that_of_the_drawn_gates():
    losses = [
        fit(
            [block_graph()], small(gradient), TrainConfig(epochs=1, device="cpu")
        ).records[0]
        for gradient in BINARY
    ]
    assert losses[0].data_loss == losses[1].data_loss == losses[2].data_loss


@pytest.mark.gpu
@pytest.mark.parametrize("gradient", BINARY)
def test_a_gpu_follows_the_same_losses(gradient):
    records = [
        fit([block_graph()], small(gradient), TrainConfig(epochs=6, device=d)).records
        for d in ("cpu", "cuda")
    ]
    cpu, cuda = ([record.data_loss for record in run] for run in records)
    assert cuda == pytest.approx(cpu, rel=1e-2)
