"""The rows of a file, judged without being held: read, judged, read again, written."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from sgat.data.files import FileGraph
from sgat.data.files.columns import numbers
from sgat.data.files.encoding import encoded_edges
from sgat.data.files.numbered_rows import checked_rows, numbered_rows
from sgat.data.files.source import Source
from sgat.data.files.write import table_writer
from sgat.data.node_data import check_features
from sgat.graph.edge_list import tell_merged
from sgat.judging import edge_judge
from sgat.judging.judged_edges import COLUMNS, known_classes, tell_too_few
from sgat.judging.known_nodes import known_labels
from sgat.judging.matrices import EdgeNumbers, parts
from sgat.judging.memory import check_disk, fits, judging_bytes
from sgat.judging.promise import Removed, choose_removed
from sgat.judging.reasons import REASONS, phrases
from sgat.judging.verdict import Progress
from sgat.ops.blocks import (
    by_rows,
    empty,
    on_disk,
    on_gpu,
    placed,
    sum_of_rows,
    trim_heap,
)
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

ON_DISK = (
    "the numbers of %s edges do not fit in memory: they go to the disk of %s"
    " meanwhile, which takes longer."
)
logger = logging.getLogger(__name__)


class JudgedBatch(NamedTuple):
    """Some rows of a table, self-loops among them."""

    table: Any  # as they are written, without what the judge adds
    src: Array  # number of a node, [rows]
    dst: Array  # [rows]
    probability: Array  # that the edge is real, 1 for a self-loop, [rows] float32
    reason: Array  # place in `phrases`, [rows] int8, or int16 with columns
    goes: Array  # whether it is removed, [rows] bool

    @property
    def of_edges(self) -> list[Array]:
        """All but the table, of the rows that are no self-loops."""
        is_edge = self.src != self.dst
        columns = self.src, self.dst, self.probability, self.goes, self.reason
        return [column[is_edge] for column in columns]


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedRows:
    """The verdicts on the edges of files.

    Attributes:
        files: The graph, with the rows of its edges yet to be read.
        edges: Its edges, each once and without directions.
        number: How many rows each edge has, [E].
        probability: That it is real, [E] float32.
        reason: Why, a place in `phrases`, [E] int8, or int16 with columns.
        folder: Where arrays of edges lie; None in memory.
    """

    files: FileGraph
    edges: EdgeNumbers
    number: Array
    probability: Array
    reason: Array
    folder: Path | None = None

    @property
    def phrases(self) -> list[str]:
        """What the reasons are in words."""
        return phrases(self.files.data.edge_columns)

    @property
    def num_edges(self) -> int:
        """Number of rows, self-loops left out."""
        return int(self.number.sum(dtype=np.int64))

    @property
    def wrong_share(self) -> float:
        """Estimated share of wrong edges among the rows."""
        given = self.probability, self.number
        right = sum_of_rows(lambda p, n: p.astype(float) * n, *given)
        return 1 - right / self.num_edges

    def choose(self, **promise: Any) -> Removed:
        """The edges that go, by `choose_removed`, where each row counts."""
        probability, count = map(torch.from_numpy, (self.probability, self.number))
        with on_disk(self.folder):
            return choose_removed(probability, count=count, **promise)

    def batches(self, limit: float) -> Iterator[JudgedBatch]:
        """All rows in the order of the file; those up to a probability go."""
        files = self.files
        for part in numbered_rows(files.rows, files.ids, files.options):
            number = self.edges.find(part.src, part.dst)
            # Self-loops are no edges.
            is_edge = number >= 0
            probability = np.where(is_edge, self.probability[number], np.float32(1))
            reason = np.where(is_edge, self.reason[number], np.int8(len(REASONS)))
            table = _typed(part.source, files, part.ends)
            goes = (probability <= limit) & is_edge
            verdicts = probability, reason, goes
            yield JudgedBatch(table, part.src, part.dst, *verdicts)

    def write(
        self,
        out: Path,
        pruned: Path | None,
        *,
        limit: float,
        with_removed: bool,
        watch: Callable[[JudgedBatch], None] = lambda batch: None,
    ) -> None:
        """Write the judged table and that of the rows that stay, both or none.

        Edges up to the probability `limit` go; `with_removed` says so in a column of
        the judged table. `watch` sees each batch.
        """
        names = COLUMNS if with_removed else COLUMNS[:2]
        columns = self.files.rows.head.table.column_names
        if replaced := [name for name in names if name in columns]:
            told = ", ".join(replaced)
            logger.warning("the columns %s are replaced by new ones.", told)
        every = pa.array(self.phrases)
        with ExitStack() as stack:
            write = stack.enter_context(table_writer(out))
            also = None if pruned is None else stack.enter_context(table_writer(pruned))
            for batch in self.batches(limit):
                why = every.take(pa.array(batch.reason))
                values = batch.probability, why, batch.goes
                added = dict(zip(COLUMNS, values, strict=True))
                write(_with(batch.table, added, names))
                if also is not None:
                    stays = _with(batch.table, added, COLUMNS[:2])
                    also(stays.filter(pa.array(~batch.goes)))
                watch(batch)


def judge_rows(
    files: FileGraph,
    folder: Path,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    memory: int | None = None,
) -> JudgedRows:
    """Judge the edges of files of which the rows were not read.

    Arrays of edges lie in the `folder` if they do not fit in `memory`: a number of
    bytes, or what is free.
    """
    data, rows = files.data, files.rows
    check_features(data)
    label = known_labels(data.graph, *known_classes(data))
    width = sum(column.width for column in data.edge_columns)
    given: dict[str, Any] = edge_judge.sizes(edge_judge.telling(data.x), label, width)
    assert rows.number is not None

    def place_of(edges: int) -> Path | None:
        """The folder if so many edges do not fit in memory."""
        if fits(judging_bytes(edges=edges, **given), memory):
            return None
        check_disk(edges, folder, width)
        logger.warning(ON_DISK, f"{edges:,}", folder)
        return folder

    # A row stands for one direction or for both.
    gpu = edge_judge.judging_device((1 + files.undirected) * rows.number, given)
    place = None if gpu else place_of(rows.number)
    with on_disk(place):
        key, number, num_directed = _edge_keys(files, progress)
    pa.default_memory_pool().release_unused()
    trim_heap()
    if not len(key):
        raise ValueError(f"{data.name!r} has no edges to judge.")
    if gpu is None:
        place = place or place_of(2 * len(key))
    how: dict[str, Any] = {"seed": seed, "progress": progress, "memory": memory}
    with on_disk(place):
        edges = EdgeNumbers.of(key, data.num_nodes)
        del key
        how["on_disk"] = place is not None
        columns = _columns(files, edges, number) if width else None
        with on_gpu(gpu):
            there = EdgeNumbers(placed(edges.ends), placed(edges.ptr))
            about = num_directed, data.x, label, columns
            found = edge_judge.judge_edges(there, *about, **how)
            del there, columns
        found = edge_judge.Verdicts(host(found.log_odds), host(found.reason))
        tell_too_few(found.reason)
        probability = by_rows(
            lambda odds: torch.sigmoid(torch.from_numpy(odds)).numpy(), found.log_odds
        )
    return JudgedRows(files, edges, number, probability, found.reason, place)


def _edge_keys(files: FileGraph, progress: Progress | None) -> tuple[Array, Array, int]:
    """Keys low · N + high of the edges, ascending, the rows of each, and directed ones.

    Checks ids and weights, of which the judge knows nothing further.
    """
    rows, size, weight = files.rows, files.data.num_nodes, files.weight
    listed = str(files.nodes_path or rows.head.name)
    assert rows.number is not None
    key, count = empty(rows.number, np.int64), 0
    for part, _ in checked_rows(rows, files.ids, files.options, weight, listed):
        low, high = np.minimum(part.src, part.dst), np.maximum(part.src, part.dst)
        # The direction in the last place.
        own = 2 * (low.astype(np.int64) * size + high) + (part.src > part.dst)
        own = own[low != high]
        first, count = count, count + len(own)
        key[first:count] = own
    if progress:
        progress(f"judging {rows.number:,} rows")
    key = key[:count]
    key.sort()
    number, num_directed = _merged(key)
    tell_merged(count - num_directed, weight is not None, files.undirected)
    key = key[: len(number)]
    return key, number, 2 * len(key) if files.undirected else num_directed


def _columns(files: FileGraph, edges: EdgeNumbers, number: Array) -> Array:
    """Means over the rows of each edge of what their columns become, [E, F]."""
    known, options = files.data.edge_columns, files.options
    found = empty((len(number), sum(column.width for column in known)), np.float32)
    found[:] = 0
    names = options.src, options.dst, *(column.name for column in known)
    for part in numbered_rows(files.rows, files.ids, options, *names):
        place = edges.find(part.src, part.dst)
        value = encoded_edges(part.source, known, options).numpy()
        np.add.at(found, place[place >= 0], value[place >= 0])
    for rows in parts(len(found)):
        found[rows] /= number[rows, None]
    return found


def _merged(key: Array) -> tuple[Array, int]:
    """How many ascending keys each edge has, and how many of all keys differ.

    The edges take the places of the first keys.
    """
    number, count, num_different, before = empty(len(key), np.int32), 0, 0, -1
    for part in parts(len(key)):
        num_different += int(np.count_nonzero(np.diff(key[part], prepend=before)))
        edge = key[part] >> 1
        first = np.flatnonzero(np.diff(edge, prepend=before >> 1))
        before = int(key[part][-1])
        if count:
            # Keys before the first new edge are of the last one.
            number[count - 1] += first[0] if len(first) else len(edge)
        start, count = count, count + len(first)
        key[start:count] = edge[first]
        number[start:count] = np.diff(first, append=len(edge))
    number = number[:count]
    kind = np.int8 if number.max(initial=0) < 128 else np.int32
    return by_rows(np.copy, number, dtype=kind), num_different


def _typed(source: Source, files: FileGraph, ends: list[Any]) -> Any:
    """Rows as they are written: text columns have the types of all their cells."""
    given, types = source.table, files.rows.types
    of_ids = dict(zip((files.options.src, files.options.dst), ends, strict=True))
    columns = dict(zip(given.column_names, given.columns, strict=True))
    for name in [name for name in columns if name in source.text_columns]:
        if name in of_ids:
            columns[name] = of_ids[name]
        elif name in types:
            columns[name] = columns[name].cast(types[name])
        elif name == files.weight:
            columns[name] = pa.array(numbers(source, name))
    return pa.table(columns)


def _with(table: Any, added: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The table with columns at the end, which replace those of their names."""
    table = table.drop_columns([name for name in names if name in table.column_names])
    for name in names:
        table = table.append_column(name, pa.array(added[name]))
    return table
