"""The section of the data: a data set by name, or files and the meaning of columns."""

import codecs
import dataclasses
from array import array
from typing import Annotated, Literal

from msgspec import Meta

from sgat.config.checked import Count, Settings

Columns = tuple[str, ...]
Name = Annotated[str, Meta(min_length=1, description="a name")]
Delimiter = Annotated[
    str, Meta(pattern=r'^([^"\r\n]|tab|\\t)\Z', description="one character, or tab")
]


@dataclasses.dataclass(frozen=True)
class FileOptions(Settings):
    """The meaning of the columns of the user's files, and how they are read.

    Attributes:
        label: Column of the node file with the class of each node. An empty cell is a
            node without label.
        labels: Columns of the node file with one 0/1 label each, for nodes with several
            labels; not together with `label`.
        features: Feature columns of the node file. By default all columns without
            another meaning. Without any, each node gets a feature of its own.
        categorical: Feature columns of categories that look like numbers.
        text: Feature columns of text, of which the words count.
        max_categories: Largest number of different values in a categorical column.
        drop: Columns of either file without a meaning here; they stay in what is
            written.
        id: Column of the node file with the id of each node.
        src: Column of the edge file with the source of each edge.
        dst: Column of the edge file with the target of each edge.
        weight: Column of the edge file with the weight of each edge, at least 0. By
            default the column called weight; without it every edge has weight 1.
        edge_columns: Columns of the edge file that may tell which edges are wrong, for
            the judge and for gates that learn. They are read into memory once.
        split_column: Column of the node file with train, val, test or nothing. By
            default the column called split, if there is one.
        undirected: Each row of the edge file stands for both directions. Rows of the
            same pair are one edge with the largest weight; without this option, rows
            with the same ends add up. Files that say so themselves (GraphML, symmetric
            Matrix Market) do not need it.
        standardise: Scale numeric features to mean 0 and standard deviation 1.
        fill_missing: Value for missing features: zero, or mean of the column. By
            default they are refused.
        unknown_category: A category that the given encoding does not know: refuse, or
            zero for none.
        delimiter: Character between the cells of a text table, or the word tab. By
            default a comma in .csv and a tab in .tsv, or what separates the first line.
        decimal: Decimal sign of text tables, a point or a comma. By default a point,
            unless numbers in a table whose cells no comma separates say otherwise.
        encoding: Encoding of text tables that are not UTF-8, such as cp1252 of Windows.
        edges_format: Format of the edge file; by default its suffix says it.
        nodes_format: Format of the node file; by default its suffix says it.
    """

    label: str | None = None
    labels: Columns = ()
    features: Columns | None = None
    categorical: Columns = ()
    text: Columns = ()
    max_categories: Count = 1000
    drop: Columns = ()
    id: str = "id"
    src: str = "src"
    dst: str = "dst"
    weight: str | None = None
    edge_columns: Columns = ()
    split_column: str | None = None
    undirected: bool = False
    standardise: bool = False
    fill_missing: Literal["zero", "mean"] | None = None
    unknown_category: Literal["refuse", "zero"] = "refuse"
    delimiter: Delimiter | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    edges_format: str | None = None
    nodes_format: str | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        super().__post_init__()
        if self.delimiter in ("tab", "\\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.encoding is not None:
            try:
                # As the reader has it: a buffer, which has not all that bytes have.
                coded = array("B", "a".encode(self.encoding))
                codecs.getincrementaldecoder(self.encoding)().decode(coded)
            except (LookupError, ValueError, AttributeError):
                what = "`encoding` must be one that Python knows, such as cp1252, got"
                raise ValueError(f"{what} {self.encoding!r}.") from None
        if self.label is not None and self.labels:
            raise ValueError(
                f"`label` and `labels` exclude each other, got {self.label!r} and"
                f" {list(self.labels)}."
            )
        if self.src == self.dst:
            raise ValueError(f"`src` and `dst` must differ, got {self.src!r} for both.")


@dataclasses.dataclass(frozen=True)
class DataConfig(Settings):
    """The data to train on: a data set by name, or files.

    Attributes:
        name: Name of a data set; see `sgat data list`.
        root: Folder with the data sets. By default $SGAT_DATA, else the user's cache.
        split: Split of the nodes, such as random-60-20-20 (docs/datasets.md), or an
            .npz file. By default the data set's own; for files the split column, else
            60/20/20 per class.
        normalise_features: Divide each row of a data set's features by its sum. By
            default for the citation graphs and Actor.
        largest_component: Keep only the largest component of a data set.
        edges: Your edge file: CSV, TSV (also as .gz or .zst), Parquet (also a folder
            of files), NPZ, Matrix Market or GraphML.
        nodes: Your node file: CSV, TSV (also as .gz or .zst), Parquet (also a folder
            of files) or NPZ.
    """

    name: str | None = None
    root: str | None = None
    split: Name | None = None
    normalise_features: bool | None = None
    largest_component: bool = False
    edges: str | None = None
    nodes: str | None = None
    files: FileOptions = FileOptions()

    @property
    def paths(self) -> dict[str, str]:
        """The files that are read, by what they hold: edges, nodes, split."""
        is_file = self.split is not None and self.split.endswith(".npz")
        found = {"edges": self.edges, "nodes": self.nodes}
        found["split"] = self.split if is_file else None
        return {what: path for what, path in found.items() if path is not None}
