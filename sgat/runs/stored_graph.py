"""The scored graphs of a run, read back from its tables of nodes and edges."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from sgat.data.files.ids import positions, to_numpy
from sgat.data.files.stored_edges import IdNumbers
from sgat.data.node_data import ROLES, NodeData
from sgat.graph import Graph
from sgat.graph.compressed_rows import pointers
from sgat.ops.blocks import in_threads
from sgat.runs.folder import RunFolder
from sgat.scored import EdgeScores, ScoredGraph
from sgat.training.files import check_scores, damage, opened_parquet, read_parquet
from sgat.training.saved_model import SavedModel

Array = np.ndarray[Any, Any]

ROWS_AT_ONCE = 1 << 20
"""Rows of the edge table that are read in one go."""
FEWEST, BUCKET = 1 << 15, 1 << 22
"""Edges that are put in order by one thread, about: a sixteenth between these."""


class Rows(NamedTuple):
    """Rows of an edge table: node numbers of the ends, and log α, [M] each."""

    src: Array
    dst: Array
    log_alpha: Array


@dataclasses.dataclass(frozen=True)
class StoredGraph:
    """The tables of a run, its model with its settings, and its numbers."""

    folder: RunFolder
    saved: SavedModel
    summary: dict[str, Any]

    @property
    def is_complete(self) -> bool:
        """Whether the tables tell the score of every edge.

        Where a row stands for both directions of an edge, it has one score of the two.
        """
        return not self._both_ways or bool(self.saved.config.model.symmetric)

    def read(self) -> list[ScoredGraph]:
        """The graphs with their scores, as far as the tables hold them.

        Features and weights are not in them: `x` has no columns, all weights are 1, and
        there is no attention.
        """
        check_scores(self.folder.edges)
        model, scored = self.saved.model, []
        gates = model.gating.gates
        for name, table in (nodes := self._nodes()):
            ids = to_numpy(table.column("id").combine_chunks())
            known = None if np.array_equal(ids, np.arange(len(ids))) else ids
            split = positions(table.column("split"), pa.array(ROLES))
            roles: Any = {r: torch.from_numpy(split == k) for k, r in enumerate(ROLES)}
            graph, log_alpha = _sorted_graph(
                self._rows(known, len(table), name if len(nodes) > 1 else None),
                len(table),
                both=self._both_ways,
            )
            score = torch.from_numpy(log_alpha)
            kept = gates.is_kept(score)
            gate = torch.where(kept, gates.value(score), 0)
            edges = EdgeScores(score, model.probability_of(score), gate, kept)
            kind = torch.float32 if self._is_multilabel else torch.int64
            data = NodeData(
                graph=graph,
                x=torch.empty(len(table), 0),
                y=self._labels(table, "label").to(kind),
                **roles,
                classes=tuple(self._classes),
                node_ids=known,
                has_directions=not self.saved.config.model.symmetric,
                name=name,
            )
            scored.append(ScoredGraph(data, edges, *self._predictions(table)))
        return scored

    def read_onto(self, graphs: Sequence[NodeData]) -> list[ScoredGraph]:
        """The scores of the data that the run was trained on, which was read again."""
        check_scores(self.folder.edges)
        column = read_parquet(self.folder.edges, ["log_alpha"]).column("log_alpha")
        values = torch.from_numpy(column.to_numpy().astype(np.float32))
        scored, start, nodes = [], 0, self._nodes()
        if len(nodes) != len(graphs) or len(values) != sum(
            len(self._edge_of_row(data)) for data in graphs
        ):
            raise ValueError(f"{self.folder.edges} is damaged: rows are missing.")
        for data, (_, table) in zip(graphs, nodes, strict=True):
            graph, place = data.graph, self._edge_of_row(data)
            given = values[start : start + len(place)]
            start += len(place)
            log_alpha = torch.full((graph.num_edges,), -torch.inf)
            log_alpha[place[place >= 0]] = given[place >= 0]
            if self._both_ways:
                log_alpha = graph.larger_direction(log_alpha)
            edges = EdgeScores.by_model(self.saved.model, log_alpha, graph)
            scored.append(ScoredGraph(data, edges, *self._predictions(table)))
        return scored

    @property
    def _classes(self) -> list[Any]:
        return list(self.saved.header["classes"])

    @property
    def _is_multilabel(self) -> bool:
        return bool(self.saved.header["multilabel"])

    @property
    def _both_ways(self) -> bool:
        return bool(self.summary["undirected_rows"])

    def _edge_of_row(self, data: NodeData) -> Tensor:
        """The edge that each row of the table stands for; -1 for a loop."""
        if self.saved.config.data.edges is None:
            return torch.arange(data.graph.num_edges)
        # The rows are those of the user's file.
        assert data.graph.input_edge is not None
        return data.graph.input_edge

    @property
    def nodes(self) -> Any:
        """The table of the nodes, its columns checked."""
        path, found = self.folder.nodes, read_parquet(self.folder.nodes)
        with damage(path):
            if len(found) != self.summary["nodes"]:
                raise ValueError(f"{path} is damaged: rows are missing.")
            for name in self._classes:
                value = found.column(f"probability_{name}")
                if value.null_count or not np.isfinite(value.to_numpy()).all():
                    raise ValueError(
                        f"{path}: `probability_{name}` must be finite; train it again."
                    )
            for name in ("id", "split"):
                found.column(name)
        return found

    def _nodes(self) -> list[tuple[str, Any]]:
        """Name and nodes of each graph."""
        table = self.nodes
        if "graph" not in table.column_names:
            return [(str(self.summary["data"]), table)]
        names = table.column("graph")
        return [
            (name, table.filter(pc.equal(names, name)))
            for name in names.unique().to_pylist()
        ]

    def _labels(self, table: Any, what: str) -> Tensor:
        """Labels or predictions: number of the class, -1 without; or one per label."""
        if not self._is_multilabel:
            classes = pa.array(self._classes)
            return torch.from_numpy(positions(table.column(what), classes))
        return self._by_class(table, what)

    def _predictions(self, table: Any) -> tuple[Tensor, Tensor]:
        return self._labels(table, "prediction"), self._by_class(table, "probability")

    def _by_class(self, table: Any, what: str) -> Tensor:
        """The columns of all classes, [N, C]."""
        columns = [table.column(f"{what}_{name}").to_numpy() for name in self._classes]
        return torch.from_numpy(np.stack(columns, axis=1))

    def _rows(self, ids: Array | None, num_nodes: int, graph: str | None) -> Rows:
        """The edges of a graph; None is the only one."""
        files = self.saved.config.data.files
        ends = [files.src, files.dst]
        columns = [*ends, "log_alpha"]
        if graph is not None:
            table = read_parquet(self.folder.edges, ["graph", *columns])
            part = table.filter(pc.equal(table.column("graph"), graph))
            rows = _gathered(part.to_batches(), len(part), columns, ids)
        else:
            # Ids that are text repeat; their dictionary is looked up once per part.
            with opened_parquet(self.folder.edges, read_dictionary=ends) as file:
                batches = file.iter_batches(ROWS_AT_ONCE, columns=columns)
                rows = _gathered(batches, file.metadata.num_rows, columns, ids)
        for end in (rows.src, rows.dst):
            if len(end) and not 0 <= end.min() <= end.max() < num_nodes:
                raise ValueError(
                    f"{self.folder.edges} is damaged: it names a node that is not in"
                    f" {self.folder.nodes.name}."
                )
        return rows


def _gathered(
    batches: Iterable[Any], size: int, columns: Sequence[str], ids: Array | None
) -> Rows:
    """Rows of an edge table as numbers of nodes with their scores."""
    rows = Rows(*(np.empty(size, kind) for kind in (np.int32, np.int32, np.float32)))
    known, start = None if ids is None else IdNumbers(pa.array(ids)), 0
    for batch in batches:
        place = slice(start, start + len(batch))
        start = place.stop
        src, dst, log_alpha = (batch.column(name) for name in columns)
        rows.src[place], rows.dst[place] = _numbers(src, known), _numbers(dst, known)
        rows.log_alpha[place] = log_alpha.to_numpy(zero_copy_only=False)
    return rows


def _numbers(column: Any, ids: IdNumbers | None) -> Array:
    if isinstance(column, pa.DictionaryArray):
        return np.asarray(_numbers(column.dictionary, ids)[column.indices.to_numpy()])
    return np.asarray(column.to_numpy() if ids is None else ids.of(column))


def _sorted_graph(rows: Rows, num_nodes: int, *, both: bool) -> tuple[Graph, Array]:
    """The graph of the rows, with the log α of its edges in their order.

    Loops are left out, and of rows for the same edge one is taken. With `both`, a row
    stands for both directions.
    """
    src, dst, log_alpha = rows
    # What is no longer needed goes at once: large graphs have little room.
    del rows
    if both:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
        log_alpha = np.concatenate([log_alpha, log_alpha])
    if not _is_ordered(src, dst):
        src, dst, log_alpha = _ordered(src, dst, log_alpha, num_nodes)
        stays = src != dst
        stays[1:] &= (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])
        if not stays.all():
            src, dst, log_alpha = src[stays], dst[stays], log_alpha[stays]
    dst_, src_ = torch.from_numpy(dst), torch.from_numpy(src)
    return Graph(num_nodes, dst_, src_, pointers(dst_, num_nodes)), log_alpha


def _is_ordered(src: Array, dst: Array) -> bool:
    """Whether edges stand once each, by target and then by source, without loops."""
    for first in range(0, len(src), ROWS_AT_ONCE):
        a, b = (end[first : first + ROWS_AT_ONCE + 1] for end in (src, dst))
        later = (b[1:] > b[:-1]) | ((b[1:] == b[:-1]) & (a[1:] > a[:-1]))
        if not later.all() or (a == b).any():
            return False
    return True


def _ordered(
    src: Array, dst: Array, log_alpha: Array, num_nodes: int
) -> tuple[Array, Array, Array]:
    """Edges by target and then by source: those of some targets at a time, in threads.

    So they take little memory besides, and all cores.
    """
    ptr, size = pointers(torch.from_numpy(dst), num_nodes).numpy(), len(dst)
    columns = src, dst, log_alpha
    src_, dst_, log_alpha_ = found = [np.empty_like(column) for column in columns]

    def sort(rows: slice) -> None:
        # The targets whose edges begin among these places.
        first, last = np.searchsorted(ptr[:-1], [rows.start, rows.stop])
        parts = ((k, dst[k : k + ROWS_AT_ONCE]) for k in range(0, size, ROWS_AT_ONCE))
        own = np.concatenate(
            [k + np.flatnonzero((end >= first) & (end < last)) for k, end in parts]
        )
        key = dst[own].astype(np.int64) * num_nodes + src[own]
        own = own[np.argsort(key)]
        for column, new in zip(columns, found, strict=True):
            new[ptr[first] : ptr[last]] = column[own]

    in_threads(sort, size, min(max(size // 16, FEWEST), BUCKET))
    return src_, dst_, log_alpha_
