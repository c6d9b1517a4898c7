"""Fresh models, as settings describe them, with weights drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.gates import chosen_gates
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier

Build = Callable[[NodeData], NodeClassifier]
"""Makes another model than SGAT for data of these sizes; weights are drawn later."""


def build_sgat(
    config: ModelConfig, in_channels: int, out_channels: int, num_edges: int
) -> SGAT:
    """The network that settings describe, for data of these sizes."""
    for name in ("scorer", "readout"):
        if getattr(config, name) == "auto":
            raise ValueError(f"`{name}` must not be auto here; see `resolved`.")
    assert config.readout != "auto"
    return SGAT(
        in_channels,
        config.hidden,
        out_channels,
        heads=config.heads,
        layers=config.layers,
        readout=config.readout,
        steps=config.steps,
        restart=config.restart,
        output_heads=config.output_heads,
        activation=config.activation,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        gate_mode=config.gate_mode,
        num_edges=num_edges,
        scorer=config.scorer,
        rank=config.rank,
        gate_bias=config.gate_bias_start if config.gate_bias else None,
        symmetric=bool(config.symmetric),
        bias=config.bias,
        residual=config.residual,
        gates=chosen_gates(config),
        init_gain=config.init_gain,
        backend=config.backend,
    )


def fresh_model(
    model: ModelConfig,
    graphs: Sequence[NodeData],
    train: TrainConfig,
    build: Build | None,
) -> NodeClassifier:
    """A model with the weights of `train.seed`, on the CPU: SGAT, unless `build`."""
    first = graphs[0]
    # Layers draw weights when they are made; torch's generator is not ours to move.
    with torch.random.fork_rng(devices=[]):
        if build is None:
            _check_sgat(model, graphs, train)
            sizes = first.num_features, first.num_classes, first.graph.num_edges
            fresh: NodeClassifier = build_sgat(model, *sizes)
        else:
            given = {"keep": train.keep, "snapshots": train.snapshots}
            for name, value in given.items():
                if value:
                    raise ValueError(
                        f"`{name}` must be left out with `build`, got {value}."
                    )
            fresh = build(first)
    fresh.reset_parameters(torch.Generator().manual_seed(train.seed))
    return fresh


def _check_sgat(
    model: ModelConfig, graphs: Sequence[NodeData], train: TrainConfig
) -> None:
    if model.gate_mode == "transductive" and len(graphs) > 1:
        raise ValueError(
            "`gate_mode` must be inductive to train on several graphs:"
            " transductive gates know the edges of one graph only."
        )
    if train.keep is not None and not model.gate_bias:
        raise ValueError(
            "`gate_bias` must be true with `keep`: training to a share of edges moves"
            " the gate bias."
        )
