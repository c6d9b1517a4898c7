"""NodeScores: the numbers per node that the score of any edge is made of."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgat.config import Config
from sgat.data.files import Encoding, FileOptions
from sgat.data.files.encoding import encode
from sgat.data.files.ids import common_ids, first_repeated, to_numpy
from sgat.data.files.read import NODE_FORMATS, read_table
from sgat.data.files.source import check_file, format_of
from sgat.features import Features
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import rounded
from sgat.runs.finished_run import FinishedRun
from sgat.runs.folder import RunFolder
from sgat.scorers import AdditiveScorer, BilinearScorer, CosineScorer, FreeScorer

TEXT_FORMATS = ("csv", "tsv")
BY_NODES = (AdditiveScorer, CosineScorer, BilinearScorer)
"""Scorers whose scores are sums of such parts."""
Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class NodeScores:
    """Parts of scores: log α of an edge j → i is s_i + t_j + q_i · k_j.

    Gates that look at more of a graph than the ends of an edge, or put them together
    in another way, have no such parts; the rows of a table are then scored as one
    graph, see `sgat.pruning.row_scores`.

    Attributes:
        ids: The user's id of each node, [N] int64 or strings.
        dst: s of each node as a target, the gate bias included, [N] float32.
        src: t of each node as a source, [N] float32.
        x: Features of the nodes, [N, K].
        model: The trained network.
        ids_are_text: Whether the ids come from a text file, so that an integer may as
            well be meant as a string.
        query: Vector q of each node as a target, [N, R] float32, as `ops.open_edges`
            takes it; None for 0.
        key: Vector k of each node as a source; None if `query` is.
        needs_graph: Whether the score of an edge is made of other things.
    """

    ids: Array
    dst: Array
    src: Array
    x: Features
    model: SGAT
    ids_are_text: bool = False
    query: Array | None = None
    key: Array | None = None
    needs_graph: bool = False

    @property
    def rank(self) -> int:
        """Length R of the vectors; 0 without."""
        return 0 if self.query is None else self.query.shape[1]

    @property
    def ids_are_integers(self) -> bool:
        """Whether the ids are integers."""
        return self.ids.dtype.kind in "iu"

    @classmethod
    def of_run(cls, run: FinishedRun) -> NodeScores:
        """Scores of the nodes that the run was trained on.

        Raises:
            ValueError: If the run has several graphs, or gates of its own edges alone.
        """
        if len(run.graphs) > 1:
            raise ValueError(
                f"{run.folder.path} has {len(run.graphs)} graphs, whose ids may be the"
                " same; give the nodes of one with `--nodes`."
            )
        data, files = run.graphs[0], run.loaded.files
        ids = np.arange(data.num_nodes) if data.node_ids is None else data.node_ids
        if ids.dtype == object and not all(isinstance(name, str) for name in ids):
            ids = np.array([str(name) for name in ids], dtype=object)
        format = None if files is None else files.nodes_format or files.edges_format
        is_text = format in TEXT_FORMATS
        return cls._scored(run.folder, run.model, data.x, ids, is_text)

    @classmethod
    def of_file(
        cls,
        folder: RunFolder,
        model: SGAT,
        config: Config,
        path: Path,
        *,
        id: str | None = None,
        delimiter: str | None = None,
    ) -> NodeScores:
        """Scores of other nodes, whose features are encoded as those of the run were.

        Args:
            folder: The run.
            model: Its network.
            config: Its settings.
            path: The node file.
            id: Column with the ids; None for that of the run.
            delimiter: What separates the cells of a text table.

        Raises:
            ValueError: If the run cannot say what the features are, or a value is bad.
        """
        if config.data.edges is None or not folder.encoding.exists():
            raise ValueError(
                f"{folder.path} was trained on a named data set and does not say what"
                " the columns of `--nodes` mean; leave `--nodes` out."
            )
        encoding = Encoding.from_json(folder.encoding.read_text(encoding="utf-8"))
        if not encoding.features:
            raise ValueError(
                f"{folder.path} was trained without features, so it knows its own"
                " nodes only; leave `--nodes` out."
            )
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in config.data.options.items()
        }
        known = FileOptions(**options)
        check_file(path)
        format = format_of(path, None, NODE_FORMATS)
        source = read_table(path, format, delimiter or known.delimiter)
        name = id or known.id
        source.column(name, "the node ids")
        ids = common_ids([(source, name)])[0]
        row = first_repeated(ids)
        if row >= 0:
            raise source.fault(
                f"the id {ids[row].as_py()!r} occurs more than once.",
                column=name,
                row=row,
            )
        zeros = known.unknown_category == "zero"
        x = encode(source, encoding.features, ignore_unknown=zeros)
        is_text = format in TEXT_FORMATS
        return cls._scored(folder, model, x, to_numpy(ids), is_text)

    @classmethod
    def _scored(
        cls, folder: RunFolder, model: SGAT, x: Features, ids: Array, is_text: bool
    ) -> NodeScores:
        if isinstance(model.gating.scorer, FreeScorer):
            raise ValueError(
                f"The gates of {folder.path} are transductive: they know the edges of"
                " the run and no others. Its scores are in edges.parquet of the run;"
                " or train with `--gate-mode inductive`."
            )
        if x.shape[1] != model.gating.in_channels:
            raise ValueError(
                f"{folder.path} was trained on {model.gating.in_channels} features,"
                f" got {x.shape[1]}."
            )
        if not isinstance(model.gating.scorer, BY_NODES):
            zero = np.zeros(len(ids), dtype=np.float32)
            return cls(ids, zero, zero, x, model, is_text, needs_graph=True)
        empty = Graph.from_edges(torch.empty(2, 0, dtype=torch.long), len(ids))
        with torch.no_grad():
            scores = model.gating.score(x, empty)
        pair = (
            None if vector is None else rounded(vector)
            for vector in (scores.query, scores.key)
        )
        dst, src, query, key = (
            None if part is None else part.float().numpy(force=True)
            for part in (scores.dst, scores.src, *pair)
        )
        assert dst is not None and src is not None
        return cls(ids, dst, src, x, model, is_text, query, key)

    def table(self) -> Any:
        """Columns id, node (its number), s, t, q0, k0, q1 …, a `pyarrow.Table`."""
        import pyarrow as pa

        kind = pa.int64() if self.ids_are_integers else pa.string()
        columns = {
            "id": pa.array(self.ids, kind),
            "node": np.arange(len(self.ids), dtype=np.int32),
            "s": self.dst,
            "t": self.src,
        }
        for r in range(self.rank):
            assert self.query is not None and self.key is not None
            columns |= {f"q{r}": self.query[:, r], f"k{r}": self.key[:, r]}
        return pa.table(columns)
