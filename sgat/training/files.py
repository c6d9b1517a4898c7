"""Files of a training: weights and state, records, tables and snapshots.

Each is written in full or not at all; the error for a damaged one names it. Tensors are
safetensors, never a pickle, and everything else is text in the header of their file.

Tested by tests/training/test_files.py and tests/training/test_checkpoint.py.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sgat.data.files.atomic import replacing, write_text
from sgat.data.files.binary_format import batches_within_bounds, parquet_writer
from sgat.data.files.bounds import CELL, check_size, is_out_of_memory
from sgat.data.files.source import check_names
from sgat.training.result import EpochRecord, Snapshot

MODEL_FORMAT = 5
"""Counts up when tensors get other names, or the same ones would mean something else;
since 5, models have a temperature of their class scores."""


def _damaged(path: Path, error: Exception) -> Exception:
    if is_out_of_memory(error):
        return MemoryError(f"Memory ran out while reading {path}; free some of it.")
    detail = " ".join(str(error).split()).rstrip(".")
    return ValueError(f"{path} is damaged or was not written by sgat: {detail}.")


def parsed(content: Any, kind: Any, path: Path) -> Any:
    """Plain content as a type of Python, which msgspec checks; `path` is its file."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise _damaged(path, error) from None


def _from_json(text: bytes | str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None


def write_records(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Write one line per epoch."""
    lines = (json.dumps(record) for record in records)
    write_text(path, "".join(line + "\n" for line in lines))


def read_records(path: Path) -> Any:
    """The records of a run as a table; empty if there are none."""
    if not path.exists():
        return pd.DataFrame()
    lines = [_from_json(line, path) for line in path.read_bytes().splitlines()]
    return pd.DataFrame(parsed(lines, list[EpochRecord], path))


def read_json(path: Path, kind: Any = dict[str, Any]) -> Any:
    """What is in a JSON file of a run; an error if it is missing or of another kind.

    What the kind does not name is left as it is.
    """
    try:
        content = _from_json(path.read_bytes(), path)
    except FileNotFoundError as error:
        raise _damaged(path, error) from None
    parsed(content, kind, path)
    return content


def write_parquet(path: Path, table: Any) -> None:
    """Write a table, or an iterator of its parts, as a file, in full or not at all."""
    with replacing(path) as temporary, parquet_writer(temporary) as write:
        for part in _ahead(table) if isinstance(table, Iterator) else [table]:
            write(arrow_table(part))


def _ahead(parts: Iterator[Any]) -> Iterator[Any]:
    """The parts, each made while the one before is written."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = thread.submit(next, parts, None)
            yield part


@contextlib.contextmanager
def opened_parquet(path: Path, **options: Any) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile`; `options` are its arguments."""
    with damage(path), pq.ParquetFile(path, **options) as file:
        check_size(path, 3 * CELL * file.metadata.num_rows, "train it again")
        yield file


@contextlib.contextmanager
def damage(path: Path) -> Iterator[None]:
    """Name the file of a table that cannot be read, or lacks a column of its type."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, TypeError, OverflowError) as error:
        raise _damaged(path, error) from None


def check_scores(path: Path) -> None:
    """Refuse a table of edges whose scores are no numbers; loops have none."""
    with opened_parquet(path) as file:
        if not pa.types.is_floating(file.schema_arrow.field("log_alpha").type):
            raise ValueError(f"{path}: `log_alpha` must be numbers; train it again.")
        for batch in file.iter_batches(1 << 20, columns=["log_alpha"]):
            if pc.all(pc.is_finite(batch.column("log_alpha"))).as_py() is False:
                raise ValueError(f"{path}: `log_alpha` must be finite; train it again.")


def read_parquet(path: Path, columns: list[str] | None = None) -> Any:
    """A table of a run, or some of its columns, as a `pyarrow.Table`."""
    with opened_parquet(path) as file:
        check_names(path, file.schema_arrow.names)
        batches = [*batches_within_bounds(path, file, columns)]
        known = batches[0].schema if batches else file.schema_arrow
        return pa.Table.from_batches(batches, known).combine_chunks()


def arrow_table(table: Any) -> Any:
    """A table as Parquet holds it; a column of mixed types becomes strings."""
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


def save_tensors(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write tensors by name, with a JSON-able `state` in the file's header."""
    on_cpu = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        temporary.write_bytes(save(on_cpu, metadata={"state": json.dumps(state)}))


def load_tensors(
    path: Path,
    like: Mapping[str, Tensor] | None = None,
    groups: Sequence[Mapping[str, Tensor]] = (),
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the state that `save_tensors` wrote.

    With `like`, names and shapes must be those of it before anything is read. Its
    tensors may be on the device "meta"; one of no entries stands for any number of
    them. Each of the `groups` may be left out as a whole.
    """
    with _opened(path) as (file, state):
        names = file.keys()
        if like is not None:
            for group in groups:
                like = {**like, **group} if group.keys() & set(names) else like
            _check_shapes({n: file.get_slice(n).get_shape() for n in names}, like, path)
        tensors = {name: file.get_tensor(name) for name in names}
    return tensors, state


def check_finite(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights that are no numbers; `path` is their file."""
    for name, tensor in tensors.items():
        is_bad = tensor.is_floating_point() and not tensor.float().isfinite().all()
        if is_bad or tensor.is_complex():
            raise ValueError(
                f"{path}: the numbers of `{name}` must be finite, and real; train it"
                " again."
            )


def _check_shapes(
    found: Mapping[str, list[int]], like: Mapping[str, Tensor], path: Path
) -> None:
    for name in (*(found.keys() ^ like.keys()),):
        what = "is missing" if name in like else "is not part of it"
        raise ValueError(f"{path} does not fit the model: `{name}` {what}.")
    for name, tensor in like.items():
        shape = list(tensor.shape)
        if found[name] != shape and not (shape == [0] and len(found[name]) == 1):
            raise ValueError(
                f"{path} does not fit the model: `{name}` must have the shape {shape},"
                f" got {found[name]}."
            )


def load_state(path: Path) -> dict[str, Any]:
    """Read the `state` of what `save_tensors` wrote, and no tensors."""
    with _opened(path) as (_, state):
        return state


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    try:
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["state"])
            if not isinstance(state, dict):
                raise ValueError("its state is no table of entries")
            yield file, state
    except (SafetensorError, KeyError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from None


def check_format(found: Any, path: Path, advice: str) -> None:
    """Refuse weights of another format; `advice` ends the sentence."""
    if found != MODEL_FORMAT:
        raise ValueError(
            f"{path} was written by another version of sgat (format {found}, not"
            f" {MODEL_FORMAT}); {advice}."
        )


def pack(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Put a prefix before every name, so that several groups fit in one file."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def unpack(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of one group, without the prefix."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): tensor
        for name, tensor in tensors.items()
        if name.startswith(start)
    }


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments and step counts of an optimiser by parameter number."""
    state = optimiser.state_dict()["state"]
    return {
        f"{number}.{key}": torch.as_tensor(value)
        for number, entries in state.items()
        for key, value in entries.items()
    }


def optimiser_shapes(optimiser: torch.optim.Optimizer) -> list[dict[str, Tensor]]:
    """Tensors such as an optimiser has for each parameter that it has moved."""
    one = torch.empty(())
    known = [value for group in optimiser.param_groups for value in group["params"]]
    return [
        pack(f"adam.{k}", {"step": one, "exp_avg": value, "exp_avg_sq": value})
        for k, value in enumerate(known)
    ]


def restore_optimiser(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `optimiser_tensors` gave."""
    content = optimiser.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    content["state"] = state
    optimiser.load_state_dict(content)


def load_weights(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Load weights into a model, refusing a file that does not fit with a sentence."""
    try:
        model.load_state_dict(tensors)
    except (RuntimeError, TypeError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(f"{path} does not fit the model: {detail}") from None
