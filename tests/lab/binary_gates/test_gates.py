"""BinaryGates: values, distribution, the straight-through gradient, and errors."""

import math
import re

import numpy as np
import pytest
import torch
from support.awkward import GRAPHS

from sgat import ops
from sgat.config.pruning import Rules
from sgat.graph import Graph
from sgat.pruning.choice import choose_edges, chosen_scores
from sgat_lab.binary_gates.gates import BinaryGates

DRAWS, DISTANCE = 1_000_000, 0.004
"""So large a distance of shares has probability below 1e-13 (see test_gates.py)."""
BINARY = ["reinforce", "gumbel", "rebar"]


@pytest.mark.parametrize("gradient", BINARY)
# A gate opens iff u > 1 - π, and log α = log 3 has π = ¾.
@pytest.mark.parametrize(("uniform", "gate"), [(0.2, 0), (0.26, 1), (0.9, 1)])
def test_binary_gates_worked_out_by_hand(gradient: str, uniform: float, gate: int):
    gates = BinaryGates(gradient)
    log_alpha = torch.tensor(math.log(3), dtype=torch.float64)
    drawn = gates.sample(log_alpha, torch.tensor(uniform, dtype=torch.float64))
    assert float(drawn) == gate
    assert float(gates.probability_open(log_alpha)) == pytest.approx(0.75)
    assert (float(gates.value(log_alpha)), float(gates.value(-log_alpha))) == (1, 0)
    assert float(gates.value(torch.zeros(()))) == 0, "π = ½ is not above ½"


@pytest.mark.parametrize("gradient", BINARY)
@pytest.mark.parametrize("log_alpha", [-3.0, -0.7, 0.0, 2.5])
def test_binary_gates_are_open_with_their_probability(gradient, log_alpha, seed: int):
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(DRAWS, generator=generator).clamp(min=1e-7)
    gate = BinaryGates(gradient).sample(torch.tensor(log_alpha), uniform)
    assert set(gate.unique().tolist()) == {0.0, 1.0}
    probability = 1 / (1 + math.exp(-log_alpha))
    assert abs(float(gate.double().mean()) - probability) < DISTANCE


def test_the_gradient_passes_straight_through_a_gumbel_gate_and_no_other():
    uniform = torch.rand(97, dtype=torch.float64)
    log_alpha = torch.linspace(-4, 4, 97, dtype=torch.float64, requires_grad=True)
    gates = BinaryGates("gumbel", temperature=0.5)
    gates.sample(log_alpha, uniform).sum().backward()
    relaxed = torch.sigmoid((uniform.logit() + log_alpha.detach()) / 0.5)
    assert torch.allclose(log_alpha.grad, relaxed * (1 - relaxed) / 0.5)
    for gradient in ("reinforce", "rebar", "relax"):
        assert not BinaryGates(gradient).sample(log_alpha, uniform).requires_grad


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"temperature": 0.0}, "`temperature` must be positive, got 0.0."),
        ({"samples": 0}, "`samples` must be at least 1, got 0."),
        (
            {"gradient": "legrad"},
            "`gradient` must be reinforce, gumbel, rebar or relax, got 'legrad'.",
        ),
    ],
)
def test_impossible_binary_gates_are_refused(options: dict, sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        BinaryGates(**({"gradient": "reinforce"} | options))


@pytest.mark.parametrize("gradient", BINARY)
def test_binary_gates_run_on_the_reference_and_say_so(gradient):
    graph, gates = GRAPHS["random directed"](), BinaryGates(gradient)
    score = torch.zeros(graph.num_nodes)
    opened = ops.open_edges(graph, score, score, gates=gates)
    assert isinstance(opened, ops.reference.OpenEdges)
    with pytest.raises(ValueError) as error:
        ops.open_edges(graph, score, score, gates=gates, backend="cpu")
    assert str(error.value) == (
        "Backend 'cpu' needs hard-concrete gates; others run on backend='reference' or"
        " 'auto'."
    )


def test_binary_gates_below_the_cut_have_their_probability():
    gates = BinaryGates("gumbel", temperature=1.0)
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 0]]), 2)
    log_alpha = torch.tensor([-1.0, 2.0])
    rules = Rules(min_degree=1)
    choice = choose_edges(log_alpha.numpy(), graph, rules, threshold=0.0)
    found = chosen_scores(choice, graph, gates)
    assert found.gate.tolist() == pytest.approx([1 / (1 + np.e), 1.0])
