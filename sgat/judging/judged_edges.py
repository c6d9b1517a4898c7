"""JudgedEdges and judge(): the edges of anybody's data, each with its probability."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sgat.config import DataConfig, FileOptions
from sgat.data.configured import check_columns, check_dropped, load_configured
from sgat.data.given_data import GivenData
from sgat.data.hetero import edges_of_types, is_hetero
from sgat.data.node_data import NodeData, check_features
from sgat.judging import edge_judge
from sgat.judging.promise import Removed, choose_removed
from sgat.judging.reasons import REASONS, phrases

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

logger = logging.getLogger(__name__)

ROWS_AT_ONCE = 1 << 24
SHOWN = 10
"""Edges that a notebook shows."""
COLUMNS = ("probability", "why", "removed")
"""Columns of a judged table, after those of the input."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedEdges:
    """Edges with the probability that they are real.

    Attributes:
        given: The data as it was given.
        data: The graph that was read from it.
        edge_probability: P(real) of each edge of that graph, [E] float32.
        edge_reason: Why, an index into `sgat.judging.REASONS`, or into all `phrases`
            where edges have columns, [E] int64.
        index: That of the rows, where they are a table of pandas.
    """

    given: GivenData | FileGraph
    data: NodeData
    edge_probability: Tensor
    edge_reason: Tensor
    index: Any = None

    @property
    def probability(self) -> Tensor:
        """P(real) of each edge in the order given, 1 for a self-loop, [M] float32."""
        return self.data.graph.to_input(self.edge_probability, loop=1.0)

    @property
    def why(self) -> np.ndarray[Any, Any]:
        """A phrase for each edge in the order given, [M] strings."""
        place = self.data.graph.to_input(self.edge_reason, loop=len(REASONS))
        return np.asarray(np.array(phrases(self.data.edge_columns))[place.numpy()])

    @property
    def is_loop(self) -> Tensor:
        """Which of the edges given are self-loops; these always stay, [M] bool."""
        none = torch.zeros_like(self.edge_reason, dtype=torch.bool)
        return self.data.graph.to_input(none, loop=True)

    @property
    def num_edges(self) -> int:
        """Number of edges given, self-loops left out."""
        return int((~self.is_loop).sum())

    @property
    def wrong_share(self) -> float:
        """Estimated share of wrong edges; 0 without edges."""
        judged = self.probability[~self.is_loop].double()
        return float(1 - judged.mean()) if len(judged) else 0.0

    def choose(self, **promise: Any) -> Removed:
        """The edges that go, in the order given; `choose_removed` has the promises."""
        judged = ~self.is_loop
        found = choose_removed(self.probability[judged], **promise)
        return found._replace(mask=judged.masked_scatter(judged, found.mask))

    def remove(self, **promise: float | None) -> Any:
        """The data without the edges that go, of the same type as it was given.

        Arrays come back as a pair of edges and weights, files and tables as a
        `pyarrow.Table` of the rows that stay.

        Args:
            promise: `at_most_wrong`, the expected share of right edges among those that
                go, or `find_at_least`, that of all wrong edges that go. Without either,
                edges stay that are more likely real than wrong.
        """
        gone = self.choose(**promise)
        if not isinstance(self.given, GivenData):
            return self.table().filter((~gone.mask).numpy())
        kept = self.edge_probability > gone.limit
        return self.given.pruned([self.data], [kept], [torch.ones(len(kept))])

    def table(self, removed: Removed | None = None) -> Any:
        """The rows of the files in their order, with `COLUMNS`, a `pyarrow.Table`.

        Of a `HeteroData`: numbers of nodes within their types, and the `edge_type`.
        Without `removed` there is no column of that name.
        """
        import pandas as pd
        import pyarrow as pa

        from sgat.data.files import with_columns

        if isinstance(self.given, GivenData) and not is_hetero(self.given.data):
            raise ValueError(
                "`data` must be files, tables or a HeteroData for a table of its rows."
            )
        values = [self.edge_probability, self.edge_reason]
        loops = [1.0, len(REASONS), False]
        if removed is not None:
            values.append(self.edge_probability <= removed.limit)
        added = dict(zip(COLUMNS, values, strict=False))
        filled = dict(zip(COLUMNS, loops, strict=True))
        if isinstance(self.given, GivenData):
            table, graph = pa.table(edges_of_types(self.given.data)), self.data.graph
            for name, value in added.items():
                given = graph.to_input(value, loop=filled[name]).numpy()
                table = table.append_column(name, pa.array(given))
        else:
            table = with_columns(self.given, added, filled)
        place, every = table["why"], pa.array(phrases(self.data.edge_columns))
        # A chunk of text holds 2 GiB at most.
        starts = range(0, len(place), ROWS_AT_ONCE)
        parts = [place.slice(i, ROWS_AT_ONCE).combine_chunks() for i in starts]
        words = pa.chunked_array([every.take(part) for part in parts], pa.string())
        table = table.set_column(table.column_names.index("why"), "why", words)
        if self.index is None:
            return table
        taken = table.column_names
        names = [None if name in taken else name for name in self.index.names]
        rows = pd.DataFrame({"why": ""}, index=self.index.set_names(names))
        kept = pa.Table.from_pandas(rows)
        for name in kept.column_names[1:]:
            table = table.append_column(name, kept[name])
        return table.replace_schema_metadata(kept.schema.metadata)

    def __repr__(self) -> str:
        """One line: counts and the estimated share."""
        return f"JudgedEdges({self.num_edges} edges, {self.wrong_share:.1%} wrong)"

    def _repr_html_(self) -> str:
        """The same in a notebook, above the edges that are least likely to be real."""
        import pandas as pd

        graph, ids = self.data.graph, self.data.ids
        real = graph.to_input(self.edge_probability, loop=2.0)
        # Both directions of an edge may be there.
        worst = real.topk(min(2 * SHOWN, self.num_edges), largest=False).indices
        columns = *graph.edge_index, self.edge_reason
        given = [graph.to_input(each, loop=0)[worst].numpy() for each in columns]
        src, dst, reason = given
        table = pd.DataFrame({"src": ids[src], "dst": ids[dst]})
        table["probability"] = [f"{each:.3f}" for each in real[worst].tolist()]
        table["why"] = np.array(phrases(self.data.edge_columns))[reason]
        twice = pd.DataFrame(np.sort([src, dst], axis=0).T).duplicated()
        shown = table[~twice].head(SHOWN).to_html(index=False)
        return f"<p>{self}; least likely to be real:</p>{shown}"


def judge(
    data: Any,
    edges: Any = None,
    y: Any = None,
    *,
    train: Any = None,
    nodes: Any = None,
    seed: int = 0,
    **options: Any,
) -> JudgedEdges:
    """Judge how likely each edge is real, without training a network.

    Neither features nor classes are needed; both make the judge sharper. Where the data
    says which nodes train, the classes of the others are not looked at.

    Args:
        data: A PyG `Data` or `HeteroData`, a networkx graph, `NodeData`, an edge file
            (a path), an edge table of pandas or pyarrow, or features X, [N, K], with
            `edges`; None for `edges` alone.
        edges: Edges of plain arrays, a table or a matrix, as in `SGATClassifier.fit`.
        y: Class of each node with plain arrays, as in `SGATClassifier.fit`.
        train: With plain arrays, the nodes whose class may be looked at; None for all.
        nodes: The node file, where `data` is a path, or the node table.
        seed: Of all that is drawn.
        options: The `FileOptions` of files and tables; else those of
            `SGATClassifier.fit`, such as `label` of a networkx graph. `edge_columns`
            names columns of the edges that may tell which of them are wrong, and
            `fill_missing` and others of `FileOptions` say how these are read.

    Raises:
        ValueError: If the data is not as described.
        OSError: If a file cannot be opened.
    """
    is_table = edges is None and hasattr(data, "columns")
    if is_table or isinstance(data, str | Path):
        for name, value in {"edges": edges, "y": y, "train": train}.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` goes with plain arrays, not with files and tables."
                )
        columns = FileOptions.from_dict(options, where="judge")
        if is_table:
            return _of_tables(data, nodes, columns, seed)
        node_file = None if nodes is None else str(nodes)
        asked = DataConfig(edges=str(data), nodes=node_file, files=columns)
        files = load_configured(asked, for_training=False).files
        assert files is not None
        return _judged(files, files.data, seed)
    if nodes is not None:
        raise ValueError("`nodes` goes with an edge file or table as `data`.")
    given = GivenData(data, edges, options=options)
    graphs = given.read(y, train=train, validation=0.0, seed=seed)
    if len(graphs) != 1:
        raise ValueError(f"`data` must be one graph, got {len(graphs)}.")
    if "label" in options and bool((graphs[0].y < 0).all()):
        name = options["label"]
        logger.warning("no node has a label %r: judged without classes.", name)
    return _judged(given, graphs[0], seed)


def _of_tables(edges: Any, nodes: Any, options: FileOptions, seed: int) -> JudgedEdges:
    from sgat.data.files import from_tables

    if nodes is not None and not hasattr(nodes, "columns"):
        raise ValueError("`nodes` must be a table, as `data` is.")
    if nodes is None and (options.label or options.labels):
        raise ValueError("`label` needs `nodes`, the table with that column.")
    check_columns(options)
    files = from_tables(edges, nodes, options=options)
    check_dropped(options, files)
    index = getattr(edges, "index", None)
    return dataclasses.replace(_judged(files, files.data, seed), index=index)


def known_classes(data: NodeData) -> tuple[Tensor | None, Tensor | None]:
    """Class of each node, and the nodes whose class may be looked at; None for all."""
    if data.is_multilabel:
        logger.warning("the judge looks at one class of a node, and not at several.")
        return None, None
    has_roles = bool((data.train | data.val | data.test).any())
    return data.y, data.train if has_roles else None


def tell_too_few(reason: Any) -> None:
    """Log that no edge can be told from others, where that is the reason."""
    if bool((reason == REASONS.index("too few edges to tell")).any()):
        logger.warning("there are too few edges to tell: all count as real.")


def _judged(given: GivenData | FileGraph, data: NodeData, seed: int) -> JudgedEdges:
    check_features(data)
    if not data.graph.num_edges:
        raise ValueError(f"{data.name!r} has no edges to judge.")
    y, train = known_classes(data)
    found = edge_judge.judge(data.graph, data.x, y, train=train, seed=seed)
    tell_too_few(found.reason)
    return JudgedEdges(given, data, found.probability.cpu(), found.reason.cpu())
