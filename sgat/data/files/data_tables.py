"""Tables made of `NodeData`, with the user's ids and class names."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData
from sgat.features import SparseFeatures


def edge_table(data: NodeData) -> Any:
    """One row per edge: src, dst, and weight where edges have one."""
    graph, ids = data.graph, data.ids
    columns = {"src": ids[graph.src.cpu().numpy()], "dst": ids[graph.dst.cpu().numpy()]}
    if graph.weight is not None:
        columns["weight"] = graph.weight.cpu().numpy()
    return pa.table(columns)


def node_table(data: NodeData) -> Any:
    """One row per node: id, feature_0 …, label or a label_NAME each, and split.

    Identity features, which a reader gives nodes without any, are left out.
    """
    columns, x = {"id": data.ids}, data.x
    if isinstance(x, SparseFeatures):
        x = torch.empty(0, 0) if _is_identity(x) else x.to_dense()
    for place, column in enumerate(x.cpu().numpy().T):
        columns[f"feature_{place}"] = np.ascontiguousarray(column)
    if data.is_multilabel:
        for name, column in zip(data.classes, data.y.cpu().numpy().T, strict=True):
            columns[f"label_{name}"] = column.astype(np.int8)
    else:
        columns["label"] = _named(data.classes, data.y)
    return pa.table({**columns, "split": _named(ROLES, data.role)})


def prediction_table(data: NodeData, probability: Tensor) -> Any:
    """One row per node: id, prediction, true label, split and probabilities, [N, C].

    With classes, `prediction` and `label` hold the user's class names and
    `probability_NAME` the probability of each class. With several labels, each has its
    own columns `prediction_NAME` (probability above one half), `label_NAME` and
    `probability_NAME`. Label and split are null where a node has none.
    """
    shape, got = [data.num_nodes, data.num_classes], list(probability.shape)
    if got != shape:
        raise ValueError(f"`probability` must have shape {shape}, got {got}.")
    probability, y = probability.detach().cpu(), data.y.cpu()
    columns: dict[str, Any] = {"id": pa.array(data.ids)}
    if data.is_multilabel:
        for number, name in enumerate(data.classes):
            columns[f"prediction_{name}"] = (probability[:, number] > 0.5).numpy()
            columns[f"label_{name}"] = (y[:, number] > 0.5).numpy()
    else:
        best = probability.argmax(dim=1) if shape[1] else torch.full(shape[:1], -1)
        columns["prediction"] = _named(data.classes, best)
        columns["label"] = _named(data.classes, y)
    columns["split"] = _named(ROLES, data.role)
    for number, name in enumerate(data.classes):
        columns[f"probability_{name}"] = probability[:, number].float().numpy()
    return pa.table(columns)


def _named(names: tuple[Any, ...], index: Tensor) -> Any:
    """The name of each index, null for -1."""
    given = index.cpu().numpy()
    return pa.array(names).take(pa.array(given, mask=given < 0))


def _is_identity(x: SparseFeatures) -> bool:
    return (
        x.shape[0] == x.shape[1] == len(x.column)
        and bool((x.column == x.row).all())
        and bool((x.value == 1).all())
    )
