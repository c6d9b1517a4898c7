"""The rows of the tables: every method with its settings for every data set."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any

from sgat.config import Config

FOLDER = "configs/methods"
COMMON = "_common"
"""The file of what all rows share."""


@functools.cache
def _content(row: str) -> dict[str, Any]:
    file = resources.files("sgat") / FOLDER / f"{row}.toml"
    if not file.is_file():
        raise ValueError(f"Unknown row {row!r}; choose from {', '.join(rows())}.")
    return tomllib.loads(file.read_text(encoding="utf-8"))


@functools.cache
def rows() -> tuple[str, ...]:
    """Names of all rows, in alphabetical order."""
    folder = resources.files("sgat") / FOLDER
    names = [file.name for file in folder.iterdir() if file.name.endswith(".toml")]
    found = sorted(name.removesuffix(".toml") for name in names)
    return tuple(name for name in found if name != COMMON)


def title(row: str) -> str:
    """What a row is called in a table."""
    return str(_content(row)["title"])


def settings(row: str, data: str, split: str | None = None, seed: int = 0) -> Config:
    """The settings of a row for a data set.

    Those under `all` hold for every data set; those under its own name come on top. A
    row's own file comes on top of what all rows share.

    Args:
        row: Name of the row.
        data: Name of the data set.
        split: Name of the split; None for the data set's own.
        seed: Of split, weights and noise.

    Raises:
        ValueError: If there is no such row, or an entry is bad.
    """
    sections: dict[str, dict[str, Any]] = {"data": {}, "model": {}, "train": {}}
    for file in (COMMON, row):
        for name in ("all", data):
            for section, entries in _content(file).get(name, {}).items():
                sections[section] |= entries
    sections["data"]["name"] = data
    if split is not None:
        sections["data"]["split"] = split
    sections["train"]["seed"] = seed
    return Config.from_dict(sections, where=f"{FOLDER}/{row}.toml")
