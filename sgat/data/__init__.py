"""Data by name, from files, or made to measure."""

import dataclasses
import os

from sgat.data.catalogue import CATALOGUE
from sgat.data.fetch import Progress, data_root
from sgat.data.named import read
from sgat.data.node_data import NodeData, check
from sgat.data.prepare import largest_component as nodes_of_largest_component
from sgat.data.prepare import restrict
from sgat.data.split_names import SplitLike, choose_split
from sgat.data.splits import Split
from sgat.features import normalise_rows

__all__ = ["NodeData", "Split", "check", "load", "names"]


def names() -> list[str]:
    """The names that `load` knows, in the order of the paper."""
    return list(CATALOGUE)


def load(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    split: SplitLike = None,
    seed: int = 0,
    normalise_features: bool | None = None,
    largest_component: bool = False,
    download: bool = True,
    progress: Progress | None = None,
) -> list[NodeData]:
    """Load a named data set: one graph, or several in the inductive setting.

    Graphs are undirected, without loops or duplicates, every edge of weight 1. Features
    of which less than a quarter is non-zero are `SparseFeatures`, others a tensor.

    Args:
        name: One of `names()`.
        root: Folder with the files, laid out as `torch_geometric.datasets` does; it is
            only written to when a missing file was downloaded. None takes the
            environment variable SGAT_DATA, else the user's cache folder.
        split: Roles of the nodes: a name of docs/datasets.md, None for the data set's
            own; a mapping from "train", "val" and "test" to names of graphs; a `Split`;
            or a file .npz whose array `split` has the role of each node, in words.
        seed: Chooses the random split or the fixed file.
        normalise_features: Whether each row of the features is divided by its sum; None
            does so for the citation graphs and Actor.
        largest_component: Whether to keep only the largest component of each graph.
        download: Whether missing files may be fetched from the network.
        progress: Called with the number of bytes received during a download.

    Returns:
        One `NodeData` per graph.

    Raises:
        ValueError: If the name or the split is unknown, or a file is missing, altered
            or malformed; the message says which.
    """
    if name not in CATALOGUE:
        raise ValueError(
            f"Unknown data set {name!r}; choose one of {', '.join(sorted(CATALOGUE))}."
        )
    benchmark = CATALOGUE[name]
    where = data_root(root)
    graphs, published = read(benchmark, where, download=download, progress=progress)
    if largest_component:
        kept = [nodes_of_largest_component(data.graph) for data in graphs]
        graphs = list(map(restrict, graphs, kept))
        published = [part.restrict(kept[0]) for part in published]
    if benchmark.normalise if normalise_features is None else normalise_features:
        graphs = [
            dataclasses.replace(data, x=normalise_rows(data.x)) for data in graphs
        ]
    return choose_split(benchmark, graphs, published, split, seed)
