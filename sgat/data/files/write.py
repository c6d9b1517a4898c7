"""Tables and graphs to files, each written in full or not at all."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sgat.data.files.atomic import check_new_folder, is_same_file, replacing
from sgat.data.files.binary_format import parquet_writer, parts_writer, write_npz
from sgat.data.files.columns import flat_table, numbers
from sgat.data.files.csv_format import DELIMITERS, csv_writer
from sgat.data.files.ids import positions
from sgat.data.files.matrix_market import write_matrix_market
from sgat.data.files.read import FileGraph
from sgat.data.files.source import (
    TABLE_FORMATS,
    Source,
    compression_of,
    format_of,
    is_folder,
)
from sgat.data.files.xml_writers import DrawnGraph, write_gexf, write_graphml

GRAPH_FORMATS = (*TABLE_FORMATS, "mtx", "graphml", "gexf")
DRAWN_FORMATS = ("graphml", "gexf")
BOTH = (
    "Each row of %s stands for both directions, which the file cannot say: read it"
    " with `undirected`."
)
logger = logging.getLogger(__name__)


def write_table(table: Any, path: str | Path, format: str | None = None) -> None:
    """Write a `pyarrow.Table` as CSV, TSV, Parquet or NPZ, by its suffix or `format`.

    Text ending in .gz or .zst is compressed. An error names the file.
    """
    with table_writer(path, format) as write:
        write(table)


@contextmanager
def table_writer(
    path: str | Path, format: str | None = None
) -> Iterator[Callable[[Any], None]]:
    """Writes a table as `write_table` does, called with parts of it, one at least.

    The file is there when all is written. NPZ is held till then. A path without a
    suffix, or of a folder, is a folder of Parquet files, which replaces no other files.
    """
    path = Path(path)
    if format is None and is_folder(path):
        check_new_folder(path, "path")
        with replacing(path, is_folder=True) as folder, parts_writer(folder) as write:
            yield write
        return
    chosen = format_of(path, format, TABLE_FORMATS)
    with replacing(path) as temporary, _writer(temporary, chosen, path) as write:
        yield write


def write_graph(
    graph: FileGraph,
    path: str | Path,
    *,
    nodes: str | Path | None = None,
    format: str | None = None,
    edges: Any | None = None,
) -> None:
    """Write the tables of a graph in another format, with their ids, order, columns.

    GraphML and GEXF hold both tables in one file. Matrix Market holds ids and weights.
    In the other formats the edge file at `path` holds the edges alone, and the node
    table goes to `nodes`. Formats go by the suffixes; `format` is that of the edge
    file. `edges` are rows to write instead of those of the graph. Nothing is written
    where a format cannot hold a column, or attributes would be lost.
    """
    path = Path(path)
    chosen = format_of(path, format, GRAPH_FORMATS)
    table = graph.edges if edges is None else edges
    node_table = graph.nodes
    if node_table is None:
        node_table = pa.table({graph.options.id: graph.ids})
    if nodes is None:
        _check_nothing_is_lost(graph, chosen, table)
    elif is_same_file(Path(nodes), path):
        raise ValueError(f"{path}: edges and nodes cannot be written to the same file.")
    with ExitStack() as stack:
        if nodes is not None:
            nodes = Path(nodes)
            chosen_too = format_of(nodes, None, TABLE_FORMATS)
            _write(node_table, stack.enter_context(replacing(nodes)), chosen_too, nodes)
        temporary = stack.enter_context(replacing(path))
        if chosen in TABLE_FORMATS:
            _write(table, temporary, chosen, path)
            if graph.undirected and not graph.options.undirected:
                logger.warning(BOTH, path)
        else:
            _write_whole(graph, table, node_table, temporary, chosen, path)


def _write(table: Any, temporary: Path, format: str, path: Path) -> None:
    with _writer(temporary, format, path) as write:
        write(table)


@contextmanager
def _writer(
    temporary: Path, format: str, path: Path
) -> Iterator[Callable[[Any], None]]:
    """Writes parts of a table that will be at `path`; errors name it."""
    parts: list[Any] = []
    with ExitStack() as stack:
        if format == "parquet":
            write = stack.enter_context(parquet_writer(temporary))
        elif format == "npz":
            write = parts.append
        else:
            how = compression_of(path)
            text = csv_writer(temporary, format=format, compression=how)
            write = stack.enter_context(text)

        def write_part(table: Any) -> None:
            with _naming(path, format):
                write(flat_table(table) if format in DELIMITERS else table)

        yield write_part
        with _naming(path, format):
            if format == "npz":
                write_npz(pa.concat_tables(parts), temporary)
            stack.close()


@contextmanager
def _naming(path: Path, format: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path}: cannot be written as {format}: {error}") from error


def _write_whole(
    graph: FileGraph, edges: Any, nodes: Any, temporary: Path, format: str, path: Path
) -> None:
    options, weight = graph.options, graph.weight or "weight"
    named = weight if weight in edges.column_names else None
    with _naming(path, format):
        if format == "mtx":
            _write_mtx(graph, edges, named, temporary)
            return
        tables = flat_table(edges), flat_table(nodes)
        names = options.src, options.dst, options.id
        write = write_graphml if format == "graphml" else write_gexf
        write(DrawnGraph(*tables, *names, named, graph.undirected), temporary)


def _write_mtx(graph: FileGraph, edges: Any, weight: str | None, path: Path) -> None:
    options = graph.options
    held = (options.src, options.dst, weight)
    for name in edges.column_names:
        if name not in held:
            raise ValueError(
                f"Matrix Market holds ids and one weight, and column {name!r} would be"
                " lost; leave it out with `columns`, or choose another format."
            )
    ids, value = graph.ids, None
    src, dst = (positions(edges.column(n), ids) for n in (options.src, options.dst))
    if weight is not None:
        value = edges.column(weight).to_numpy()
        if value.dtype == object:  # numbers as text, or some are missing
            value = numbers(Source(edges, str(graph.edges_path), "table"), weight)
    names, symmetric = ids.to_pylist(), graph.undirected
    write_matrix_market(path, src, dst, value, names, is_symmetric=symmetric)


def _check_nothing_is_lost(graph: FileGraph, format: str, edges: Any) -> None:
    """Refuse to lose what only the edge file holds; warn of nodes without edges."""
    if graph.nodes_path is not None or format in DRAWN_FORMATS:
        return
    if graph.nodes is not None and graph.nodes.num_columns > 1:
        name = next(n for n in graph.nodes.column_names if n != graph.options.id)
        raise ValueError(
            f"{graph.edges_path or 'nodes'}: the node column {name!r} has no place in"
            f" a {format} edge file; name a file for the nodes too."
        )
    if format == "mtx":
        return
    seen = np.zeros(graph.data.num_nodes, dtype=bool)
    for end in (graph.options.src, graph.options.dst):
        seen[positions(edges.column(end), graph.ids)] = True
    if not seen.all():
        logger.warning(
            "%d nodes without edges are not in the edge file; name a file for the nodes"
            " to keep them.",
            int((~seen).sum()),
        )
