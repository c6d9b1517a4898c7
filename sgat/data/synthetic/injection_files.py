"""Data with added edges as a folder of tables."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.data.synthetic.injection import Injected
from sgat.features import Features, SparseFeatures


def write_injected(
    graphs: Sequence[Injected], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write graphs with added edges as Parquet tables, all of them or nothing.

    `edges.parquet` has the columns src and dst, weight where the graph has weights, and
    edge_feature_0 … where it has those; `added.parquet` has src and dst of the added
    edges alone, so that no reader of the edges takes the answer for a feature;
    `nodes.parquet` has id, feature_0 …, split, and label, or label_NAME of each label
    in the multi-label case. Identity features are left out, as `read_graph` puts them
    in again. Nodes have the user's ids. Several graphs get a folder each, named by
    their number.

    Args:
        graphs: What to write.
        folder: Where to; it must not exist, or be empty.

    Returns:
        The files written.

    Raises:
        ValueError: If the folder holds something.
        OSError: If it cannot be written.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(
            f"The output folder {os.fspath(folder)!r} must be new or empty;"
            f" choose another or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    width = len(str(len(graphs) - 1))
    try:
        for number, injected in enumerate(graphs):
            place = temporary / f"{number:0{width}d}" if len(graphs) > 1 else temporary
            place.mkdir(parents=True)
            _write(injected, place)
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sorted(target.rglob("*.parquet"))


def _write(injected: Injected, place: Path) -> None:
    data = injected.data
    edges = _edge_table(data)
    pq.write_table(edges, place / "edges.parquet")
    added = edges.select(["src", "dst"]).filter(pa.array(_numpy(injected.added)))
    pq.write_table(added, place / "added.parquet")
    pq.write_table(_node_table(data), place / "nodes.parquet")


def _edge_table(data: NodeData) -> Any:
    ids = _ids(data)
    columns = {"src": ids[_numpy(data.graph.src)], "dst": ids[_numpy(data.graph.dst)]}
    if data.graph.weight is not None:
        columns["weight"] = _numpy(data.graph.weight)
    if data.edge_features is not None:
        for number, column in enumerate(_numpy(data.edge_features).T):
            columns[f"edge_feature_{number}"] = column
    return pa.table(columns)


def _node_table(data: NodeData) -> Any:
    columns: dict[str, Any] = {"id": _ids(data)}
    if not _is_identity(data.x):
        x = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
        for number, column in enumerate(_numpy(x).T):
            columns[f"feature_{number}"] = np.ascontiguousarray(column)
    if data.is_multilabel:
        for name, column in zip(data.classes, _numpy(data.y).T, strict=True):
            columns[f"label_{name}"] = column.astype(np.int8)
    else:
        columns["label"] = pa.array(
            [None if label < 0 else data.classes[label] for label in data.y.tolist()]
        )
    split = np.full(data.num_nodes, None, dtype=object)
    for role in ("train", "val", "test"):
        split[_numpy(getattr(data, role))] = role
    columns["split"] = pa.array(split, type=pa.string())
    return pa.table(columns)


def _is_identity(x: Features) -> bool:
    """Whether these are the features that nodes without features are given."""
    return (
        isinstance(x, SparseFeatures)
        and x.shape[0] == x.shape[1] == len(x.column)
        and bool((x.column == x.row).all() and (x.value == 1).all())
    )


def _ids(data: NodeData) -> np.ndarray[Any, Any]:
    return np.arange(data.num_nodes) if data.node_ids is None else data.node_ids


def _numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.cpu().numpy()
    return array
