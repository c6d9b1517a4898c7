"""FileGraph: a graph from files, with the tables it came from.

Tested by tests/data/files/test_read.py.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from sgat.config import FileOptions
from sgat.data.files.encoding import Encoding
from sgat.data.node_data import NodeData


@dataclasses.dataclass(frozen=True, eq=False)
class FileGraph:
    """A graph ready for training, and the tables to write results back into.

    Attributes:
        data: Graph, features, labels and roles. Its nodes stand in the order of the
            node table, or in ascending order of their ids if there is none.
            `data.graph.input_edge` says where each row of `edges` went.
        edges: The edge table as given: all columns, in the order of the file, a
            `pyarrow.Table`. Text columns are numbers where nothing is lost by it.
        nodes: The node table as given, None if there is none.
        options: The options it was read with.
        weight: Column of `edges` with the weights, None if all are 1.
        undirected: Whether each row stands for both directions.
        encoding: How columns became features and labels became classes; give it to
            `read_graph` to read another file the same way.
        edges_path: Where the edges came from; None for tables in memory.
        nodes_path: Where the nodes came from; None if from the edge file or memory.
        edges_format: Format of the edge file.
    """

    data: NodeData
    edges: Any
    nodes: Any | None
    options: FileOptions
    weight: str | None
    undirected: bool
    encoding: Encoding
    edges_path: Path | None = None
    nodes_path: Path | None = None
    edges_format: str | None = None

    def __repr__(self) -> str:
        """One line: where it came from and what it holds."""
        return f"FileGraph({str(self.edges_path)!r}, {self.data!r})"
