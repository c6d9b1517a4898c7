"""Task: which rows to prune, and by which rules."""

from __future__ import annotations

import dataclasses
from typing import Literal

from sgat.pruning import expression
from sgat.pruning.expression import Scoring
from sgat.pruning.node_scores import NodeScores
from sgat.pruning.rules import Rules
from sgat.pruning.stored_table import StoredTable
from sgat.scored import SCORES

Missing = Literal["refuse", "keep", "drop"]


WRITTEN_SCORES = ("log_alpha", "probability", "gate")
"""Columns that are added to the kept rows."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What to prune, and how.

    Attributes:
        edges: The rows.
        nodes: Scores of the nodes.
        rules: What to keep.
        src: Column with the source of each row.
        dst: Column with the target of each row.
        protect: Rows that are never removed, with the same two columns.
        undirected: Whether each row stands for both directions.
        missing: What becomes of rows whose nodes have no score.
        with_scores: Whether to add the columns log_alpha, probability and gate.
        is_score_table: Whether the rows come from a run, with scores of its own.
    """

    edges: StoredTable
    nodes: NodeScores
    rules: Rules
    src: str = "src"
    dst: str = "dst"
    protect: StoredTable | None = None
    undirected: bool = False
    missing: Missing = "refuse"
    with_scores: bool = True
    is_score_table: bool = False

    @property
    def scoring(self) -> Scoring:
        """How scores and keys of rows are formed."""
        is_symmetric = self.nodes.model.gating.symmetric
        return Scoring(
            num_nodes=len(self.nodes.ids),
            symmetric=self.rules.symmetric,
            is_pairwise=self.undirected or is_symmetric,
            undirected=self.undirected,
        )

    @property
    def needs_passes(self) -> bool:
        """Whether deciding on a row takes more than its own score."""
        rules = self.rules
        return (
            rules.keep is not None
            or rules.min_degree > 0
            or rules.keep_connected
            or self.scoring.needs_pairs
        )

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Columns to write: what they are called within, and by the user."""
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


def match_ids(task: Task, name: str, table: StoredTable) -> str:
    """Rows joined with their nodes and the parts of their scores."""
    src, dst = ids_of_rows(task, table)
    if task.nodes.needs_graph:
        return expression.looked_up(name, src, dst)
    return expression.matched(name, src, dst, task.nodes.rank)


def ids_of_rows(task: Task, table: StoredTable) -> tuple[str, str]:
    """Ids of both ends of a row, to be compared as `sgat fit` compares them."""
    ids = []
    for column, role in ((task.src, "the source"), (task.dst, "the target")):
        place, kind = table.position(column, role), table.kind(column)
        as_integer = task.nodes.ids_are_integers
        wanted = "integers" if as_integer else "strings"
        held = "strings" if as_integer else "integers"
        is_typed = kind == held.removesuffix("s")
        if is_typed and not (as_integer and task.nodes.ids_are_text):
            raise ValueError(
                f"{table.path}, column {column!r}: holds {held}, but the ids of the"
                f" nodes are {wanted}; store both the same way."
            )
        ids.append(expression.id_of(f"c{place}", kind, as_integer=as_integer))
    src, dst = ids
    return src, dst
