"""A split as a file: plain arrays of node positions, never a pickle."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgat.data.node_data import ROLES
from sgat.data.splits import Split


def save_split(path: str | os.PathLike[str], splits: Sequence[Split]) -> None:
    """Write the splits of one or several graphs as plain arrays (npz).

    `num_nodes` holds the size of each graph; `train`, `val` and `test` hold positions
    of nodes, counted through all graphs. The file appears only when it is complete.
    """
    from sgat.data.files.atomic import replacing

    offsets = np.cumsum([0] + [split.num_nodes for split in splits])
    pairs = list(zip(splits, offsets, strict=False))
    arrays: dict[str, Any] = {
        role: np.concatenate(
            [np.zeros(0, np.int64), *(getattr(s, role) + start for s, start in pairs)]
        )
        for role in ROLES
    }
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays, num_nodes=np.diff(offsets))


def load_split(path: str | os.PathLike[str]) -> list[Split]:
    """Read what `save_split` wrote; no pickled object is ever opened.

    Raises:
        ValueError: If the file is no such file, an id is out of range, or a node has
            two roles.
    """
    try:
        with (
            Path(path).open("rb") as stream,
            np.load(stream, allow_pickle=False) as file,
        ):
            arrays = {key: file[key] for key in ("num_nodes", *ROLES)}
    except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"The file {path} must be a split as `save_split` writes it: {error}"
        ) from error
    for key, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"`{key}` in {path} must be a list of whole numbers,"
                f" got {array.dtype} of shape {list(array.shape)}."
            )
    sizes = arrays.pop("num_nodes").astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    named = np.sort(np.concatenate(list(arrays.values())).astype(np.int64))
    if len(named) and (named[0] < 0 or named[-1] >= offsets[-1]):
        bad = named[0] if named[0] < 0 else named[-1]
        raise ValueError(
            f"A node in {path} must be 0 to {offsets[-1] - 1}, got {int(bad)}."
        )
    if (named[1:] == named[:-1]).any():
        node = int(named[1:][named[1:] == named[:-1]][0])
        raise ValueError(f"Node {node} in {path} is named more than once.")
    splits = []
    for start, size in zip(offsets, sizes, strict=False):
        train, val, test = (
            np.sort(ids[(ids >= start) & (ids < start + size)] - start)
            for ids in (arrays[role].astype(np.int64) for role in ROLES)
        )
        splits.append(Split(train, val, test, int(size)))
    return splits
