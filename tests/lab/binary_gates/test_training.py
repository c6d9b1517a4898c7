"""Training with binary gates, for every gradient by them."""

import dataclasses
import math

import pytest
import torch
from support.exact_gradient import (
    LOG_ALPHA,
    estimates,
    exact,
    gradients,
    standard_errors,
    still_epochs,
)
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat.training import checkpoint
from sgat_lab.baselines import fit
from sgat_lab.binary_gates.estimators import Rebar, Reinforce, Relax
from sgat_lab.binary_gates.training import BinaryTraining
from sgat_lab.config import MethodConfig
from sgat_lab.trials.evaluation import evaluate

BINARY = ["reinforce", "gumbel", "rebar", "relax"]


def test_the_straight_through_gradient_is_biased_and_points_the_right_way(seed):
    found, truth = estimates("gumbel", 1, seed)[LOG_ALPHA], exact()[LOG_ALPHA]
    assert torch.isfinite(found).all() and (found != 0).all(), "closed gates count too"
    assert float(torch.cosine_similarity(found.mean(dim=0), truth, dim=0)) > 0.5
    # The same yardstick sees a bias where there is one.
    assert standard_errors(found, truth) > 4


@pytest.mark.parametrize(
    ("gradient", "kind"),
    [
        *(("gumbel", type(None)), ("reinforce", Reinforce)),
        *(("rebar", Rebar), ("relax", Relax)),
    ],
)
def test_only_the_score_function_needs_an_estimator(gradient, kind):
    training = BinaryTraining([block_graph()], small(gradient), TrainConfig())
    assert isinstance(training.epochs.estimator, kind)


def test_judged_gates_are_refused():
    judged = small("relax", scorer="evidence")
    with pytest.raises(ValueError, match="use another scorer than evidence"):
        BinaryTraining([block_graph()], judged, TrainConfig(device="cpu"))


@pytest.mark.parametrize("gradient", BINARY)
def test_the_penalty_has_its_exact_gradient(gradient, seed):
    free, priced = (
        gradients(still_epochs(gradient, l0_weight=price), seed)[LOG_ALPHA]
        for price in (0.0, 0.5)
    )
    probability = torch.sigmoid(torch.linspace(-1.5, 1.5, 7, dtype=torch.float64))
    assert torch.allclose(priced - free, 0.5 * probability * (1 - probability))


def small(gradient: str, **options) -> MethodConfig:
    return MethodConfig(hidden=7, gate_gradient=gradient, **options)


def test_the_same_seed_draws_the_same_gates_for_every_gradient(seed):
    data = block_graph()
    opened = []
    for gradient in BINARY:
        training = BinaryTraining([data], small(gradient), TrainConfig(device="cpu"))
        model = training.model.train()
        opened.append(model.compute(data.x, data.graph, seed=seed).opened)
    first, *others = opened
    assert 0 < int(first.num_open) < data.graph.num_edges
    assert (first.gate == 1).all()
    for other in others:
        assert torch.equal(other.edge[other.gate > 0], first.edge)


@pytest.mark.parametrize("gradient", BINARY)
def test_training_learns_with_binary_gates(gradient):
    data = block_graph(feature_signal=3.0)
    config = TrainConfig(epochs=30, lr=0.04, device="cpu")
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
    config = TrainConfig(epochs=30, keep=0.3, device="cpu")
    result = fit([data], small(gradient, symmetric=False), config)
    assert result.best.kept_share == pytest.approx(0.3, abs=0.01)
    drawn = [record.expected_open for record in result.records[-10:]]
    assert sum(drawn) / 10 == pytest.approx(0.3, abs=0.1)


# Only "reinforce" draws more than once.
@pytest.mark.parametrize(
    ("gradient", "samples"), [*((name, 1) for name in BINARY), ("reinforce", 2)]
)
def test_a_resumed_run_goes_on_to_the_same_bits(gradient, samples, tmp_path):
    path = tmp_path / "state.safetensors"
    config = TrainConfig(epochs=5, device="cpu", keep=0.5)
    model = small(gradient, gate_samples=samples)
    whole = BinaryTraining([block_graph()], model, config).run()
    part = BinaryTraining([block_graph()], model, config)
    part.run_epochs()
    part.run_epochs()
    checkpoint.save(part, path)
    rest = BinaryTraining([block_graph()], model, config)
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
    assert len({record.data_loss for record in losses}) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("gradient", BINARY)
def test_a_gpu_follows_the_same_losses(gradient):
    records = [
        fit([block_graph()], small(gradient), TrainConfig(epochs=6, device=d)).records
        for d in ("cpu", "cuda")
    ]
    cpu, cuda = ([record.data_loss for record in run] for run in records)
    assert cuda == pytest.approx(cpu, rel=1e-2)
