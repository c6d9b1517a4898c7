"""The data a config names: a data set, or the user's files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sgat.config import DataConfig
from sgat.data.node_data import NodeData

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

DEFAULT_FILE_SPLIT = "stratified-60-20-20"


class Loaded(NamedTuple):
    """Data ready for training.

    Attributes:
        graphs: One graph, or several in the inductive setting.
        files: The user's tables, where the data came from files.
        notes: Choices made for the user, one sentence each.
    """

    graphs: list[NodeData]
    files: FileGraph | None = None
    notes: tuple[str, ...] = ()


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
        root: Folder of the named data sets.
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
            "Name a data set (see `sgat data list`) or give an edge file with"
            " `--edges`."
        )
    from sgat.data import load

    graphs = load(
        config.name,
        root=root,
        split=config.split,
        seed=seed,
        progress=progress,
        **config.options,
    )
    return Loaded(graphs)


def _from_files(config: DataConfig, seed: int) -> Loaded:
    from sgat.data.files import FileOptions, read_graph
    from sgat.data.split_names import draw_split

    assert config.edges is not None
    known = {field.name for field in dataclasses.fields(FileOptions)}
    for key in config.options:
        if key not in known:
            raise ValueError(
                f"Unknown file option {key!r}; known are {', '.join(sorted(known))}."
            )
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in config.options.items()
    }
    if not (options.get("label") or options.get("labels")):
        raise ValueError(
            "Say which column of the node file is the label: `--label COLUMN`"
            " (or `--labels A,B,C` for several 0/1 columns)."
        )
    nodes = None if config.nodes is None else Path(config.nodes)
    files = read_graph(Path(config.edges), nodes, options=FileOptions(**options))
    data, notes = files.data, []
    has_roles = bool((data.train | data.val | data.test).any())
    if config.split is not None or not has_roles:
        split = config.split or DEFAULT_FILE_SPLIT
        if data.is_multilabel and config.split is None:
            split = "uniform-60-20-20"
        data = draw_split(split, data, seed)
        if config.split is None:
            notes.append(
                f"the node file has no split column: nodes are split {split} at random"
                f" (seed {seed})"
            )
    files = dataclasses.replace(files, data=data)
    return Loaded([data], files, tuple(notes))
