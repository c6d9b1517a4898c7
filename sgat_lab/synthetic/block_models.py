"""Block models by name: made graphs of which every edge is original or planted."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from sgat.data.synthetic import SyntheticData, contextual_block_model
from sgat.data.synthetic.pairs import generator_for

BLOCK_MODELS: dict[str, dict[str, Any]] = {
    "block-20": {"num_nodes": 1000, "num_classes": 20, "degree": 20.0},
    "block-5": {"num_nodes": 1000, "num_classes": 5, "degree": 10.0},
    "block-20-few": {
        "num_nodes": 1000,
        "num_classes": 20,
        "degree": 20.0,
        "fractions": (0.1, 0.2, 0.7),
    },
}
"""Arguments of `contextual_block_model`; 60 % of the nodes train, of "few" 10 %."""


def block_model(
    name: str,
    seed: int,
    *,
    noise_rate: float,
    feature_signal: float,
    shuffled: bool = False,
) -> SyntheticData:
    """Draw a block model.

    Args:
        name: One of `BLOCK_MODELS`.
        seed: Of everything that is drawn.
        noise_rate: Share of the edges that is planted, whatever the classes.
        feature_signal: Length of the class means of the features.
        shuffled: Deal the labels out at random, so that they say nothing of the edges.
    """
    made = contextual_block_model(
        noise_rate=noise_rate,
        feature_signal=feature_signal,
        seed=seed,
        **BLOCK_MODELS[name],
    )
    if not shuffled:
        return made
    order = torch.randperm(made.data.num_nodes, generator=generator_for(seed, 12))
    data = dataclasses.replace(made.data, y=made.data.y[order])
    return SyntheticData(data, made.is_signal)


def auc_ceiling(name: str, noise_rate: float) -> float:
    """The AUC, original above planted, of a judge who knows all classes and no more.

    Planted edges that join one class, a share q of them, look like original ones:

        1 - q / 2,   q = (N / C - 1 - d) / (N - 1 - d),   d = (1 - noise_rate) · degree

    because d of the pairs inside its class that a node is in are original edges.
    """
    made = BLOCK_MODELS[name]
    originals = (1 - noise_rate) * made["degree"]
    inside = made["num_nodes"] / made["num_classes"] - 1 - originals
    return float(1 - inside / (made["num_nodes"] - 1 - originals) / 2)
