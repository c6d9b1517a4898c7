"""Nodes by their ids, and the scores of the rows that name them.

Where a score is a sum of numbers per node, an engine adds them up row by row. Other
scorers look at more of a graph, so all rows are scored as one graph in memory.
"""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from sgat.config.pruning import Combination
from sgat.features import Features
from sgat.graph import Graph
from sgat.judging.memory import check_judging
from sgat.models import SGAT
from sgat.ops import rounded
from sgat.pruning.choice import combined
from sgat.pruning.engine import Engine
from sgat.scorers import AdditiveScorer, BilinearScorer, CosineScorer

BY_NODES = (AdditiveScorer, CosineScorer, BilinearScorer)
"""Scorers whose scores are sums of numbers per node."""
Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes that rows may name; the place of a node is its number.

    Ids are unique within a graph; from a text file they may be meant as strings.
    """

    ids: Any  # the user's, [N] integers or strings, a `pyarrow` array
    ids_are_text: bool = False  # whether they come from a text file
    graph: Any | None = None  # name of the graph of each node, [N]; None for one graph


@dataclasses.dataclass(frozen=True, eq=False)
class NodeScores:
    """Parts of scores: log α of an edge j → i is s_i + t_j + q_i · k_j."""

    dst: Array  # s of each node as a target, the gate bias included, [N] float32
    src: Array  # t of each node as a source, [N] float32
    query: Array | None = None  # q of each node as a target, [N, R]; None for 0
    key: Array | None = None  # k of each node as a source; None if `query` is

    @property
    def rank(self) -> int:
        """Length R of the vectors; 0 without."""
        return 0 if self.query is None else self.query.shape[1]

    @property
    def columns(self) -> dict[str, Array]:
        """The numbers by the names of their columns: s, t, q0, k0, q1 …."""
        found = {"s": self.dst, "t": self.src}
        for r in range(self.rank):
            assert self.query is not None and self.key is not None
            found |= {f"q{r}": self.query[:, r], f"k{r}": self.key[:, r]}
        return found


@torch.no_grad()
def node_scores(model: SGAT, x: Features) -> NodeScores | None:
    """The parts of scores by a trained network; None if its scorer has none."""
    if not isinstance(model.gating.scorer, BY_NODES):
        return None
    empty = Graph.from_edges(torch.empty(2, 0, dtype=torch.long), x.shape[0])
    scores = model.gating.score(model.scaling(x), empty)
    dst, src = (part.float().numpy(force=True) for part in (scores.dst, scores.src))
    if scores.query is None or scores.key is None:
        return NodeScores(dst, src)
    pair = (rounded(part).float() for part in (scores.query, scores.key))
    return NodeScores(dst, src, *(part.numpy(force=True) for part in pair))


@dataclasses.dataclass(frozen=True, eq=False)
class RowScores:
    """A network whose gates look at more of a graph than the ends of an edge."""

    model: SGAT
    x: Features  # features of the nodes, [N, K]

    def table(self, engine: Engine, edges: str, both: Combination | None) -> Any:
        """Score the edges of a query as one graph: src, dst, log_alpha, in a table.

        With `both`, the graph has both directions of each edge, and the scores of the
        two are combined. The graph is held in memory.
        """
        engine.store("edges", edges)
        [(number,)] = engine.query("SELECT COUNT(*) FROM edges")
        # Other scorers look at as many edges, and the judge takes the most.
        (size, width), has_both = self.x.shape, both is not None
        check_judging(size, (1 + has_both) * number, width, 0)
        parts = list(engine.batches("SELECT src, dst FROM edges"))
        engine.drop("edges")
        empty = np.empty((2, 0), dtype=np.int64)
        ends = torch.from_numpy(np.concatenate([empty, *map(np.stack, parts)], 1))
        graph = Graph.from_edges(ends, size, make_undirected=has_both, say_merged=False)
        with torch.no_grad():
            score = self.model.score_edges(self.x, graph).float().numpy(force=True)
        if both is not None:
            score = combined(score, score[graph.reverse_edge.numpy()], both)
        columns = {"src": graph.src.numpy(), "dst": graph.dst.numpy()}
        return pa.table({**columns, "log_alpha": score})
