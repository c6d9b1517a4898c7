"""Rows of a stored edge table with the numbers of their nodes, in batches, checked.

Tested by tests/data/files/test_read.py and tests/judging/test_judged_rows.py.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from sgat.config import FileOptions
from sgat.data.files.columns import numbers
from sgat.data.files.ids import checked_ids
from sgat.data.files.source import Source
from sgat.data.files.stored_edges import IdNumbers, StoredEdges, as_ids
from sgat.graph import Graph
from sgat.graph.compressed_rows import index_type
from sgat.graph.edge_list import LARGEST_WEIGHT

Array = np.ndarray[Any, Any]

MANY_ROWS = 1 << 22
"""Rows from which a graph is put together where it is trained on."""


class NumberedRows(NamedTuple):
    """Some rows of an edge table."""

    source: Source
    start: int  # index of the first row
    ends: list[Any]  # ids in the type of all ids
    src: Array  # number of a node, [rows]
    dst: Array


def numbered_rows(
    rows: StoredEdges, ids: Any, options: FileOptions, *columns: str
) -> Iterator[NumberedRows]:
    """The rows of these columns, or all columns; `ids` are those of the nodes."""
    numbers_of = IdNumbers(ids)
    for source, start in rows.batches(*columns):
        ends = [
            as_ids(checked_ids((source, name)), ids.type)
            for name in (options.src, options.dst)
        ]
        src, dst = (numbers_of.of(end) for end in ends)
        yield NumberedRows(source, start, ends, src, dst)


def checked_rows(
    rows: StoredEdges, ids: Any, options: FileOptions, weight: str | None, listed: str
) -> Iterator[tuple[NumberedRows, Array | None]]:
    """The same with the weights, in full; `listed` is the file that lists the nodes."""
    columns = [options.src, options.dst, *([] if weight is None else [weight])]
    last, is_some = 0, False
    for part in numbered_rows(rows, ids, options, *columns):
        value, last = None, part.start + len(part.src)
        if weight is not None:
            value = numbers(part.source, weight)
            # NaN fails the comparison too.
            bad = ~((value >= 0) & (value <= LARGEST_WEIGHT))
            problem = f"must be a number from 0 to {LARGEST_WEIGHT:g}, got {{}}."
            part.source.refuse(bad, weight, problem)
            is_some |= bool(value.any())
        places = part.src, part.dst
        for name, end, place in zip(columns, part.ends, places, strict=False):
            if len(place) and place.min() < 0:
                row = int((place < 0).argmax())
                id = end[row].as_py()
                hint = "; '007' is another id than '7'" if str(id)[:1] == "0" else ""
                what = f"{id!r} is not an id of {listed}{hint}."
                raise part.source.fault(what, name, row)
        yield part, value
    if weight is not None and last and not is_some:
        problem = f"must be above 0 in some row, got 0 in all {last:,}."
        raise rows.head.fault(problem, weight)


def graph_of_rows(
    rows: StoredEdges,
    ids: Any,
    options: FileOptions,
    weight: str | None,
    listed: str,
    undirected: bool,
    attr: torch.Tensor | None,
    device: torch.device | None,
) -> Graph:
    """The graph of all rows, which are read; on the device if they are `MANY_ROWS`."""
    ends: tuple[list[Any], ...] = ([], [])
    weights, kind = [], index_type(len(ids))
    for part, given in checked_rows(rows, ids, options, weight, listed):
        for parts, place in zip(ends, (part.src, part.dst), strict=True):
            parts.append(torch.from_numpy(place).to(kind))
        if given is not None:
            weights.append(torch.tensor(given, dtype=torch.get_default_dtype()))
    index = torch.empty(2, sum(map(len, ends[0])), dtype=kind)
    for end, parts in zip(index, ends, strict=True):
        torch.cat(parts or [end], out=end)
        parts.clear()
    value = torch.cat(weights) if weights else None
    weights.clear()
    how: dict[str, Any] = {"make_undirected": undirected}
    if device is not None and index.shape[1] >= MANY_ROWS and attr is None:
        # Where there is no room for it, training says so, or judges elsewhere.
        with contextlib.suppress(torch.OutOfMemoryError):
            there = None if value is None else value.to(device)
            return Graph.from_edges(index.to(device), len(ids), there, **how)
    return Graph.from_edges(index, len(ids), value, attr, **how)
