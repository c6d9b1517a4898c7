"""Edge tables: the graph, its weights, and the features of its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.config import FileOptions
from sgat.data.files.columns import numbers, shown
from sgat.data.files.encoding import FeatureColumn, encode
from sgat.data.files.ids import positions
from sgat.data.files.source import Source
from sgat.features import SparseFeatures


def weight_column(source: Source, options: FileOptions) -> str | None:
    """Name of the column with the weights, None if all are 1.

    Raises:
        ValueError: If the column asked for is not there.
    """
    if options.weight is not None:
        source.column(options.weight, "the weight")
        return options.weight
    taken = (options.src, options.dst, *options.drop, *options.edge_features)
    present = "weight" in source.table.column_names and "weight" not in taken
    return "weight" if present else None


def edge_index(
    source: Source, names: tuple[str, str], ends: list[Any], ids: Any, nodes: str
) -> Tensor:
    """The rows as pairs of node numbers, [2, M]; `ends` are their ids.

    Raises:
        ValueError: If an edge names a node that `nodes`, the node file, does not have.
    """
    pair = np.empty((2, len(source.table)), dtype=np.int64)
    for place, (name, column) in enumerate(zip(names, ends, strict=True)):
        pair[place] = positions(column, ids)
        if len(pair[place]) and pair[place].min() < 0:
            row = int((pair[place] < 0).argmax())
            raise source.fault(
                f"{column[row].as_py()!r} is not an id of {nodes}.",
                column=name,
                row=row,
            )
    return torch.from_numpy(pair)


def edge_weight(source: Source, name: str | None) -> Tensor | None:
    """The weight of each row, [M].

    Raises:
        ValueError: If a weight is missing, negative, or not a finite 32-bit number.
    """
    if name is None:
        return None
    value = numbers(source, name)
    # NaN fails the comparison too.
    bad = ~((value >= 0) & (value <= np.finfo(np.float32).max))
    if bad.any():
        row = int(bad.argmax())
        given = shown(source.table.column(name)[row].as_py())
        raise source.fault(
            f"must be a finite number of at least 0, got {given}.", column=name, row=row
        )
    return torch.tensor(value, dtype=torch.get_default_dtype())


def edge_features(source: Source, columns: tuple[FeatureColumn, ...]) -> Tensor | None:
    """Features of each row, [M, F]; None without columns."""
    if not columns:
        return None
    found = encode(source, columns)
    return found.to_dense() if isinstance(found, SparseFeatures) else found
