"""The gradient by binary gates in a training step: its estimator, where it enters.

`attach` adds an estimate to the gradient by log α, and the backward pass carries it on
to the weights. The loss has its own derivative by the weights besides, and the penalty
λ Σ π its exact gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from sgat.gates import BinaryGates, Gates
from sgat.ops import OpenEdges, Seed, noise, reference
from sgat.training.gate_estimators import Draw, Estimator, Rebar, Reinforce, Relax

ESTIMATORS = {"reinforce": Reinforce, "rebar": Rebar, "relax": Relax}


def estimator_for(gates: Gates, device: torch.device | str) -> Estimator | None:
    """The estimator that training with these gates needs, None for none."""
    if not isinstance(gates, BinaryGates) or gates.gradient not in ESTIMATORS:
        return None
    return ESTIMATORS[gates.gradient](gates, device)


def attach(
    estimator: Estimator,
    loss: Tensor,
    opened: OpenEdges,
    seed: Seed,
    loss_with: Callable[[OpenEdges], Tensor],
) -> Tensor:
    """The loss with the edges `opened`, whose gradient reaches log α by an estimate.

    `seed` drew them; `loss_with` is the loss with other edges, all else equal.
    """
    graph, penalty = opened.graph, opened.penalty
    assert opened.log_alpha is not None
    fixed = opened.log_alpha.detach()

    def loss_at(gate: Tensor) -> Tensor:
        # A derivative by the gates needs the closed ones too.
        return loss_with(
            reference.with_gates(graph, gate, penalty, with_closed=gate.requires_grad)
        )

    draw = Draw(
        log_alpha=fixed,
        gate=torch.zeros_like(fixed).index_fill(0, opened.edge, 1),
        loss=loss.detach(),
        uniform=lambda stream: noise.edge_uniform(seed, graph, stream).to(fixed),
        loss_at=loss_at,
    )
    gradient = estimator.estimate(draw).detach()
    return loss + ((opened.log_alpha - fixed) * gradient).sum()
