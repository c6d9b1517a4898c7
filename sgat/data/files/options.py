"""FileOptions: which columns of the user's files mean what."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class FileOptions:
    """Which columns are ids, weights, labels and features, and how they are read.

    Attributes:
        src: Column of the edge table with the source of each edge.
        dst: Column of the edge table with the target of each edge.
        weight: Column of the edge table with the weight A ≥ 0; None takes the column
            `weight` if there is one, and 1 otherwise.
        edge_features: Columns of the edge table that describe the edges.
        id: Column of the node table with the id of each node.
        label: Column of the node table with the class of each node; None for no
            classes. An empty cell is a node without label.
        labels: Columns of the node table with one 0/1 label each (multi-label); not
            together with `label`.
        features: Columns of the node table that describe the nodes; None takes every
            column that has no other meaning. Without any, each node gets a feature of
            its own (identity).
        split: Column of the node table with `train`, `val`, `test` or nothing; None
            takes the column `split` if there is one.
        drop: Columns of either table that mean nothing here; they stay in what is
            written.
        categorical: Feature columns whose values are categories even where they look
            like numbers.
        max_categories: The largest number of different values a categorical feature
            column may hold.
        undirected: Read each edge in both directions. Files that say so themselves
            (GraphML, symmetric Matrix Market) are read this way without it.
        standardise: Shift and scale each numeric feature column to mean 0 and standard
            deviation 1 over the nodes of the file; a constant column becomes 0.
        fill_missing: What a missing feature value becomes: None refuses it, `zero`
            writes 0, `mean` the mean of its column. A missing category gets 0 in all
            columns of its one-hot code in both cases.
        unknown_category: What a category becomes that the given encoding does not know:
            `refuse`, or `zero` for 0 in all columns of its one-hot code.
        delimiter: What separates the cells of a text table; None is a comma in `.csv`
            and a tab in `.tsv`.
        edges_format: Format of the edge file; None goes by its suffix.
        nodes_format: Format of the node file; None goes by its suffix.
    """

    src: str = "src"
    dst: str = "dst"
    weight: str | None = None
    edge_features: tuple[str, ...] = ()
    id: str = "id"
    label: str | None = None
    labels: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    split: str | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    max_categories: int = 1000
    undirected: bool = False
    standardise: bool = False
    fill_missing: Literal["zero", "mean"] | None = None
    unknown_category: Literal["refuse", "zero"] = "refuse"
    delimiter: str | None = None
    edges_format: str | None = None
    nodes_format: str | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.label is not None and self.labels:
            raise ValueError(
                f"`label` and `labels` exclude each other, got {self.label!r} and"
                f" {list(self.labels)}."
            )
        if self.src == self.dst:
            raise ValueError(f"`src` and `dst` must differ, got {self.src!r} for both.")
        if self.fill_missing not in (None, "zero", "mean"):
            raise ValueError(
                f"`fill_missing` must be 'zero' or 'mean', got {self.fill_missing!r}."
            )
        if self.unknown_category not in ("refuse", "zero"):
            raise ValueError(
                f"`unknown_category` must be 'refuse' or 'zero',"
                f" got {self.unknown_category!r}."
            )
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n'
        ):
            raise ValueError(
                f"`delimiter` must be one character, got {self.delimiter!r}."
            )
        if self.max_categories < 1:
            raise ValueError(
                f"`max_categories` must be at least 1, got {self.max_categories}."
            )
