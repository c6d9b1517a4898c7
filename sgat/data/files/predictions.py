"""Predictions to a table of nodes, with the user's ids and class names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from sgat.data.node_data import NodeData


def prediction_table(data: NodeData, probability: Tensor) -> Any:
    """One row per node: id, prediction, true label, split, and the probabilities.

    With classes, `prediction` and `label` hold the user's class names and
    `probability_NAME` the probability of each class. With several labels, each has its
    own columns `prediction_NAME` (probability above one half), `label_NAME` and
    `probability_NAME`. An unlabelled node has no `label`; one without a role no
    `split`.

    Args:
        data: The nodes.
        probability: Probability of each class or label, [N, C].

    Returns:
        A `pyarrow.Table` of N rows.

    Raises:
        ValueError: If the shape of `probability` is not [N, C].
    """
    shape = (data.num_nodes, data.num_classes)
    if tuple(probability.shape) != shape:
        raise ValueError(
            f"`probability` must have shape {list(shape)},"
            f" got {list(probability.shape)}."
        )
    ids = np.arange(data.num_nodes) if data.node_ids is None else data.node_ids
    probability, y = probability.detach().cpu(), data.y.cpu()
    columns: dict[str, Any] = {"id": pa.array(ids)}
    if data.is_multilabel:
        for number, name in enumerate(data.classes):
            columns[f"prediction_{name}"] = (probability[:, number] > 0.5).numpy()
            columns[f"label_{name}"] = (y[:, number] > 0.5).numpy()
    else:
        names = pa.array(data.classes)
        best = probability.argmax(dim=1) if shape[1] else torch.full(shape[:1], -1)
        columns["prediction"] = _named(names, best)
        columns["label"] = _named(names, y)
    role = torch.full(shape[:1], -1)
    for number, mask in enumerate((data.train, data.val, data.test)):
        role[mask.cpu()] = number
    columns["split"] = _named(pa.array(["train", "val", "test"]), role)
    for number, name in enumerate(data.classes):
        columns[f"probability_{name}"] = probability[:, number].float().numpy()
    return pa.table(columns)


def _named(names: Any, index: Tensor) -> Any:
    """The name of each index, null for -1."""
    given = index.numpy()
    return names.take(pa.array(given, mask=given < 0))
