"""The data a config names: a data set, or the user's files."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sgat.config import DataConfig
from sgat.data.node_data import NodeData

if TYPE_CHECKING:
    from sgat.data.files import FileGraph, FileOptions

LOADER_OPTIONS = {"normalise_features": bool, "largest_component": bool, "root": str}
"""Arguments of `sgat.data.load` that a config may give."""
DEFAULT_FILE_SPLIT = "stratified-60-20-20"


class Loaded(NamedTuple):
    """Data ready for training.

    Attributes:
        graphs: One graph, or several in the inductive setting.
        files: The user's tables, where the data came from files.
        notes: Choices made for the user, one sentence each.
        drew_split: Whether nodes of files were split at random.
    """

    graphs: list[NodeData]
    files: FileGraph | None = None
    notes: tuple[str, ...] = ()
    drew_split: bool = False


def load_configured(
    config: DataConfig,
    *,
    root: str | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Load what a config names.

    Args:
        config: Name or files, split and options.
        root: Folder of the named data sets; None takes the option `root`.
        seed: Of random splits.
        progress: Called with the number of bytes received during a download.

    Raises:
        ValueError: If neither a name nor an edge file is given, or the data is bad.
    """
    if config.edges is not None:
        if config.name is not None:
            raise ValueError(
                f"Give a data set by name or `edges`, not both: got {config.name!r}"
                f" and {config.edges!r}."
            )
        return _from_files(config, seed)
    if config.name is None:
        raise ValueError(
            "Name a data set (see `sgat data list`) or give an edge file with `edges`."
        )
    from sgat.data import load

    check_options(config.options, LOADER_OPTIONS, "option of a named data set")
    options = {"root": root or config.options.get("root")}
    graphs = load(
        config.name,
        split=config.split,
        seed=seed,
        progress=progress,
        **{**config.options, **options},
    )
    return Loaded(graphs)


def check_options(
    options: Mapping[str, Any], kinds: Mapping[str, Any], what: str
) -> None:
    """Make sure that options exist and are of their types; `what` says which they are.

    Raises:
        ValueError: If one is unknown or of another type.
    """
    for key, value in options.items():
        if key not in kinds:
            known = ", ".join(sorted(kinds))
            raise ValueError(f"Unknown {what} {key!r}; known are {known}.")
        if not any(fits(value) for fits, _ in _alternatives(kinds[key])):
            wanted = " or ".join(text for _, text in _alternatives(kinds[key]) if text)
            raise ValueError(f"The {what} {key!r} must be {wanted}, got {value!r}.")


def _alternatives(kind: Any) -> list[tuple[Callable[[Any], bool], str]]:
    """What a type takes, as tests with their names; None goes without a name."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        parts = typing.get_args(kind)
        return [found for part in parts for found in _alternatives(part)]
    if kind is types.NoneType:
        return [(lambda value: value is None, "")]
    if typing.get_origin(kind) is typing.Literal:
        choices = typing.get_args(kind)
        return [(lambda value: value in choices, " or ".join(map(repr, choices)))]
    if typing.get_origin(kind) is tuple:
        return [(_is_list_of_strings, "a list of strings")]
    if kind is int:
        return [(lambda value: type(value) is int, "a whole number")]
    names = {str: "a string", bool: "true or false"}
    return [(lambda value: isinstance(value, kind), names[kind])]


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)


def _from_files(config: DataConfig, seed: int) -> Loaded:
    from sgat.data.files import FileOptions, read_graph
    from sgat.data.files.source import SUFFIXES
    from sgat.data.split_names import draw_split

    assert config.edges is not None
    kinds = typing.get_type_hints(FileOptions)
    check_options(config.options, kinds, "file option")
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in config.options.items()
    }
    if not (options.get("label") or options.get("labels")):
        raise ValueError(
            "Say which column of the node file is the label with `label`,"
            " or with `labels` where there are several 0/1 columns."
        )
    edges = Path(config.edges)
    nodes = None if config.nodes is None else Path(config.nodes)
    format = options.get("edges_format") or SUFFIXES.get(edges.suffix.lower())
    if nodes is None and format != "graphml":
        option = "label" if options.get("label") else "labels"
        raise ValueError(f"`{option}` needs `nodes`, the file with that column.")
    chosen = FileOptions(**options)
    _check_columns(chosen)
    files = read_graph(edges, nodes, options=chosen)
    data, notes = files.data, []
    has_roles = bool((data.train | data.val | data.test).any())
    draws_split = config.split is not None or not has_roles
    if draws_split:
        split = config.split or DEFAULT_FILE_SPLIT
        if data.is_multilabel and config.split is None:
            split = "uniform-60-20-20"
        data = draw_split(split, data, seed)
        if config.split is None:
            column = chosen.split or "split"
            is_there = (
                files.nodes is not None and column in files.nodes.column_names
            ) and column not in chosen.drop
            why = (
                f"the split column {column!r} is empty"
                if is_there
                else "the node file has no split column"
            )
            notes.append(f"{why}: nodes are split {split} at random (seed {seed})")
    if not data.graph.num_edges:
        notes.append(f"{edges.name} has no edges: every node is judged by itself")
    files = dataclasses.replace(files, data=data)
    return Loaded([data], files, tuple(notes), draws_split)


def _check_columns(options: FileOptions) -> None:
    """Refuse columns that are named twice, or learned from although they are known."""
    for key in ("features", "labels", "categorical", "drop", "edge_features"):
        names = getattr(options, key) or ()
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"`{key}` must name each column once, got {name!r}.")
    taken = dict.fromkeys(options.labels, "a label")
    taken |= {options.id: "the id", options.split or "split": "the split"}
    if options.label is not None:
        taken[options.label] = "the label"
    for name in options.features or ():
        if name in taken:
            raise ValueError(f"`features` must not name {name!r}, {taken[name]}.")
