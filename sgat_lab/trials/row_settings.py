"""The rows of the tables: every method with its settings for every data set."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any

from sgat_lab.config import LabConfig

FOLDER = "configs/methods"
COMMON = "_common"
"""The file of what all rows share."""
CHOSEN = "_chosen"
"""The file of what the search chose, by row and data set."""
SAME_SETTINGS = {"cornell-2020": "cornell"}
"""Data sets that are not searched by themselves."""
FIXED_SPLITS = "geom-gcn"
"""The protocol whose settings are chosen apart from those of random splits."""


def chosen_name(data: str, split: str | None, *, noisy: bool = False) -> str:
    """Under which name the file of choices has a data set under a protocol."""
    name = SAME_SETTINGS.get(data, data)
    if noisy:
        return f"{name}-noisy"
    return f"{name}-{split}" if split == FIXED_SPLITS else name


@functools.cache
def _content(row: str) -> dict[str, Any]:
    """A file of this package; kept, for plans of thousands of tasks ask for it."""
    file = resources.files("sgat_lab") / FOLDER / f"{row}.toml"
    if not file.is_file():
        raise ValueError(f"Unknown row {row!r}; choose from {', '.join(rows())}.")
    return tomllib.loads(file.read_text(encoding="utf-8"))


@functools.cache
def rows() -> tuple[str, ...]:
    """Names of all rows, in alphabetical order."""
    folder = resources.files("sgat_lab") / FOLDER
    names = [file.name for file in folder.iterdir() if file.name.endswith(".toml")]
    found = sorted(name.removesuffix(".toml") for name in names)
    return tuple(name for name in found if not name.startswith("_"))


def title(row: str) -> str:
    """Name of a row in a table."""
    return str(_content(row)["title"])


def settings(
    row: str,
    data: str,
    split: str | None = None,
    seed: int = 0,
    *,
    noisy: bool = False,
) -> LabConfig:
    """The settings of a row for a data set, what the search chose on top.

    Args:
        row: Name of the row.
        data: Name of the data set.
        split: Name of the split; None for the data set's own.
        seed: Of split, weights and noise.
        noisy: Take what was chosen for the graph with edges added.

    Raises:
        ValueError: If there is no such row, or an entry is bad.
    """
    # A row may take over what was chosen for another.
    choices = _content(CHOSEN).get(_content(row).get("like", row), {})
    otherwise = choices.get(chosen_name(data, None), {})
    found = choices.get(chosen_name(data, split, noisy=noisy), otherwise)
    return _built(row, data, split, seed, found)


def unsearched(
    row: str, data: str, split: str | None = None, seed: int = 0
) -> LabConfig:
    """The settings of a row for a data set as they are before the search.

    Those under `all` hold for every data set; those under its own name come on top. A
    row's own file comes on top of what all rows share.
    """
    return _built(row, data, split, seed, {})


def _built(
    row: str, data: str, split: str | None, seed: int, found: dict[str, Any]
) -> LabConfig:
    sections: dict[str, dict[str, Any]] = {"data": {}, "model": {}, "train": {}}
    parts = [
        _content(file).get(name, {}) for file in (COMMON, row) for name in ("all", data)
    ]
    for part in (*parts, found):
        for section, entries in part.items():
            options = {**sections[section].get("options", {})}
            options |= entries.get("options", {})
            sections[section] |= entries
            if options:
                sections[section]["options"] = options
    sections["data"]["name"] = data
    if split is not None:
        sections["data"]["split"] = split
    sections["train"]["seed"] = seed
    return LabConfig.from_dict(sections, where=f"{FOLDER}/{row}.toml")
