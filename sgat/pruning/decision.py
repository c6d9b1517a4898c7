"""Decision: the score a row needs to stay, and the rows that stay whatever theirs."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sgat.pruning import expression
from sgat.pruning.choice import Reason, too_many_guaranteed
from sgat.pruning.engine import Engine, Tell
from sgat.pruning.expression import float_literal
from sgat.pruning.forest import spanning_forest
from sgat.pruning.stored_table import StoredTable
from sgat.pruning.task import PruneTask, match_ids

BUCKETS = 16384
"""Parts of the range of scores that one pass counts."""
LAST_KEY = 2**63 - 1
Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query and returns its rows."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """The rows above a place in the order of score (falling) and key (rising)."""

    condition: str  # in SQL, that a row `s` is above
    lowest_kept: float | None = None  # lowest score above; None without
    highest_removed: float | None = None  # highest score below; None without

    @property
    def border(self) -> float | None:
        """The score above which rows stay; None if all do, or none."""
        if self.lowest_kept is None or self.highest_removed is None:
            return None
        return (self.lowest_kept + self.highest_removed) / 2


def find_cut(query: Query, relation: str, wanted: int) -> Cut:
    """The cut above which there are `wanted` rows of a relation with score and key.

    Rows of equal score and key stay together, so there may be fewer: as many as fit.
    """
    [(total, low, high)] = query(
        f"SELECT COUNT(*), MIN(score), MAX(score) FROM {relation}"
    )
    if wanted <= 0 or total == 0:
        return Cut("1 = 0", highest_removed=high)
    if wanted >= total:
        return Cut("1 = 1", lowest_kept=low)
    score, tied, equal = _score_at(query, relation, wanted, low, high)
    value, key = float_literal(score), LAST_KEY
    if tied < equal:
        found = query(
            f"SELECT key FROM {relation} WHERE score = {value} ORDER BY key"
            f" LIMIT 2 OFFSET {tied - 1}"
        )
        [(key,), (following,)] = found
        key -= key == following
    condition = f"s.score > {value} OR (s.score = {value} AND s.key <= {key})"
    [bounds] = query(
        f"SELECT MIN(CASE WHEN {condition} THEN score END),"
        f" MAX(CASE WHEN {condition} THEN NULL ELSE score END) FROM {relation} AS s"
    )
    return Cut(condition, *bounds)


def _score_at(
    query: Query, relation: str, rank: int, low: float, high: float
) -> tuple[float, int, int]:
    """The score at a rank, the place in its ties, and their number; all from 1.

    Each pass counts the rows in ever narrower ranges from `low` to `high`.
    """
    while True:
        scale = BUCKETS / max(high - low, 1e-300)
        bucket = (
            f"LEAST(CAST(FLOOR((CAST(score AS DOUBLE) - ({low:.17E})) * {scale:.17E})"
            f" AS INT), {BUCKETS - 1})"
        )
        found = query(
            f"SELECT b, COUNT(*), MIN(score), MAX(score) FROM (SELECT score, {bucket}"
            f" AS b FROM {relation} WHERE score BETWEEN {float_literal(low)} AND"
            f" {float_literal(high)}) AS c GROUP BY b"
        )
        ranges = iter(sorted(found, reverse=True))
        _, count, low, high = next(ranges)
        while count < rank:
            rank -= count
            _, count, low, high = next(ranges)
        if low == high:
            return low, rank, count


@dataclasses.dataclass(frozen=True)
class Decision:
    """The score a row needs."""

    by_score: str  # condition under which the score alone keeps a row
    filled: str | None  # of rows that are not guaranteed; None without guarantees
    border: float | None  # score above which rows stay; None if all do, or none
    threshold: float  # log α above which gates are open
    is_model: bool  # whether the model, its threshold moved there, does the same


def store_guarantees(
    task: PruneTask, engine: Engine, tell: Tell, notes: list[str]
) -> bool:
    """Store the keys that stay whatever their score; whether there are such rules."""
    scoring, rules = task.scoring, task.rules
    parts: dict[Reason, str] = {}
    if task.protect is not None:
        tell("reading protected edges")
        _protect(task, engine, notes)
        parts[Reason.PROTECTED] = "SELECT key FROM shielded"
    if rules.min_degree:
        parts[Reason.MIN_DEGREE] = scoring.best_in_edges(rules.min_degree)
    if rules.keep_connected:
        tell("finding the spanning forest")
        edges = "SELECT src, dst, score, key FROM links"
        keys = spanning_forest(scoring.num_nodes, lambda: engine.batches(edges))
        engine.add("forest", pa.table({"key": keys}))
        parts[Reason.CONNECTED] = "SELECT key FROM forest"
    if not parts:
        return False
    tell("collecting guaranteed edges")
    engine.store("guaranteed", expression.guaranteed(parts))
    return True


def _protect(task: PruneTask, engine: Engine, notes: list[str]) -> None:
    table = task.protect
    assert table is not None
    engine.read("protect", table)
    engine.define("protect_matched", match_ids(task, "protect", table))
    for src, dst in first_unknown(task, engine, "protect_matched", table):
        raise ValueError(
            f"{table.path}: {task.src} {src!r}, {task.dst} {dst!r} names a node that"
            " has no score; leave the row out."
        )
    protected = task.scoring.scored("protect_matched", "m.src, m.dst", "NULL")
    engine.store(
        "shielded", f"SELECT DISTINCT key FROM ({protected}) AS p WHERE src <> dst"
    )
    matched = task.scoring.scored("matched", "m.*")
    rows = "links" if task.needs_passes else f"({matched})"
    [(absent,)] = engine.query(
        f"SELECT COUNT(*) FROM shielded AS h LEFT JOIN (SELECT DISTINCT l.key FROM"
        f" {rows} AS l JOIN shielded AS k ON k.key = l.key) AS f ON f.key = h.key"
        " WHERE f.key IS NULL"
    )
    if absent:
        notes.append(f"{absent:,} edges of {table.path} are not in {task.edges.path}")


def first_unknown(
    task: PruneTask, engine: Engine, matched: str, table: StoredTable
) -> list[tuple[Any, ...]]:
    """The ids of one row of a relation that names an unknown node, if there is one."""
    src, dst = (table.position(name, "the ids") for name in (task.src, task.dst))
    return engine.query(
        f"SELECT c{src}, c{dst} FROM {matched} WHERE src IS NULL OR dst IS NULL LIMIT 1"
    )


def decide(
    task: PruneTask, engine: Engine, guarantees: bool, tell: Tell, notes: list[str]
) -> Decision:
    """Find where the scores are cut; a note for the user goes to `notes`."""
    rules, own = task.rules, task.gates.threshold
    is_model = not guarantees and (
        task.symmetric or (rules.symmetric is None and not task.undirected)
    )
    if rules.keep is None:
        limit = own if rules.threshold is None else rules.threshold
        condition = f"s.score > {float_literal(limit)}"
        filled = condition if guarantees else None
        moved = rules.gate_threshold(own)
        return Decision(condition, filled, limit, moved, is_model and limit <= own)
    tell("finding the cut")
    [(rows,)] = engine.query("SELECT COUNT(*) FROM links")
    wanted = round(rules.keep * rows)
    alone = cut = find_cut(engine.query, "links", wanted)
    if guarantees:
        [(count,)] = engine.query(
            "SELECT COUNT(*) FROM links AS l JOIN guaranteed AS g ON g.key = l.key"
        )
        engine.define("free", expression.FREE)
        cut = find_cut(engine.query, "free", wanted - count)
        if count > wanted:
            notes.append(too_many_guaranteed(count, wanted, rules.keep))
    # Rows of one score of which only some are kept: no model tells them apart.
    is_split = alone.lowest_kept == alone.highest_removed
    moved = rules.gate_threshold(own, alone.lowest_kept, alone.highest_removed)
    # Above its own threshold the model uses edges that are removed here.
    is_less = alone.highest_removed is not None and alone.highest_removed > moved
    is_model = is_model and not is_split and not is_less
    filled = cut.condition if guarantees else None
    return Decision(alone.condition, filled, cut.border, moved, is_model)
