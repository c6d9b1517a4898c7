"""Records, tables and snapshots of a training as files.

Each is written in full or not at all; the error for a damaged one names it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from sgat.data.files.atomic import replacing, write_text
from sgat.training.result import Snapshot


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write one line per epoch."""
    lines = (json.dumps(record) for record in records)
    write_text(path, "".join(line + "\n" for line in lines))


def read_records(path: Path) -> Any:
    """The records of a run as a table; empty if there are none."""
    if not path.exists():
        return pd.DataFrame()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return pd.DataFrame([json.loads(line) for line in lines])
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {error}."
        ) from None


def write_parquet(path: Path, table: Any) -> None:
    """Write a table as a Parquet file, in full or not at all."""
    import pyarrow.parquet as pq

    with replacing(path) as temporary:
        pq.write_table(arrow_table(table), temporary, compression="zstd")


@contextlib.contextmanager
def opened_parquet(path: Path, **options: Any) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`; `options` are its arguments."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, **options) as file:
            yield file
    except (pa.ArrowException, OSError, KeyError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {detail}"
        ) from None


def read_parquet(path: Path, columns: list[str] | None = None) -> Any:
    """A table of a run, or some of its columns, as a `pyarrow.Table`."""
    with opened_parquet(path) as file:
        return file.read(columns)


def arrow_table(table: Any) -> Any:
    """A table as Parquet holds it; a column of mixed types becomes strings."""
    import pyarrow as pa

    if not isinstance(table, pd.DataFrame):
        return table
    columns = {}
    for name, column in table.items():
        try:
            columns[name] = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([str(value) for value in column])
    return pa.table(columns)


def write_snapshots(path: Path, snapshots: Sequence[Snapshot]) -> None:
    """Write scores and predictions over the epochs as plain arrays."""
    arrays: dict[str, Any] = {
        "epoch": np.array([snapshot.epoch for snapshot in snapshots]),
        "log_alpha": torch.stack([s.log_alpha for s in snapshots]).numpy(),
        "logits": torch.stack([s.logits for s in snapshots]).numpy(),
    }
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
