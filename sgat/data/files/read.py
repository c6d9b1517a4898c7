"""Files or tables in memory to a graph."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa

from sgat.config import FileOptions
from sgat.data.files.columns import is_string, numbers, typed_table, typed_text
from sgat.data.files.csv_format import read_csv
from sgat.data.files.data_tables import edge_table
from sgat.data.files.edge_table import (
    edge_features,
    edge_index,
    edge_weight,
    weight_column,
)
from sgat.data.files.encoding import Encoding, fit_columns
from sgat.data.files.file_graph import FileGraph
from sgat.data.files.graphml import read_graphml
from sgat.data.files.ids import check_different, common_ids, sorted_unique, to_numpy
from sgat.data.files.matrix_market import read_matrix_market
from sgat.data.files.node_table import read_nodes, without_table
from sgat.data.files.npz_format import read_npz, split_edge_index
from sgat.data.files.parquet_format import read_parquet
from sgat.data.files.source import TABLE_FORMATS, Source, check_file, format_of
from sgat.data.node_data import NodeData
from sgat.graph import Graph

EDGE_FORMATS = (*TABLE_FORMATS, "mtx", "graphml")


def read_graph(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    options: FileOptions = FileOptions(),
    encoding: Encoding | None = None,
) -> FileGraph:
    """Read a graph from an edge file and, if there is one, a node file.

    Without a node file the nodes are those of the edge file (GraphML and Matrix Market
    list theirs), or else the ids that occur, in ascending order, with identity
    features.

    Args:
        edges: CSV, TSV, Parquet, NPZ, Matrix Market or GraphML, by its suffix.
        nodes: CSV, TSV, Parquet or NPZ; its rows are the nodes, in this order.
        options: Which columns mean what.
        encoding: How an earlier file was encoded, to read this one the same way: the
            same features in the same order, scaled alike, and the same classes.

    Raises:
        ValueError: If the content is not as described; the message names the file,
            the row (the line in a text file, the index from 0 in a binary one), the
            column and the value.
        OSError: If a file cannot be opened; it names the file.
    """
    edges_path, nodes_path = Path(edges), None if nodes is None else Path(nodes)
    edge_source, node_source, undirected = _read_edge_file(edges_path, options)
    if nodes_path is not None:
        node_source = read_table(nodes_path, options.nodes_format, options.delimiter)
    graph = _build(edge_source, node_source, undirected, options, encoding)
    return dataclasses.replace(
        graph,
        edges_path=edges_path,
        nodes_path=nodes_path,
        edges_format=edge_source.format,
    )


def from_node_data(data: NodeData) -> FileGraph:
    """The tables of a graph that came from elsewhere, so that it can be written."""
    return from_tables(edge_table(data), pa.table({"id": data.ids}))


def from_tables(
    edges: Any,
    nodes: Any | None = None,
    *,
    options: FileOptions = FileOptions(),
    encoding: Encoding | None = None,
) -> FileGraph:
    """The same from tables in memory, each a `pyarrow.Table` or a pandas `DataFrame`.

    Raises:
        ValueError: As `read_graph`; the tables are called `edges` and `nodes`.
    """
    sources = [
        None if table is None else Source(_table(table), name, "table")
        for name, table in (("edges", edges), ("nodes", nodes))
    ]
    assert sources[0] is not None
    return _build(sources[0], sources[1], False, options, encoding)


def read_table(path: Path, format: str | None, delimiter: str | None) -> Source:
    """Read a table of one of the `TABLE_FORMATS`; None goes by the suffix."""
    check_file(path)
    chosen = format_of(path, format, TABLE_FORMATS)
    if chosen == "parquet":
        return read_parquet(path)
    if chosen == "npz":
        return read_npz(path)
    return read_csv(path, format=chosen, delimiter=delimiter)


def _table(table: Any) -> Any:
    if isinstance(table, pa.Table):
        return table
    return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()


def _read_edge_file(
    path: Path, options: FileOptions
) -> tuple[Source, Source | None, bool]:
    check_file(path)
    format = format_of(path, options.edges_format, EDGE_FORMATS)
    src, dst = options.src, options.dst
    if format == "mtx":
        weight = options.weight or "weight"
        return read_matrix_market(path, src=src, dst=dst, weight=weight, id=options.id)
    if format == "graphml":
        return read_graphml(path, src=src, dst=dst, id=options.id)
    source = read_table(path, format, options.delimiter)
    if format == "npz":
        source = split_edge_index(source, src, dst)
    return source, None, False


def _build(
    edges: Source,
    nodes: Source | None,
    undirected: bool,
    options: FileOptions,
    encoding: Encoding | None,
) -> FileGraph:
    ends, ids = _ids(edges, nodes, options)
    undirected = undirected or options.undirected
    weight = weight_column(edges, options)
    value = edge_weight(edges, weight)
    known = {options.src: ends[0], options.dst: ends[1]}
    if weight is not None and weight in edges.text_columns:
        typed = typed_text(edges.table.column(weight))
        known[weight] = (
            pa.array(numbers(edges, weight)) if is_string(typed.type) else typed
        )
    names, listed = (options.src, options.dst), edges if nodes is None else nodes
    index = edge_index(edges, names, ends, ids, listed.name)
    edge_columns = (
        fit_columns(edges, list(options.edge_features), options)
        if encoding is None
        else encoding.edge_features
    )
    features = edge_features(edges, edge_columns)
    columns = (
        without_table(len(ids))
        if nodes is None
        else read_nodes(nodes, options, encoding)
    )
    data = NodeData(
        Graph.from_edges(
            index, len(ids), value, edge_feature=features, make_undirected=undirected
        ),
        columns.x,
        columns.y,
        **columns.roles,
        classes=columns.classes,
        node_ids=to_numpy(ids),
        has_directions=not undirected,
        name=Path(edges.name).stem,
    )
    return FileGraph(
        data,
        typed_table(edges, known),
        None if nodes is None else typed_table(nodes, {options.id: ids}),
        options,
        weight,
        undirected,
        Encoding(columns.features, edge_columns, columns.classes),
    )


def _ids(
    edges: Source, nodes: Source | None, options: FileOptions
) -> tuple[list[Any], Any]:
    """Ids of the ends of each row, and of the nodes in their order."""
    edges.column(options.src, "the source")
    edges.column(options.dst, "the target")
    places = [(edges, options.src), (edges, options.dst)]
    if nodes is None:
        if not len(edges.table):
            raise edges.fault(
                "the edge table has no rows, and no node table lists the nodes."
            )
        ends = common_ids(places)
        return ends, sorted_unique(ends)
    nodes.column(options.id, "the node ids")
    if not len(nodes.table):
        raise nodes.fault("the node table has no rows.")
    *ends, ids = common_ids([*places, (nodes, options.id)])
    check_different((nodes, options.id), ids)
    return ends, ids.combine_chunks()
