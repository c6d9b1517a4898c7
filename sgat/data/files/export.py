"""Scores of edges to tables and to smaller graphs, with the user's ids and columns."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from sgat.data.files.file_graph import FileGraph
from sgat.data.files.ids import positions
from sgat.data.files.options import FileOptions
from sgat.data.files.read import read_graph
from sgat.data.files.source import listed
from sgat.data.files.write import write_graph
from sgat.scored import EdgeScores

SCORES = ("log_alpha", "probability", "gate", "kept", "attention")
"""Columns of a score table, after those of the input."""

logger = logging.getLogger(__name__)


def score_table(graph: FileGraph, scores: EdgeScores) -> Any:
    """The rows of the edge table, in their order, with five columns more.

    Rows that were merged into one edge all get its scores. Where a row stands for both
    directions it gets the larger score of the two: an undirected edge is as open as its
    more open direction. A self-loop has no log α, and probability, gate and `kept` are
    1, 1 and true. Columns of the input that have the name of a score are replaced.

    Args:
        graph: The graph and its edge table of M rows.
        scores: Scores of its E edges.

    Returns:
        A `pyarrow.Table` of M rows.

    Raises:
        ValueError: If the scores are not one per edge.
    """
    edge = _input_edge(graph)
    is_loop = edge < 0
    table = graph.edges
    replaced = [name for name in SCORES if name in table.column_names]
    if replaced:
        logger.warning("the columns %s are replaced by new ones.", ", ".join(replaced))
        table = table.drop_columns(replaced)
    at_loops = {"log_alpha": None, "probability": 1.0, "gate": 1.0, "kept": True}
    for name in SCORES:
        value = getattr(scores, name)
        if value is None:
            column = pa.nulls(len(edge), pa.float64())
        else:
            given = _per_row(graph, _per_edge(graph, name, value), edge)
            loop = at_loops.get(name)
            if name == "attention":
                loop, given = _loop_attention(graph, scores, given, is_loop)
            elif loop is not None:
                given[is_loop] = loop
            column = pa.array(given, mask=is_loop if loop is None else None)
        table = table.append_column(name, column)
    return table


def pruned_table(
    graph: FileGraph, scores: EdgeScores, *, columns: Sequence[str] | None = None
) -> Any:
    """The rows that are kept, with the weight A_ij z_ij in the weight column.

    Args:
        graph: The graph and its edge table.
        scores: Scores of its edges.
        columns: Further columns of the edge table to keep; None keeps all.

    Returns:
        A `pyarrow.Table` of the ids, the columns, and the weight column, which is
        called `weight` and comes last if the input has none.
    """
    edge = _input_edge(graph)
    kept = _per_row(graph, _per_edge(graph, "kept", scores.kept), edge).astype(bool)
    gate = _per_row(graph, _per_edge(graph, "gate", scores.gate), edge)
    gate, kept = gate.astype(np.float64), kept.copy()
    gate[edge < 0], kept[edge < 0] = 1, True
    table = graph.edges
    weight = gate
    if graph.weight is not None:
        weight = gate * table.column(graph.weight).cast(pa.float64()).to_numpy()
    name = graph.weight or "weight"
    if graph.weight is None and name in table.column_names:
        if columns is None or name in columns:
            raise ValueError(
                f"{graph.edges_path or 'edges'}: the column {name!r} is not read as the"
                " weight, but would be overwritten by it; leave it out with `columns`."
            )
        table = table.drop_columns([name])
    if name in table.column_names:
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(weight))
    else:
        table = table.append_column(name, pa.array(weight))
    if columns is not None:
        for column in columns:
            if column not in table.column_names:
                raise ValueError(
                    f"{graph.edges_path or 'edges'}: no column {column!r} to keep;"
                    f" the columns are {listed(graph.edges.column_names)}."
                )
        wanted = {graph.options.src, graph.options.dst, name, *columns}
        table = table.select([c for c in table.column_names if c in wanted])
    return table.filter(pa.array(kept))


def write_pruned(
    graph: FileGraph,
    scores: EdgeScores,
    path: str | Path,
    format: str | None = None,
    *,
    nodes: str | Path | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Write the smaller graph: the rows that are kept, with weights A_ij z_ij.

    Args:
        graph: The graph and its tables.
        scores: Scores of its edges.
        path: The file; see `write_graph` for what each format holds.
        format: Its format; None goes by its suffix, or is that of the input if the
            path has none.
        nodes: A file for the node table too; None writes none.
        columns: Further columns of the edge table to keep; None keeps all.

    Raises:
        ValueError: If the format cannot hold a column; nothing is written then.
        OSError: If the file cannot be written; it names the file.
    """
    if format is None and not Path(path).suffix:
        format = graph.edges_format
    table = pruned_table(graph, scores, columns=columns)
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
) -> FileGraph:
    """Read a graph, check its ids and weights, and write it in another format.

    Args:
        edges: The edge file.
        nodes: The node file, if there is one.
        out: The edge file to write.
        nodes_out: The node file to write; None writes none.
        options: Which columns mean what.
        format: Format of `out`; None goes by its suffix.
        columns: Columns of the edge table to keep besides ids and weight; None keeps
            all.

    Returns:
        What was read.

    Raises:
        ValueError: As `read_graph` and `write_graph`; nothing is written then.
        OSError: If a file cannot be read or written; it names the file.
    """
    # Columns that were not asked for pass through as they are, gaps and all.
    passive = dataclasses.replace(
        options,
        features=options.features or (),
        drop=options.drop if options.split else (*options.drop, "split"),
    )
    graph = read_graph(edges, nodes, options=passive)
    table = graph.edges
    if columns is not None:
        wanted = {options.src, options.dst, graph.weight, *columns}
        for column in columns:
            if column not in table.column_names:
                raise ValueError(
                    f"{edges}: no column {column!r} to keep;"
                    f" the columns are {listed(table.column_names)}."
                )
        table = table.select([c for c in table.column_names if c in wanted])
    write_graph(graph, out, nodes=nodes_out, format=format, edges=table)
    return graph


def _input_edge(graph: FileGraph) -> np.ndarray[Any, Any]:
    assert graph.data.graph.input_edge is not None
    return graph.data.graph.input_edge.cpu().numpy()


def _per_edge(graph: FileGraph, name: str, value: Tensor) -> np.ndarray[Any, Any]:
    array = value.numpy(force=True)
    if array.shape != (graph.data.graph.num_edges,):
        raise ValueError(
            f"`{name}` must have one entry for each of the"
            f" {graph.data.graph.num_edges} edges, got shape {list(array.shape)}."
        )
    return array


def _per_row(
    graph: FileGraph, value: np.ndarray[Any, Any], edge: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """The value of the edge of each row; anything at a loop."""
    if not len(value):
        return np.zeros(len(edge), value.dtype)
    if graph.undirected:
        both = graph.data.graph.to("cpu").larger_direction(torch.from_numpy(value))
        value = both.numpy()
    return np.asarray(value[edge])


def _loop_attention(
    graph: FileGraph, scores: EdgeScores, given: Any, is_loop: Any
) -> tuple[float | None, Any]:
    if scores.loop_attention is None or not is_loop.any():
        return None, given
    loops = pc.filter(graph.edges.column(graph.options.src), pa.array(is_loop))
    share = scores.loop_attention.numpy(force=True)
    given[is_loop] = share[positions(loops, pa.array(graph.data.node_ids))]
    return 1.0, given
