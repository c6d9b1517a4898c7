"""PruneTask: which rows to prune, by which scores and rules.

Tested in tests/pruning/test_prune_table.py.
"""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from sgat.config.pruning import Missing, Rules
from sgat.gates import HardConcrete
from sgat.pruning import expression
from sgat.pruning.engine import Engine
from sgat.pruning.expression import Scoring
from sgat.pruning.stored_table import StoredTable
from sgat.pruning.table_scores import Nodes, NodeScores, RowScores
from sgat.scored import SCORES

WRITTEN_SCORES = ("log_alpha", "probability", "gate")
"""Columns that are added to the kept rows."""


@dataclasses.dataclass(frozen=True)
class PruneTask:
    """The rows to prune, their scores, and the rules.

    Rows of a run have their scores already: of both directions if `undirected`.
    """

    edges: StoredTable
    nodes: Nodes  # that the rows name
    rules: Rules
    gates: HardConcrete  # of the model
    scores: NodeScores | RowScores | None = None  # None if the rows have theirs
    score_column: str = "log_alpha"  # where they have them
    line: tuple[float, float] = (1.0, 0.0)  # makes log-odds of them: `SGAT.odds_line`
    by_judge: bool = False  # whether these odds say how likely an edge is real
    symmetric: bool = False  # whether the model gates both directions as one
    src: str = "src"
    dst: str = "dst"
    protect: StoredTable | None = None  # rows that are never removed
    undirected: bool = False  # whether each row stands for both directions
    missing: Missing = "refuse"  # for rows whose nodes are not known
    with_scores: bool = True  # whether to add the columns `WRITTEN_SCORES`
    is_score_table: bool = False  # whether the rows come from a run, with its scores

    @property
    def scoring(self) -> Scoring:
        """How scores and keys of rows are formed."""
        num_nodes, chosen = len(self.nodes.ids), self.rules.symmetric
        if self.symmetric:
            # The sums of both directions may differ in the last bit.
            chosen = chosen or "max"
        # A stored score is that of the row alone, unless a row is both directions.
        is_pairwise = self.undirected or (self.symmetric and self.scores is not None)
        return Scoring(num_nodes, chosen, is_pairwise, self.undirected)

    @property
    def needs_passes(self) -> bool:
        """Whether deciding on a row takes more than its own score."""
        rules, needs_pairs = self.rules, self.scoring.needs_pairs
        has_order = rules.keep is not None or rules.min_degree > 0
        return has_order or rules.keep_connected or needs_pairs

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Columns to write: their names in the expression, and in the table."""
        return [
            (f"c{place}", name)
            for place, name in enumerate(self.edges.columns)
            if name not in self.replaced
        ]

    @property
    def replaced(self) -> tuple[str, ...]:
        """Names of columns that are not taken over."""
        if self.is_score_table:
            return SCORES
        return WRITTEN_SCORES if self.with_scores else ()


def node_table(task: PruneTask) -> Any:
    """The relation `nodes`, a `pyarrow.Table`."""
    nodes = task.nodes
    columns = {"id": nodes.ids, "node": np.arange(len(nodes.ids), dtype=np.int32)}
    if nodes.graph is not None:
        columns["graph"] = nodes.graph
    if isinstance(task.scores, NodeScores):
        columns |= task.scores.columns
    return pa.table(columns)


def match_scores(task: PruneTask, engine: Engine) -> str:
    """The relation `matched`: the rows `given` with their nodes and their scores."""
    scoring, scores, table = task.scoring, task.scores, task.edges
    both = (scoring.combination or "max") if scoring.is_pairwise else None
    if scores is None:
        place = table.position(task.score_column, "the scores")
        return match_ids(task, "given", table, f"CAST(e.c{place} AS FLOAT)")
    if isinstance(scores, NodeScores):
        score = expression.node_score(scores.rank, both)
        return match_ids(task, "given", table, score)
    rows = match_ids(task, "given", table)
    edges = expression.DIFFERENT_EDGES.format(rows)
    engine.add("edge_scores", scores.table(engine, edges, both))
    return expression.EDGE_SCORES.format(rows)


def match_ids(
    task: PruneTask, name: str, table: StoredTable, score: str | None = None
) -> str:
    """The rows of a relation with the numbers of their nodes, and their scores."""
    ids = []
    for column, role in (
        (task.src, "the source (`src`)"),
        (task.dst, "the target (`dst`)"),
    ):
        place, kind = table.position(column, role), table.kind(column)
        as_integer = pa.types.is_integer(task.nodes.ids.type)
        wanted, other = ("integer", "string")[:: 1 if as_integer else -1]
        if kind == other and not (as_integer and task.nodes.ids_are_text):
            raise ValueError(
                f"{table.path}, column {column!r}: holds {other}s, but the ids of the"
                f" nodes are {wanted}s; store both the same way."
            )
        ids.append(expression.id_of(f"c{place}", kind, as_integer=as_integer))
    graph = None
    if task.nodes.graph is not None:
        graph = f"c{table.position('graph', 'the graph')}"
    src, dst = ids
    return expression.matched(name, src, dst, graph, score)
