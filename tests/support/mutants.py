"""Mutants: the files of a run folder, each with one thing in it that is not right."""

import copy
import json
import random
import shutil
import tomllib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from sgat.config.sections import toml_value
from sgat.training.files import load_tensors, save_tensors

DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]
VALUES = (
    *(None, True, "", "x", "\x1b[31m", -1, 0, 1, 2**31, 10**18, 10**30, -1e-45, 1e308),
    *(float("nan"), float("inf"), [], [1], ["x"], [[1]], {}, {"x": 1}, DEEP),
)
"""What takes the place of a value."""


def mutants(
    folder: Path, random: random.Random, others: Sequence[Path] = ()
) -> Iterator[tuple[str, Callable]]:
    """Endless changes to a folder, as their names and what makes them.

    Some put in a file of the `others`, which are folders, too.
    """
    files = [
        path
        for place in (folder, *others)
        for path in sorted(place.rglob("*"))
        if path.is_file()
    ]
    kinds = {
        ".json": _json,
        ".jsonl": _lines,
        ".toml": _toml,
        ".parquet": _parquet,
        ".safetensors": _tensors,
        ".npz": _npz,
    }
    known = [p for p in files if p.suffix in kinds and p.is_relative_to(folder)]
    while known:
        path = random.choice(known)
        change = random.choice([kinds[path.suffix]] * 7 + [_bytes, _gone, _other])
        seed = random.getrandbits(32)
        yield f"{path.name} {change.__name__} {seed}", _maker(path, change, seed, files)


def _maker(path: Path, change: Callable, seed: int, files: list[Path]) -> Callable:
    def make() -> None:
        change(path, random.Random(seed), files)

    return make


def changed(content: Any, rng: random.Random) -> Any:
    """The content with one value changed, gone or added, at any depth."""
    found = copy.deepcopy(content)
    place = found
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.7:
            place = place[key]
            continue
        what = rng.random()
        if what < 0.2:
            del place[key]
        elif what < 0.3 and isinstance(place, list):
            place.append(place[key])
        elif what < 0.4 and isinstance(place, dict):
            place[rng.choice(["x", "epoch", "data"])] = rng.choice(VALUES)
        else:
            place[key] = rng.choice(VALUES)
        return found
    return rng.choice(VALUES)


def _json(path: Path, rng: random.Random, files: list[Path]) -> None:
    path.write_text(json.dumps(changed(json.loads(path.read_text()), rng)))


def _lines(path: Path, rng: random.Random, files: list[Path]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = changed(lines, rng)
    found = found if isinstance(found, list) else [found]
    path.write_text("".join(json.dumps(line) + "\n" for line in found))


def _toml(path: Path, rng: random.Random, files: list[Path]) -> None:
    content = tomllib.loads(path.read_text())
    # Paths stay: the settings may name any file, and it is read.
    section = rng.choice([name for name in content if name != "data"])
    content[section] = changed(content[section], rng)
    train = content.get("train")
    # Training goes on as long as the settings say.
    if isinstance(train, dict) and isinstance(train.get("epochs"), int):
        train["epochs"] = min(train["epochs"], 4)
    lines = []
    for name, table in content.items():
        if not isinstance(table, dict):
            lines.append(f"{name} = {_value(table)}")
            continue
        lines += [f"[{name}]", *(f"{k} = {_value(v)}" for k, v in table.items())]
    path.write_text("\n".join(lines))


def _value(value: Any) -> str:
    try:
        return '""' if value is None else toml_value(value)
    except RecursionError:
        return "[" * 900 + "]" * 900


def _parquet(path: Path, rng: random.Random, files: list[Path]) -> None:
    table = pq.read_table(path)
    place = rng.randrange(table.num_columns)
    name, column = table.column_names[place], table.column(place)
    size = len(table)
    others = [
        pa.array([None] * size),
        pa.array(["x"] * size),
        pa.array([-1] * size),
        pa.array([2**62] * size),
        pa.array([float("nan")] * size),
        pa.array([float("inf")] * size),
        pa.array([[1.0]] * size),
        pa.array([True] * size),
        pa.array([b"\xff"] * size),
        pa.array([{"a": 1}] * size),
        pa.array(["x"] * size).dictionary_encode(),
        pa.array([1] * size, pa.timestamp("us")),
        pa.array([2**53] * size, pa.timestamp("ms")),
        pa.array([Decimal("1.5")] * size),
        pa.array([10**37] * size, pa.decimal256(60, 1)),
        pa.array([0.5] * size, pa.float16()),
        pa.array([None, *[{"a": [{"b": 1}]}] * size][:size]),
        pa.array([[1, 2]] * size, pa.list_(pa.int8(), 2)),
        pa.array([[("a", 1)]] * size, pa.map_(pa.string(), pa.int8())),
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"x" * 16] * size, pa.binary(16))
        ),
        pa.nulls(size, pa.large_list(pa.string_view())),
    ]
    what = rng.randrange(7)
    if what == 6:  # a name twice, or with a dot in it
        table = table.append_column(rng.choice([name, "a.b", "", "x" * 4000]), column)
    elif what == 0:
        table = table.drop_columns([name])
    elif what == 1:
        table = table.slice(0, rng.randrange(size + 1))
    elif what == 2:
        table = pa.concat_tables([table, table])
    elif what == 3:
        table = table.rename_columns(
            ["x" if other == name else other for other in table.column_names]
        )
    elif what == 4:
        half = column.to_pylist()
        half[rng.randrange(size)] = None
        table = table.set_column(place, name, pa.array(half, column.type))
    else:
        table = table.set_column(place, name, rng.choice(others))
    pq.write_table(table, path)


def _tensors(path: Path, rng: random.Random, files: list[Path]) -> None:
    if rng.random() < 0.3:
        return _header(path, rng)
    tensors, state = load_tensors(path)
    if rng.random() < 0.5:
        save_tensors(path, tensors, changed(state, rng))
        return
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    new = rng.choice(
        [
            torch.full_like(tensor, rng.choice([0, 1, 127])),
            torch.full(tensor.shape, float("nan")),
            torch.full(tensor.shape, 3e38),
            torch.full(tensor.shape, 1e-39),
            torch.full(tensor.shape, -(2**40)),
            tensor.to(torch.float16),
            tensor.flatten()[:1],
            tensor[None],
            torch.zeros(3, 5),
            tensor.to(torch.complex64),
            None,
        ]
    )
    if new is None:
        del tensors[name]
    else:
        tensors[rng.choice([name, name, name, "x"])] = new
    save_tensors(path, tensors, state)


def _header(path: Path, rng: random.Random) -> None:
    """Change what the file says of its tensors: their types, shapes and places."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, rest = json.loads(content[8 : 8 + length]), content[8 + length :]
    name, other = (rng.choice(sorted(set(header) - {"__metadata__"})) for _ in "ab")
    entry, size = header[name], len(rest)
    changes = {
        "data_offsets": [
            header[other]["data_offsets"],
            [0, size],
            [0, 2**63],
            [2**64 - 8, 2**64],
            [size, size],
            [8, 0],
            [-4, 4],
        ],
        "shape": [[], [0], [2**32, 2**32], [2**63, 2], [-1], [1] * 900, [4, 0, 2**62]],
        "dtype": ["F64", "BF16", "F8_E4M3", "I8", "U64", "BOOL", "C64", "F4", ""],
    }
    what = rng.choice([*changes, "rename", "any", "length"])
    if what == "rename":
        header[rng.choice(["x", "", "__metadata__", "a\0b"])] = header.pop(name)
    elif what == "any":
        header = changed(header, rng)
    elif what in changes:
        entry[what] = rng.choice(changes[what])
    made = json.dumps(header).encode()
    length = rng.choice([2**63, 2**40, 0, 3]) if what == "length" else len(made)
    path.write_bytes(length.to_bytes(8, "little") + made + rest)


def _npz(path: Path, rng: random.Random, files: list[Path]) -> None:
    with np.load(path) as file:
        arrays = dict(file)
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    new = rng.choice(
        [
            array[:0],
            array.astype("U3"),
            array * np.nan,
            array[None],
            array.astype(bool),
            np.array({"a": 1}, dtype=object),
            None,
        ]
    )
    if new is None:
        del arrays[name]
    else:
        arrays[name] = new
    np.savez(path, **arrays)


def _bytes(path: Path, rng: random.Random, files: list[Path]) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 4])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    cut = rng.randrange(len(content) + 1) if rng.random() < 0.3 else len(content)
    path.write_bytes(bytes(content[:cut]))


def _gone(path: Path, rng: random.Random, files: list[Path]) -> None:
    path.unlink()
    if rng.random() < 0.3:
        path.mkdir()


def _other(path: Path, rng: random.Random, files: list[Path]) -> None:
    shutil.copyfile(rng.choice(files), path.with_name("copy"))
    path.with_name("copy").replace(path)
