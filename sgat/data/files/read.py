"""Files or tables in memory to a graph."""

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from sgat.config import FileOptions
from sgat.data.files.binary_format import read_npz, split_edge_index
from sgat.data.files.bounds import within_memory
from sgat.data.files.column_roles import ColumnRole, column_roles
from sgat.data.files.columns import is_string, numbers, typed_table, typed_text
from sgat.data.files.csv_format import read_csv, text_file
from sgat.data.files.data_tables import edge_table
from sgat.data.files.dates import check_years
from sgat.data.files.encoding import (
    EDGES_OF,
    Encoding,
    FeatureColumn,
    edge_numbers,
    fit_edges,
)
from sgat.data.files.graphml import read_graphml
from sgat.data.files.ids import (
    Place,
    are_integers,
    check_different,
    common_ids,
    sorted_unique,
    to_numpy,
)
from sgat.data.files.matrix_market import read_matrix_market
from sgat.data.files.node_table import read_nodes
from sgat.data.files.numbered_rows import graph_of_rows
from sgat.data.files.source import (
    TABLE_FORMATS,
    Source,
    check_file,
    format_of,
    in_memory,
)
from sgat.data.files.stored_edges import StoredEdges
from sgat.data.node_data import NodeData
from sgat.graph import Graph

EDGE_FORMATS = (*TABLE_FORMATS, "mtx", "graphml")


@dataclasses.dataclass(frozen=True, eq=False)
class FileGraph:
    """A graph ready for training, and the tables to write results back into.

    Nodes stand in the order of the node table, or in ascending order of their ids if
    there is none; `data.graph.input_edge` says where each row of `edges` went. Both
    tables are `pyarrow.Table`s as given: all columns, in the order of the file. Text
    columns are numbers where nothing is lost by it. With its `encoding`, `read_graph`
    reads another file the same way.
    """

    data: NodeData  # graph, features, labels and roles
    rows: StoredEdges  # of `edges`; those of a Parquet file are not held
    nodes: Any | None  # None if there is no node table
    options: FileOptions  # it was read with
    weight: str | None  # column of `edges` with the weights, None if all are 1
    undirected: bool  # whether each row stands for both directions
    encoding: Encoding  # how columns became features and labels became classes
    roles: tuple[ColumnRole, ...] = ()  # what became of each column
    edges_path: Path | None = None  # None for tables in memory
    nodes_path: Path | None = None  # None if they came from the edge file or memory
    edges_format: str | None = None  # of the edge file

    @property
    def edges(self) -> Any:
        """The edge table; read again each time, where it is not held."""
        return self.rows.all_rows().table

    @property
    def ids(self) -> Any:
        """The id of each node, a `pyarrow.Array`."""
        return pa.array(self.data.ids)

    def __repr__(self) -> str:
        """One line: where it came from and what it holds."""
        return f"FileGraph({str(self.edges_path)!r}, {self.data!r})"


@within_memory
def read_graph(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    options: FileOptions = FileOptions(),
    encoding: Encoding | None = None,
    device: torch.device | None = None,
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
        device: Where a graph of `MANY_ROWS` or more is put together, and stays.

    Raises:
        ValueError: If the content is not as described; the message names the file,
            the row (the line in a text file, the index from 0 in a binary one), the
            column and the value.
        OSError: If a file cannot be opened; it names the file.
    """
    in_rows = () if _edge_columns(options, encoding) else ("parquet",)
    source, nodes_read, undirected, places = _opened(edges, nodes, options, in_rows)
    graph = _build(source, nodes_read, undirected, options, encoding, device)
    return dataclasses.replace(graph, **places)


def _edge_columns(options: FileOptions, encoding: Encoding | None) -> tuple[Any, ...]:
    """Columns of the edge table that the judge and gates look at."""
    return options.edge_columns if encoding is None else encoding.edges


@within_memory
def open_graph(
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    options: FileOptions = FileOptions(),
) -> FileGraph:
    """The same without edges in `data`: of a large file only ids are read.

    Columns of edges are held while it is found out how they become numbers.
    """
    in_rows = ("csv", "tsv", "parquet")
    source, nodes_read, undirected, places = _opened(edges, nodes, options, in_rows)
    rows = _as_rows(source)
    ids = _surveyed_ids(rows, nodes_read, options)
    undirected = undirected or options.undirected
    nothing = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), len(ids))
    about: Any = options, None, nothing, undirected
    if options.edge_columns:
        for name in options.edge_columns:
            rows.head.column(name, EDGES_OF)
        named = rows.all_rows(*options.edge_columns)
        about += (fit_edges(named, options.edge_columns, options),)
    found = _described(rows.head, nodes_read, ids, *about)
    return dataclasses.replace(found, rows=rows, **places)


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

    Messages call the tables `edges` and `nodes`.
    """
    node_source = None if nodes is None else in_memory(nodes, "nodes")
    return _build(in_memory(edges, "edges"), node_source, False, options, encoding)


def read_table(path: Path, options: FileOptions, format: str | None = None) -> Source:
    """Read a table, by its suffix without a format; a folder has Parquet files."""
    chosen = _format(path, format, TABLE_FORMATS)
    if chosen == "parquet":
        return StoredEdges.of_parquet(path).all_rows()
    if chosen == "npz":
        return read_npz(path)
    text = {"delimiter": options.delimiter, "decimal": options.decimal}
    return read_csv(text_file(path, options.encoding), format=chosen, **text)


def _format(path: Path, format: str | None, allowed: tuple[str, ...]) -> str:
    """The format of a file that is there; a folder is a table of Parquet files."""
    if path.is_dir():
        return "parquet"
    check_file(path)
    return format_of(path, format, allowed)


def _opened(
    edges: str | Path,
    nodes: str | Path | None,
    options: FileOptions,
    in_rows: tuple[str, ...],
) -> tuple[Source | StoredEdges, Source | None, bool, dict[str, Any]]:
    """Edges, nodes if they are listed, whether edges are undirected, and the places.

    Rows of edges are not held where the format is one of `in_rows`.
    """
    path, nodes_path = Path(edges), None if nodes is None else Path(nodes)
    format = _format(path, options.edges_format, EDGE_FORMATS)
    names = {"src": options.src, "dst": options.dst}
    source: Source | StoredEdges
    node_source, undirected = None, False
    if format == "mtx":
        names |= {"weight": options.weight or "weight", "id": options.id}
        source, node_source, undirected = read_matrix_market(path, **names)
    elif format == "graphml":
        source, node_source, undirected = read_graphml(path, **names, id=options.id)
    elif format not in in_rows:
        source = read_table(path, options, format)
        source = split_edge_index(source, **names) if format == "npz" else source
    elif format == "parquet":
        source = StoredEdges.of_parquet(path)
    else:
        text = {"delimiter": options.delimiter, "decimal": options.decimal}
        read_as = text_file(path, options.encoding)
        source = StoredEdges.of_csv(read_as, format=format, **text)
    if nodes_path is not None:
        node_source = read_table(nodes_path, options, options.nodes_format)
    places = {"edges_path": path, "nodes_path": nodes_path, "edges_format": format}
    return source, node_source, undirected, places


def _as_rows(edges: Source | StoredEdges) -> StoredEdges:
    return StoredEdges.of_table(edges) if isinstance(edges, Source) else edges


def _build(
    edges: Source | StoredEdges,
    nodes: Source | None,
    undirected: bool,
    options: FileOptions,
    encoding: Encoding | None,
    device: torch.device | None = None,
) -> FileGraph:
    """The graph of a table that is held, or of rows that are not."""
    for_gates: tuple[FeatureColumn, ...] = ()
    attr, rows = None, _as_rows(edges)
    head = rows.head
    if isinstance(edges, Source):
        ends, ids = read_ids(end_places(edges, options), nodes, options)
        check_years(edges)
        wanted = _edge_columns(options, encoding)
        for_gates, attr = edge_numbers(edges, wanted, options)
    else:
        ids = _ids_of_rows(rows, nodes, options)
    if nodes is not None:
        check_years(nodes)
    weight, undirected = weight_column(head, options), undirected or options.undirected
    about = weight, (nodes or head).name, undirected, attr, device
    graph = graph_of_rows(rows, ids, options, *about)
    found = _described(
        head, nodes, ids, options, encoding, graph, undirected, for_gates
    )
    if not isinstance(edges, Source):
        return dataclasses.replace(found, rows=rows)
    known = {options.src: ends[0], options.dst: ends[1]}
    if weight in edges.text_columns:
        typed = typed_text(edges.table.column(weight))
        is_text = is_string(typed.type)
        known[weight] = pa.array(numbers(edges, weight)) if is_text else typed
    typed = typed_table(edges, known)
    held = dataclasses.replace(edges, table=typed, text_columns=frozenset())
    return dataclasses.replace(found, rows=StoredEdges.of_table(held))


def _ids_of_rows(rows: StoredEdges, nodes: Source | None, options: FileOptions) -> Any:
    """Ids of the nodes in their order; bounds and dates of the rows are checked."""
    # What is damaged, or would take too much memory, is refused first.
    next(rows.read(None), None)
    places = end_places(rows.head, options)
    common_ids(places)  # of types that ids can have
    dates = [f.name for f in rows.head.table.schema if pa.types.is_temporal(f.type)]
    for source, _ in rows.batches(*dates) if dates else ():
        check_years(source)
    if nodes is None or not all(map(are_integers, [*places, (nodes, options.id)])):
        return _surveyed_ids(rows, nodes, options)
    return read_ids(places, nodes, options)[1]


def _surveyed_ids(rows: StoredEdges, nodes: Source | None, options: FileOptions) -> Any:
    """Ids of the nodes in their order; of the rows, the ids are read."""
    places = end_places(rows.head, options)
    for place in places:
        common_ids([place])  # of a type that ids can have
    return read_ids(rows.survey(options.src, options.dst), nodes, options)[1]


def _described(
    edges: Source,
    nodes: Source | None,
    ids: Any,
    options: FileOptions,
    encoding: Encoding | None,
    graph: Graph,
    undirected: bool,
    for_gates: tuple[FeatureColumn, ...] = (),
) -> FileGraph:
    """The graph with what is known of its nodes; the edge table as it is."""
    weight = weight_column(edges, options)
    known_edges = {options.src: "source", options.dst: "target", weight: "weight"}
    roles = column_roles(edges, known_edges, for_gates)
    if nodes is None:
        plain = Source(pa.table({"id": ids}), edges.name, edges.format)
        columns = read_nodes(plain, FileOptions(), None)
    else:
        columns = read_nodes(nodes, options, encoding)
        roles += column_roles(nodes, columns.others, columns.features)
    data = NodeData(
        graph,
        columns.x,
        columns.y,
        **columns.roles,
        classes=columns.classes,
        node_ids=to_numpy(ids),
        edge_columns=for_gates,
        has_directions=not undirected,
        name=Path(edges.name).stem,
    )
    return FileGraph(
        data,
        StoredEdges.of_table(edges),
        None if nodes is None else typed_table(nodes, {options.id: ids}),
        options,
        weight,
        undirected,
        Encoding(columns.features, columns.classes, for_gates),
        tuple(roles),
    )


def end_places(edges: Source, options: FileOptions) -> list[Place]:
    """Where the ids of both ends stand."""
    edges.column(options.src, "the source (`src`)")
    edges.column(options.dst, "the target (`dst`)")
    return [(edges, options.src), (edges, options.dst)]


def read_ids(
    places: list[Place], nodes: Source | None, options: FileOptions
) -> tuple[list[Any], Any]:
    """Ids of the ends at each place, and of the nodes in their order."""
    if nodes is None:
        edges = places[0][0]
        if not len(edges.table):
            raise edges.fault(
                "the edge table has no rows, and no node table lists the nodes."
            )
        ends = common_ids(places)
        return ends, sorted_unique(ends)
    nodes.column(options.id, "the node ids (`id`)")
    if not len(nodes.table):
        raise nodes.fault("the node table has no rows.")
    *ends, ids = common_ids([*places, (nodes, options.id)])
    check_different((nodes, options.id), ids)
    return ends, ids.combine_chunks()


def weight_column(source: Source, options: FileOptions) -> str | None:
    """Name of the column with the weights, None if all are 1."""
    if options.weight is not None:
        source.column(options.weight, "the weight (`weight`)")
        return options.weight
    return source.untaken("weight", (options.src, options.dst, *options.drop))
