"""Prune a stored table of edges: match, score, decide, write."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from sgat.atomic import replacing
from sgat.data.files.export import SCORES
from sgat.pruning import expression
from sgat.pruning.cut import find_cut
from sgat.pruning.engine import Engine
from sgat.pruning.expression import Scoring, float_literal
from sgat.pruning.forest import spanning_forest
from sgat.pruning.node_scores import NodeScores
from sgat.pruning.rules import Reason, Rules, too_many_guaranteed
from sgat.pruning.stored_table import Destination, StoredTable

Missing = Literal["refuse", "keep", "drop"]
WRITTEN_SCORES = ("log_alpha", "probability", "gate")


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
        replaced = SCORES if self.with_scores else ()
        return [
            (f"c{place}", name)
            for place, name in enumerate(self.edges.columns)
            if name not in replaced
        ]


@dataclasses.dataclass(frozen=True)
class Pruned:
    """What became of the rows.

    Attributes:
        rows: Number of rows read.
        kept: Number of rows written.
        reasons: Number of rows for each `Reason` that occurs, by its label.
        opening: The log α at which gates open.
        is_model: Whether what is kept, and with which gates, is exactly what the model
            keeps whose threshold is moved there.
        notes: What a user should know, one sentence each.
    """

    rows: int
    kept: int
    reasons: dict[str, int]
    opening: float
    is_model: bool
    notes: tuple[str, ...] = ()


def prune_table(
    task: Task, engine: Engine, out: Destination, tell: Callable[[str], None]
) -> Pruned:
    """Write the rows that stay.

    Rows that name the same edge stay or go as one, as `sgat fit` merges them; each
    counts towards `keep`. Self-loops have no gate and stay. Rows whose nodes have no
    score are outside all rules: they go by `missing` and count for nothing.

    Args:
        task: What to prune.
        engine: What does it.
        out: Where the rows go; replaced in full or not at all.
        tell: Called with the name of each stage.

    Raises:
        ValueError: If nodes are missing that may not be, or the table is bad; nothing
            is written then.
        OSError: If something cannot be read or written.
    """
    scoring = task.scoring
    tell("reading the table")
    engine.add("nodes", task.nodes.table())
    engine.read("given", task.edges)
    engine.define("matched", match_ids(task, "given", task.edges))
    counts = _outside(task, engine, tell)
    notes: list[str] = []
    if task.needs_passes:
        _make_links(scoring, engine, tell)
    guarantees = _guarantees(task, engine, tell, notes)
    decision = _decide(task, engine, guarantees, tell, notes)
    by_score, filled = decision.by_score, decision.filled
    engine.define("scored", scoring.scored("matched"))
    engine.define("judged", expression.judged("scored", by_score, filled))
    tell("counting")
    found: list[tuple[Any, ...]]
    if task.needs_passes:
        engine.define("decided", expression.judged("links", by_score, filled))
        found = engine.query("SELECT reason, COUNT(*) FROM decided GROUP BY reason")
    else:
        found = engine.query("SELECT reason, COUNT(*) FROM judged GROUP BY reason")
    counts |= {Reason(code): int(number) for code, number in found}
    if task.missing == "refuse" and counts.get(Reason.MISSING):
        raise _missing_fault(task, engine, counts)
    gone = {Reason.REMOVED} | ({Reason.MISSING} if task.missing == "drop" else set())
    columns = [inner for inner, _ in task.columns]
    if task.edges.format != "parquet" and out.format == "parquet":
        columns = _typed(columns, engine)
    tell("writing")
    names = [name for _, name in task.columns]
    shown = decision.opening if task.with_scores else None
    gates = task.nodes.model.gating.gates
    query = expression.output(
        columns, shown, gates, drop=task.missing == "drop", place=engine.place
    )
    if task.with_scores:
        names += WRITTEN_SCORES
    with _in_place_of(out) as temporary:
        engine.write(query, names, out, temporary)
    return Pruned(
        rows=sum(counts.values()),
        kept=sum(number for reason, number in counts.items() if reason not in gone),
        reasons={r.label: counts[r] for r in Reason if counts.get(r)},
        opening=decision.opening,
        is_model=decision.is_model,
        notes=tuple(notes),
    )


def _typed(columns: list[str], engine: Engine) -> list[str]:
    """Columns of text as the numbers they hold, where nothing is lost by it."""
    [found] = engine.query(expression.text_types("given", columns))
    kinds = zip(found[::2], found[1::2], strict=True)
    return [
        f"CAST({name} AS BIGINT)"
        if is_whole
        else f"CAST({name} AS DOUBLE)"
        if is_number
        else name
        for name, (is_whole, is_number) in zip(columns, kinds, strict=True)
    ]


def match_ids(task: Task, name: str, table: StoredTable) -> str:
    """Rows joined with their nodes; ids are compared as `sgat fit` compares them."""
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
    return expression.matched(name, *ids)


def _outside(
    task: Task, engine: Engine, tell: Callable[[str], None]
) -> dict[Reason, int]:
    """Number of rows without a gate, where it does not come with the others."""
    if not task.needs_passes:
        return {}
    tell("matching ids with nodes")
    engine.store("gated", expression.GATED)
    [(rows,)] = engine.query("SELECT COUNT(*) FROM given")
    [(gated,)] = engine.query("SELECT COUNT(*) FROM gated")
    if rows == gated:
        return {}
    [(_, loops, missing)] = engine.query(expression.COUNTS)
    counts = {Reason.LOOP: int(loops), Reason.MISSING: int(missing)}
    if missing and task.missing == "refuse":
        raise _missing_fault(task, engine, {**counts, Reason.SCORE: int(gated)})
    return counts


def _missing_fault(task: Task, engine: Engine, counts: dict[Reason, int]) -> ValueError:
    places = [task.edges.position(name, "ids") for name in (task.src, task.dst)]
    [(src, dst)] = engine.query(
        f"SELECT c{places[0]}, c{places[1]} FROM matched"
        " WHERE src IS NULL OR dst IS NULL LIMIT 1"
    )
    missing, rows = counts[Reason.MISSING], sum(counts.values())
    return ValueError(
        f"{task.edges.path}: {missing:,} of {rows:,} rows name a node that has no"
        f" score, such as {task.src} {src!r}, {task.dst} {dst!r}; `--missing keep`"
        " keeps such rows, `--missing drop` drops them, and `--nodes` gives features"
        " of other nodes."
    )


def _make_links(scoring: Scoring, engine: Engine, tell: Callable[[str], None]) -> None:
    """The gated rows with score and key, to be looked at several times."""
    columns = "m.src, m.dst"
    if not scoring.needs_pairs:
        engine.define("links", scoring.scored("gated", columns))
        return
    tell("finding edges that go both ways")
    engine.store("pairs", expression.PAIRS)
    engine.store("links", scoring.scored("gated", columns))
    engine.drop("gated")


def _guarantees(
    task: Task, engine: Engine, tell: Callable[[str], None], notes: list[str]
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
        import pyarrow as pa

        edges = "SELECT src, dst, score, key FROM links"
        keys = spanning_forest(scoring.num_nodes, lambda: engine.batches(edges))
        engine.add("forest", pa.table({"key": keys}))
        parts[Reason.CONNECTED] = "SELECT key FROM forest"
    if not parts:
        return False
    tell("collecting guaranteed edges")
    engine.store("guaranteed", expression.guaranteed(parts))
    return True


def _protect(task: Task, engine: Engine, notes: list[str]) -> None:
    assert task.protect is not None
    engine.read("protect", task.protect)
    engine.define("protect_matched", match_ids(task, "protect", task.protect))
    unknown = engine.query(
        "SELECT c{}, c{} FROM protect_matched"
        " WHERE src IS NULL OR dst IS NULL LIMIT 1".format(
            *(task.protect.position(name, "ids") for name in (task.src, task.dst))
        )
    )
    if unknown:
        [(src, dst)] = unknown
        raise ValueError(
            f"{task.protect.path}: {task.src} {src!r}, {task.dst} {dst!r} names a node"
            " that has no score; leave the row out."
        )
    protected = task.scoring.scored("protect_matched", "m.src, m.dst")
    engine.store(
        "shielded", f"SELECT DISTINCT key FROM ({protected}) AS p WHERE src <> dst"
    )
    rows = "links" if task.needs_passes else f"({task.scoring.scored('matched')})"
    [(absent,)] = engine.query(
        f"SELECT COUNT(*) FROM shielded AS h LEFT JOIN (SELECT DISTINCT l.key FROM"
        f" {rows} AS l JOIN shielded AS k ON k.key = l.key) AS f ON f.key = h.key"
        " WHERE f.key IS NULL"
    )
    if absent:
        notes.append(
            f"{absent:,} edges of {task.protect.path} are not in {task.edges.path}"
        )


@dataclasses.dataclass(frozen=True)
class _Decision:
    """What a score must be.

    Attributes:
        by_score: Condition under which the score alone keeps a row.
        filled: Condition for rows that are not guaranteed; None without guarantees.
        opening: The log α at which gates open.
        is_model: See `Pruned`.
    """

    by_score: str
    filled: str | None
    opening: float
    is_model: bool


def _decide(
    task: Task,
    engine: Engine,
    guarantees: bool,
    tell: Callable[[str], None],
    notes: list[str],
) -> _Decision:
    rules, gating = task.rules, task.nodes.model.gating
    is_model = not guarantees and (
        gating.symmetric or (rules.symmetric is None and not task.undirected)
    )
    threshold = gating.gates.threshold
    if rules.keep is None:
        limit = threshold if rules.threshold is None else rules.threshold
        condition = f"s.score > {float_literal(limit)}"
        return _Decision(
            condition,
            condition if guarantees else None,
            rules.opening(threshold),
            is_model and limit <= threshold,
        )
    tell("finding the cut")
    [(rows,)] = engine.query("SELECT COUNT(*) FROM links")
    wanted = round(rules.keep * rows)
    alone = find_cut(engine.query, "links", wanted)
    filled = None
    if guarantees:
        [(count,)] = engine.query(
            "SELECT COUNT(*) FROM links AS l JOIN guaranteed AS g ON g.key = l.key"
        )
        engine.define("free", expression.FREE)
        filled = find_cut(engine.query, "free", wanted - count).condition("s")
        if count > wanted:
            notes.append(too_many_guaranteed(count, wanted, rules.keep))
    # Rows of one score of which only some are kept: no model tells them apart.
    is_split = alone.lowest_kept == alone.highest_removed
    opening = rules.opening(threshold, alone.lowest_kept, alone.highest_removed)
    # Above its own threshold the model hears edges that are removed here.
    is_less = alone.highest_removed is not None and alone.highest_removed > opening
    is_model = is_model and not is_split and not is_less
    return _Decision(alone.condition("s"), filled, opening, is_model)


@contextlib.contextmanager
def _in_place_of(out: Destination) -> Iterator[Path]:
    """A temporary path beside the destination that takes its place in the end."""
    if not out.is_folder:
        with replacing(out.path) as temporary:
            yield temporary
        return
    target = Path(os.path.realpath(out.path))
    with scratch_folder(out.path) as folder:
        new, old = folder / "new", folder / "old"
        yield new
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(new, target)
        except OSError:
            if old.exists():
                os.rename(old, target)
            raise


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """A folder beside a path, on the same disk, that is gone in the end."""
    target = Path(os.path.realpath(path))
    folder = tempfile.mkdtemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
