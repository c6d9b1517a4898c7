"""Values of edges to the user's tables and to smaller graphs, with ids and columns."""

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from torch import Tensor

from sgat.config import FileOptions
from sgat.data.files.ids import positions
from sgat.data.files.outputs import check_outputs
from sgat.data.files.read import FileGraph, read_graph
from sgat.data.files.source import listed
from sgat.data.files.write import write_graph

logger = logging.getLogger(__name__)


def with_columns(
    graph: FileGraph,
    values: Mapping[str, Tensor | None],
    loops: Mapping[str, float | Tensor],
) -> Any:
    """The rows of the edge table, in their order, with one more column per value, [E].

    Rows of one edge all get its value, and a row that stands for both directions the
    larger of the two. None gives nulls. A new column replaces one of its name. `loops`
    has the value at a self-loop: a number, or one per node, [N]; else it is null.
    """
    return pa.concat_tables(parts_with_columns(graph, values, loops))


def parts_with_columns(
    graph: FileGraph,
    values: Mapping[str, Tensor | None],
    loops: Mapping[str, float | Tensor],
) -> Iterator[Any]:
    """The same table some rows at a time, one part at least."""
    head, ids = graph.rows.head.table, graph.ids
    replaced = [name for name in values if name in head.column_names]
    if replaced:
        logger.warning("the columns %s are replaced by new ones.", ", ".join(replaced))
    known = {
        name: None if value is None else _of_edges(graph, name, value)
        for name, value in values.items()
    }
    input_edge = graph.data.graph.input_edge
    assert input_edge is not None
    batches = graph.rows.batches() if graph.rows.number else [(graph.rows.head, 0)]
    for source, start in batches:
        table = source.table.drop_columns(replaced)
        place = input_edge[start : start + len(table)]
        is_loop = (place < 0).numpy(force=True)
        for name, value in known.items():
            if value is None:
                column = pa.nulls(len(table), pa.float64())
            else:
                given, loop = _per_row(value, place), loops.get(name)
                if isinstance(loop, Tensor) and is_loop.any():
                    ends = source.table.column(graph.options.src)
                    nodes = positions(pc.filter(ends, pa.array(is_loop)), ids)
                    given[is_loop] = loop.numpy(force=True)[nodes]
                elif loop is not None and not isinstance(loop, Tensor):
                    given[is_loop] = loop
                column = pa.array(given, mask=is_loop if loop is None else None)
            table = table.append_column(name, column)
        yield table


def pruned_table(
    graph: FileGraph,
    kept: Tensor,
    factor: Tensor,
    *,
    columns: Sequence[str] | None = None,
) -> Any:
    """The rows that are kept, their weights multiplied by the factors, [E] each.

    Self-loops are always kept. The weight column is called `weight` and comes last if
    the input has none. Of the further columns `columns` stay; None keeps all.
    """
    edge = graph.data.graph.input_edge
    assert edge is not None
    stays = _per_row(_of_edges(graph, "kept", kept), edge).astype(bool)
    weight = _per_row(_of_edges(graph, "factor", factor), edge).astype(np.float64)
    is_loop = (edge < 0).numpy(force=True)
    weight[is_loop], stays[is_loop] = 1, True
    table, name = graph.edges, graph.weight or "weight"
    if graph.weight is not None:
        weight = weight * table.column(name).cast(pa.float64()).to_numpy()
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(weight))
    else:
        if name in table.column_names:
            if columns is None or name in columns:
                raise ValueError(
                    f"{graph.edges_path or 'edges'}: the column {name!r} is not read as"
                    " the weight, but would be overwritten by it; leave it out with"
                    " `columns`."
                )
            table = table.drop_columns([name])
        table = table.append_column(name, pa.array(weight))
    if columns is not None:
        table = _selected(graph, table, name, columns)
    return table.filter(pa.array(stays))


def write_pruned(
    graph: FileGraph,
    kept: Tensor,
    factor: Tensor,
    path: str | Path,
    format: str | None = None,
    *,
    nodes: str | Path | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Write the smaller graph: the rows of `pruned_table`, as `write_graph` does it.

    A path without a suffix is written in the format of the input, unless one is given.
    """
    if format is None and not Path(path).suffix:
        format = graph.edges_format
    table = pruned_table(graph, kept, factor, columns=columns)
    write_graph(graph, path, nodes=nodes, format=format, edges=table)


def convert(
    edges: str | Path,
    nodes: str | Path | None,
    out: str | Path,
    nodes_out: str | Path | None = None,
    *,
    options: FileOptions = FileOptions(),
    format: str | None = None,
    columns: Sequence[str] | None = None,
    overwrite: bool = True,
) -> FileGraph:
    """Read a graph, check its ids and weights, and write it in another format.

    `columns` of the edge table are kept besides ids and weight; None keeps all. Files
    that are there already are replaced with `overwrite`. Returns the graph that was
    read. See `read_graph` and `write_graph` for the rest.
    """
    outputs = {"out": Path(out), "nodes_out": Path(nodes_out) if nodes_out else None}
    inputs = {"the edges": edges, "the nodes": nodes}
    check_outputs(outputs, inputs, overwrite=overwrite)
    # Columns that were not asked for pass through as they are, gaps and all.
    passive = dataclasses.replace(
        options,
        features=options.features or (),
        drop=options.drop if options.split_column else (*options.drop, "split"),
    )
    graph = read_graph(edges, nodes, options=passive)
    table = graph.edges
    if columns is not None:
        table = _selected(graph, table, graph.weight, columns)
    write_graph(graph, out, nodes=nodes_out, format=format, edges=table)
    return graph


def _selected(
    graph: FileGraph, table: Any, weight: str | None, columns: Sequence[str]
) -> Any:
    """The ids, the weight and the named columns of the table, in its order."""
    for column in columns:
        if column not in table.column_names:
            raise ValueError(
                f"{graph.edges_path or 'edges'}: no column {column!r} to keep;"
                f" the columns are {listed(graph.edges.column_names)}."
            )
    wanted = {graph.options.src, graph.options.dst, weight, *columns}
    return table.select([name for name in table.column_names if name in wanted])


def _of_edges(graph: FileGraph, name: str, value: Tensor) -> Tensor:
    """The value of each edge, or the larger of both directions, where the graph is."""
    if value.shape != (graph.data.graph.num_edges,):
        raise ValueError(
            f"`{name}` must have one entry for each of the"
            f" {graph.data.graph.num_edges} edges, got shape {list(value.shape)}."
        )
    value = value.detach().to(graph.data.graph.device)
    return graph.data.graph.larger_direction(value) if graph.undirected else value


def _per_row(value: Tensor, edge: Tensor) -> np.ndarray[Any, Any]:
    """The value of the edge of each row; anything at a loop."""
    found = value[edge] if len(value) else value.new_zeros(len(edge))
    return np.asarray(found.numpy(force=True))
