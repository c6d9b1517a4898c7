"""What a trained model says about every edge and node, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from sgat.data.node_data import NodeData
from sgat.edge_scores import EdgeScores
from sgat.models import SGAT


def edge_scores(model: SGAT, graphs: Sequence[NodeData]) -> list[EdgeScores]:
    """Scores of all edges of each graph, on the CPU."""
    gates = model.gating.gates
    scores = []
    with torch.no_grad():
        for data in graphs:
            log_alpha = model.log_alpha(data.x, data.graph)
            found = EdgeScores.from_log_alpha(log_alpha, data.graph, gates)
            scores.append(found.to("cpu"))
    return scores


def edge_table(graphs: Sequence[NodeData], scores: Sequence[EdgeScores]) -> Any:
    """One row per edge with the user's node ids, the weight and all scores."""
    tables = []
    for data, found in zip(graphs, scores, strict=True):
        src, dst = data.graph.src.cpu().numpy(), data.graph.dst.cpu().numpy()
        ids = data.node_ids
        columns = {
            "src": src if ids is None else ids[src],
            "dst": dst if ids is None else ids[dst],
            "weight": data.graph.edge_weight.cpu().numpy(),
            "log_alpha": found.log_alpha.numpy(),
            "probability": found.probability.numpy(),
            "gate": found.gate.numpy(),
            "kept": found.kept.numpy(),
            "attention": np.asarray(found.attention),
        }
        table = pd.DataFrame(columns)
        if len(graphs) > 1:
            table.insert(0, "graph", data.name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


@torch.no_grad()
def node_table(model: SGAT, graphs: Sequence[NodeData]) -> Any:
    """Id, prediction, label, split and probabilities of every node."""
    import pyarrow as pa

    from sgat.data.files import prediction_table

    tables = []
    for data in graphs:
        logits = model(data.x, data.graph).double()
        squash = torch.sigmoid if data.is_multilabel else _softmax
        table = prediction_table(data, squash(logits))
        if len(graphs) > 1:
            table = table.add_column(0, "graph", pa.array([data.name] * len(table)))
        tables.append(table)
    return pa.concat_tables(tables)


def _softmax(logits: torch.Tensor) -> torch.Tensor:
    return logits.softmax(dim=1)
