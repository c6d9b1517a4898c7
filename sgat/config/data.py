"""The section of the data: a data set by name, or files and the meaning of columns."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from msgspec import Meta

from sgat.config.checked import Count, Settings

Columns = tuple[str, ...]
Name = Annotated[str, Meta(min_length=1, description="a name")]
Delimiter = Annotated[str, Meta(pattern=r'^[^"\r\n]\Z', description="one character")]


@dataclasses.dataclass(frozen=True)
class FileOptions(Settings):
    """The meaning of the columns of the user's files, and how they are read."""

    label: Annotated[
        str | None,
        "Column of the node file with the class of each node. An empty cell is a node"
        " without label.",
    ] = None
    labels: Annotated[
        Columns,
        "Columns of the node file with one 0/1 label each, for nodes with several"
        " labels; not together with `label`.",
    ] = ()
    features: Annotated[
        Columns | None,
        "Feature columns of the node file. By default all columns without another"
        " meaning. Without any, each node gets a feature of its own.",
    ] = None
    categorical: Annotated[
        Columns, "Feature columns of categories that look like numbers."
    ] = ()
    max_categories: Annotated[
        Count, "Largest number of different values in a categorical column."
    ] = 1000
    edge_features: Annotated[
        Columns, "Columns of the edge file that describe the edges."
    ] = ()
    drop: Annotated[
        Columns,
        "Columns of either file without a meaning here; they stay in what is written.",
    ] = ()
    id: Annotated[str, "Column of the node file with the id of each node."] = "id"
    src: Annotated[str, "Column of the edge file with the source of each edge."] = "src"
    dst: Annotated[str, "Column of the edge file with the target of each edge."] = "dst"
    weight: Annotated[
        str | None,
        "Column of the edge file with the weight of each edge, at least 0. By default"
        " the column called weight; without it every edge has weight 1.",
    ] = None
    split_column: Annotated[
        str | None,
        "Column of the node file with train, val, test or nothing. By default the"
        " column called split, if there is one.",
    ] = None
    undirected: Annotated[
        bool,
        "Each row of the edge file stands for both directions. Files that say so"
        " themselves (GraphML, symmetric Matrix Market) do not need it.",
    ] = False
    standardise: Annotated[
        bool, "Scale numeric features to mean 0 and standard deviation 1."
    ] = False
    fill_missing: Annotated[
        Literal["zero", "mean"] | None,
        "Value for missing features: zero, or mean of the column. By default they are"
        " refused.",
    ] = None
    unknown_category: Annotated[
        Literal["refuse", "zero"],
        "A category that the given encoding does not know: refuse, or zero for none.",
    ] = "refuse"
    delimiter: Annotated[
        Delimiter | None,
        "Character between the cells of a text table. By default a comma in .csv and a"
        " tab in .tsv.",
    ] = None
    edges_format: Annotated[
        str | None, "Format of the edge file; by default its suffix says it."
    ] = None
    nodes_format: Annotated[
        str | None, "Format of the node file; by default its suffix says it."
    ] = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        super().__post_init__()
        if self.label is not None and self.labels:
            raise ValueError(
                f"`label` and `labels` exclude each other, got {self.label!r} and"
                f" {list(self.labels)}."
            )
        if self.src == self.dst:
            raise ValueError(f"`src` and `dst` must differ, got {self.src!r} for both.")


@dataclasses.dataclass(frozen=True)
class DataConfig(Settings):
    """The data to train on: a data set by name, or files."""

    name: Annotated[str | None, "Name of a data set; see `sgat data list`."] = None
    root: Annotated[
        str | None,
        "Folder with the data sets. By default $SGAT_DATA, else the user's cache.",
    ] = None
    split: Annotated[
        Name | None,
        "Split of the nodes, such as random-60-20-20 (docs/datasets.md), or an .npz"
        " file. By default the data set's own; for files the split column, else"
        " 60/20/20 per class.",
    ] = None
    normalise_features: Annotated[
        bool | None,
        "Divide each row of a data set's features by its sum. By default for the"
        " citation graphs and Actor.",
    ] = None
    largest_component: Annotated[
        bool, "Keep only the largest component of a data set."
    ] = False
    edges: Annotated[
        str | None,
        "Your edge file: CSV, TSV, Parquet, NPZ, Matrix Market or GraphML.",
    ] = None
    nodes: Annotated[str | None, "Your node file: CSV, TSV, Parquet or NPZ."] = None
    files: FileOptions = FileOptions()

    @property
    def paths(self) -> dict[str, str]:
        """The files that are read, by what they hold: edges, nodes, split."""
        is_file = self.split is not None and self.split.endswith(".npz")
        found = {"edges": self.edges, "nodes": self.nodes}
        found["split"] = self.split if is_file else None
        return {what: path for what, path in found.items() if path is not None}
