"""The exact gradient by binary gates, by enumeration, and many estimates of it."""

import functools
import itertools
import math

import torch
from torch import Tensor

from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat.ops import noise, reference
from sgat.training.epoch import Epochs
from sgat.training.fresh_model import build_sgat
from sgat.training.metrics import loss_on
from sgat.training.role import Role
from sgat_lab.binary_gates.estimators import Draw
from sgat_lab.binary_gates.gates import BinaryGates
from sgat_lab.binary_gates.training import use_gates
from sgat_lab.config import MethodConfig

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
    config = MethodConfig(
        hidden=2,
        heads=1,
        dropout=0.0,
        attention_dropout=0.0,
        gate_mode="transductive",
        gate_bias=False,
    )
    model = build_sgat(config, 3, 2, 7).double()
    model.reset_parameters(torch.Generator().manual_seed(5))
    with torch.no_grad():
        model.gating.scorer.log_alpha.copy_(torch.linspace(-1.5, 1.5, 7))
    still = {"lr": 1e-300, "weight_decay": 0.0, "l0_weight": 0.0} | settings
    epochs = Epochs(model, [small_data()], TrainConfig(**still))
    use_gates(epochs, BinaryGates(gradient, samples=samples))
    return epochs


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
def estimates(
    gradient: str, samples: int, seed: int, num_steps: int = STEPS
) -> dict[str, Tensor]:
    """Gradients of training steps with different noise, [num_steps - 1, ...].

    The first step is left out: without a baseline, "reinforce" estimates 0 there.
    """
    epochs = still_epochs(gradient, samples)
    steps = [gradients(epochs, noise.derive(seed, step)) for step in range(num_steps)]
    return {name: torch.stack([g[name] for g in steps[1:]]) for name in steps[0]}


def standard_errors(found: Tensor, truth: Tensor) -> float:
    """The largest distance of a mean from the truth, in its standard errors."""
    error = found.std(dim=0) / math.sqrt(len(found))
    return float(((found.mean(dim=0) - truth).abs() / error).max())


# f(z) = 3 z₁ + z₂ with π = (½, ¾): exact gradient (3 · ¼, 1 · 3/16).
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
