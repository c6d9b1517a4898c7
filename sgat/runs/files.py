"""What is in the files of a run: tables, records and snapshots, written and read.

Each is written in full or not at all; a damaged one is named when it is read.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from sgat.data.files.atomic import replacing, write_text
from sgat.training.result import EpochRecord, Snapshot


def write_records(path: Path, records: Sequence[EpochRecord]) -> None:
    """Write one line per epoch."""
    lines = (json.dumps(dataclasses.asdict(record)) for record in records)
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


def write_parquet(path: Path, *tables: Any) -> None:
    """Write tables below each other as one Parquet file, in full or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    converted = [arrow_table(table) for table in tables]
    whole = pa.concat_tables(converted, promote_options="permissive")
    with replacing(path) as temporary:
        pq.write_table(whole, temporary, compression="zstd")


def read_parquet(path: Path) -> Any:
    """A table of a run; None if there is none."""
    import pyarrow as pa

    if not path.exists():
        return None
    try:
        return pd.read_parquet(path)
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {detail}"
        ) from None


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
