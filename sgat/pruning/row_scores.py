"""Scores of the rows of a table as one graph, where nodes alone do not give them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from sgat.features import Features
from sgat.graph import Graph
from sgat.judging import EDGE_LIMIT
from sgat.models import SGAT
from sgat.pruning.choice import combined
from sgat.pruning.engine import Engine
from sgat.pruning.rules import Combination


@dataclasses.dataclass(frozen=True, eq=False)
class RowScores:
    """A network whose gates look at more of a graph than the ends of an edge.

    Attributes:
        model: The trained network.
        x: Features of the nodes, [N, K].
    """

    model: SGAT
    x: Features

    def table(self, engine: Engine, edges: str, both: Combination | None) -> Any:
        """Score different edges as one graph, which holds nodes without edges, too.

        Args:
            engine: The engine that holds the edges.
            edges: Query of their ends, as numbers of nodes.
            both: How to combine both directions of an edge, which are both added to the
                graph; None scores the edges as they are.

        Returns:
            Columns src, dst and log_alpha, a `pyarrow.Table`.

        Raises:
            ValueError: If there are more edges than `EDGE_LIMIT`.
        """
        import pyarrow as pa

        engine.store("edges", edges)
        [(number,)] = engine.query("SELECT COUNT(*) FROM edges")
        if number > EDGE_LIMIT:
            raise ValueError(
                f"`edges` names {number:,} different edges, and the gates of this run"
                f" are scored in memory, up to {EDGE_LIMIT:,} edges; give fewer rows,"
                " or train with the scorer additive, cosine or bilinear."
            )
        parts = list(engine.batches("SELECT src, dst FROM edges"))
        engine.drop("edges")
        empty = np.empty((2, 0), dtype=np.int64)
        ends = torch.from_numpy(np.concatenate([empty, *map(np.stack, parts)], 1))
        graph = Graph.from_edges(
            ends,
            self.x.shape[0],
            make_undirected=both is not None,
            say_merged=False,
        )
        with torch.no_grad():
            score = self.model.score_edges(self.x, graph).float().numpy(force=True)
        if both is not None:
            score = combined(score, score[graph.reverse_edge.numpy()], both)
        columns = {"src": graph.src.numpy(), "dst": graph.dst.numpy()}
        return pa.table({**columns, "log_alpha": score})
