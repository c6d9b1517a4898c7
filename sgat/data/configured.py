"""The data a config names: a data set, or the user's files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sgat.config import DataConfig, FileOptions
from sgat.data.node_data import NodeData, one_way_note

if TYPE_CHECKING:
    import torch

    from sgat.data.files import FileGraph

DEFAULT_FILE_SPLIT = "stratified-60-20-20"


class Loaded(NamedTuple):
    """Data ready for training."""

    graphs: list[NodeData]
    files: FileGraph | None = None  # the user's tables, where data came from files
    notes: tuple[str, ...] = ()  # choices made for the user, one sentence each
    drew_split: bool = False  # whether nodes of files were split at random


def load_configured(
    config: DataConfig,
    *,
    root: str | Path | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    for_training: bool = True,
    as_rows: bool = False,
    device: torch.device | None = None,
) -> Loaded:
    """Load what a config names; `root` goes before the folder of the config.

    Unless `for_training`, nodes of files need neither labels nor a split. With
    `as_rows` edges of files are not read but ready to be, see `open_graph`. The graph
    of a large Parquet file is put together on the `device`, and stays there.
    """
    if config.edges is not None:
        if config.name is not None:
            raise ValueError(
                f"Give a data set by name or `edges`, not both: got {config.name!r}"
                f" and {config.edges!r}."
            )
        from sgat.data.files import open_graph, read_graph

        read = open_graph if as_rows else partial(read_graph, device=device)
        return _from_files(config, seed, for_training, read)
    if config.name is None:
        raise ValueError(
            "Name a data set (see `sgat data list`) or give an edge file with `edges`."
        )
    from sgat.data import load

    graphs = load(
        config.name,
        root=root or config.root,
        split=config.split,
        seed=seed,
        normalise_features=config.normalise_features,
        largest_component=config.largest_component,
        progress=progress,
    )
    return Loaded(graphs)


def _from_files(
    config: DataConfig, seed: int, for_training: bool, read: Callable[..., FileGraph]
) -> Loaded:
    from sgat.data.files.source import SUFFIXES, suffix_of
    from sgat.data.split_names import draw_split

    assert config.edges is not None
    options, label = config.files, "label" if config.files.label else "labels"
    has_labels = bool(options.label or options.labels)
    if for_training and not has_labels:
        raise ValueError(
            "Say which column of the node file is the label with `label`,"
            " or with `labels` where there are several 0/1 columns."
        )
    edges = Path(config.edges)
    nodes = None if config.nodes is None else Path(config.nodes)
    format = options.edges_format or SUFFIXES.get(suffix_of(edges))
    if has_labels and nodes is None and format != "graphml":
        raise ValueError(f"`{label}` needs `nodes`, the file with that column.")
    check_columns(options)
    files = read(edges, nodes, options=options)
    check_dropped(options, files)
    data, notes = files.data, []
    if for_training and not files.rows.number:
        raise ValueError(f"{edges}: the edge table has no rows; training needs edges.")
    has_roles = bool((data.train | data.val | data.test).any())
    draws_split = config.split is not None or (for_training and not has_roles)
    if draws_split:
        split = config.split or DEFAULT_FILE_SPLIT
        if data.is_multilabel and config.split is None:
            split = "uniform-60-20-20"
        data = draw_split(split, data, seed)
        if config.split is None:
            column = options.split_column or "split"
            there = () if files.nodes is None else files.nodes.column_names
            why = "the node file has no split column"
            if column in there and column not in options.drop:
                why = f"the split column {column!r} is empty"
            notes.append(f"{why}: nodes are split {split} at random (seed {seed})")
            if not bool(data.test.any()):
                notes.append("there are too few labels to hold some out for a test")
    if not data.graph.num_edges:
        notes.append(f"{edges.name} has no edges: every node is judged by itself")
    # GraphML says itself whether its edges have directions.
    if for_training and files.edges_format != "graphml":
        notes += one_way_note([data])
    files = dataclasses.replace(files, data=data)
    return Loaded([data], files, tuple(notes), draws_split)


def check_columns(options: FileOptions) -> None:
    """Refuse columns that are named twice, or learned from although they are known."""
    for key in ("features", "edge_columns", "labels", "categorical", "text", "drop"):
        names = getattr(options, key) or ()
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"`{key}` must name each column once, got {name!r}.")
    for name in options.text:
        if name in (*options.categorical, *options.drop):
            raise ValueError(f"`text` and `categorical` or `drop` both name {name!r}.")
    taken = dict.fromkeys(options.labels, "a label")
    taken |= {options.id: "the id", options.split_column or "split": "the split"}
    if options.label is not None:
        taken[options.label] = "the label"
    for name in options.features or ():
        if name in taken:
            raise ValueError(f"`features` must not name {name!r}, {taken[name]}.")
    taken = dict.fromkeys((options.src, options.dst), "an end of the edges")
    taken |= dict.fromkeys(options.drop, "which `drop` leaves out")
    for name in options.edge_columns:
        if name in taken:
            raise ValueError(f"`edge_columns` must not name {name!r}, {taken[name]}.")


def check_dropped(options: FileOptions, files: FileGraph) -> None:
    """Refuse a column that neither file has: a slip would leave one in."""
    tables = [files.rows.head.table, *([] if files.nodes is None else [files.nodes])]
    known = [name for table in tables for name in table.column_names]
    for key in ("drop", "categorical", "text"):
        for name in getattr(options, key):
            if name not in known:
                has = ", ".join(map(repr, known))
                raise ValueError(f"`{key}` must name columns of {has}, got {name!r}.")
