"""Tables and small files of which tests of `sgat.data.files` make graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from sgat.data.files import FileGraph, FileOptions, from_tables, read_graph

EDGES = pa.table({"src": ["a", "b"], "dst": ["b", "c"]})


WEIGHTED = pa.table({"src": [3, 1, 2], "dst": [1, 2, 2], "weight": [0.5, 2.0, 1.0]})


def nodes(columns: dict[str, Any], **options: Any) -> FileGraph:
    table = pa.table({"id": ["a", "b", "c"], **columns})
    return from_tables(EDGES, table, options=FileOptions(**options))


def text_nodes(folder: Path, text: str, **options: Any) -> FileGraph:
    (folder / "e.csv").write_text("src,dst\na,b\nb,c\n")
    (folder / "n.csv").write_text(text)
    return read_graph(
        folder / "e.csv", folder / "n.csv", options=FileOptions(**options)
    )


def read_text(folder: Path, text: str, nodes: str | None = None) -> FileGraph:
    (folder / "e.csv").write_text(text)
    if nodes is None:
        return read_graph(folder / "e.csv")
    (folder / "n.csv").write_text(nodes)
    return read_graph(folder / "e.csv", folder / "n.csv")


def ids_of(graph: FileGraph) -> list[Any]:
    assert graph.data.node_ids is not None
    return list(graph.data.node_ids.tolist())
