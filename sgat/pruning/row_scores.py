"""Scores of the rows of a table as one graph, where nodes alone do not give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sgat.graph import Graph
from sgat.pruning import expression
from sgat.pruning.engine import Engine
from sgat.pruning.task import Task, ids_of_rows

MOST_EDGES = 10_000_000
"""Different edges that are scored as one graph, in memory."""


def row_scores(task: Task, engine: Engine) -> Any:
    """Score the edges that the rows of the relation `given` name, as one graph.

    The graph holds all nodes, also those without rows; rows of nodes that are not known
    are no part of it. Where both directions of an edge are one, each row adds both.

    Args:
        task: What to prune.
        engine: What holds the rows.

    Returns:
        Columns src, dst, forward and backward (log α of the edge and of its reverse,
        null without one), a `pyarrow.Table`.

    Raises:
        ValueError: If there are more edges than `MOST_EDGES`.
    """
    import pyarrow as pa

    src, dst = ids_of_rows(task, task.edges)
    engine.store("edges", expression.different_edges("given", src, dst))
    [(number,)] = engine.query("SELECT COUNT(*) FROM edges")
    if number > MOST_EDGES:
        raise ValueError(
            f"{task.edges.path} names {number:,} different edges, and the gates of this"
            f" run are scored in memory, up to {MOST_EDGES:,} edges; give fewer rows,"
            " or train with `--scorer additive`, `cosine` or `bilinear`."
        )
    parts = list(engine.batches("SELECT src, dst FROM edges"))
    engine.drop("edges")
    ends = np.concatenate([np.empty((2, 0), dtype=np.int64), *map(np.stack, parts)], 1)
    model = task.nodes.model
    graph = Graph.from_edges(
        torch.from_numpy(ends),
        len(task.nodes.ids),
        make_undirected=task.scoring.is_pairwise,
        say_merged=False,
    )
    with torch.no_grad():
        score = model.score_edges(task.nodes.x, graph).float().numpy(force=True)
    reverse = graph.find(graph.dst, graph.src).numpy()
    backward = pa.array(score[reverse], mask=reverse < 0)
    columns = {"src": graph.src.numpy(), "dst": graph.dst.numpy()}
    return pa.table({**columns, "forward": score, "backward": backward})
