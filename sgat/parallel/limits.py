"""What several processes cannot train, said before anything starts."""

from collections.abc import Sequence

import torch

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.parallel.ranks import Ranks

SCORERS = ("auto", "evidence", "revised", "additive")
"""Scorers that need a row of numbers of each neighbour, and then train the same."""


def check_parallel(
    graphs: Sequence[NodeData], model: ModelConfig, train: TrainConfig, ranks: Ranks
) -> None:
    """Refuse data and settings that several processes cannot train with together."""
    where = "where several processes train together"
    if len(graphs) > 1:
        raise ValueError(f"There must be one graph {where}, got {len(graphs)}.")
    if graphs[0].num_nodes < ranks.size:
        raise ValueError(
            f"There must be a node for each of the {ranks.size} processes that train"
            f" together, got {graphs[0].num_nodes}."
        )
    if model.gate_mode != "inductive":
        raise ValueError(f"`gate_mode` must be inductive {where}.")
    if model.scorer not in SCORERS:
        raise ValueError(
            f"`scorer` must be {', '.join(SCORERS[:-1])} or {SCORERS[-1]} {where}, got"
            f" {model.scorer}."
        )
    if train.precision != "float32":
        # In narrow types another order of a sum is another result.
        raise ValueError(f"`precision` must be float32 {where}.")
    is_cpu = train.device == "cpu" or (
        train.device == "auto" and not torch.cuda.is_available()
    )
    if not is_cpu:
        raise ValueError(f"`device` must be cpu {where}, got {train.device}.")
