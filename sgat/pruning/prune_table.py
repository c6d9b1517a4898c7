"""Prune a stored table of edges: match, score, decide, write."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sgat.data.files.atomic import replacing
from sgat.pruning import expression
from sgat.pruning.decision import decide, store_guarantees, store_links
from sgat.pruning.engine import Engine
from sgat.pruning.row_scores import RowScores
from sgat.pruning.rules import Reason
from sgat.pruning.stored_table import Destination
from sgat.pruning.task import (
    WRITTEN_SCORES,
    PruneTask,
    match_scores,
    node_table,
)


@dataclasses.dataclass(frozen=True)
class Pruned:
    """The result: rows read, rows written, and why.

    Attributes:
        rows: Number of rows read.
        kept: Number of rows written.
        reasons: Number of rows for each `Reason` that occurs, by its label.
        threshold: The log α above which gates are open.
        is_model: Whether what is kept, and with which gates, is exactly what the model
            keeps whose threshold is moved there.
        notes: One sentence each for the user.
    """

    rows: int
    kept: int
    reasons: dict[str, int]
    threshold: float
    is_model: bool
    notes: tuple[str, ...] = ()

    @property
    def kept_share(self) -> float | None:
        """Share of the rows that have a gate: no self-loops, no missing nodes."""
        outside = sum(
            self.reasons.get(reason.label, 0)
            for reason in (Reason.LOOP, Reason.MISSING)
        )
        removed = self.reasons.get(Reason.REMOVED.label, 0)
        gated = self.rows - outside
        return (gated - removed) / gated if gated else None


def prune_table(
    task: PruneTask, engine: Engine, out: Destination, tell: Callable[[str], None]
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
    engine.add("nodes", node_table(task))
    engine.read("given", task.edges)
    if isinstance(task.scores, RowScores):
        tell("scoring the rows as one graph")
    engine.define("matched", match_scores(task, engine))
    counts = _outside(task, engine, tell)
    notes = _replaced_note(task)
    if task.needs_passes:
        store_links(scoring, engine, tell)
    guarantees = store_guarantees(task, engine, tell, notes)
    decision = decide(task, engine, guarantees, tell, notes)
    by_score, filled = decision.by_score, decision.filled
    engine.define("scored", scoring.scored("matched", "m.*"))
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
    shown = decision.threshold if task.with_scores else None
    query = expression.output(
        columns, shown, task.gates, drop=task.missing == "drop", place=engine.place
    )
    if task.with_scores:
        names += WRITTEN_SCORES
    with _in_place_of(out) as temporary:
        engine.write(query, names, out, temporary)
    return Pruned(
        rows=sum(counts.values()),
        kept=sum(number for reason, number in counts.items() if reason not in gone),
        reasons={r.label: counts[r] for r in Reason if counts.get(r)},
        threshold=decision.threshold,
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


def _outside(
    task: PruneTask, engine: Engine, tell: Callable[[str], None]
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


def _missing_fault(
    task: PruneTask, engine: Engine, counts: dict[Reason, int]
) -> ValueError:
    places = [task.edges.position(name, "ids") for name in (task.src, task.dst)]
    [(src, dst)] = engine.query(
        f"SELECT c{places[0]}, c{places[1]} FROM matched"
        " WHERE src IS NULL OR dst IS NULL LIMIT 1"
    )
    missing, rows = counts[Reason.MISSING], sum(counts.values())
    return ValueError(
        f"{task.edges.path}: {missing:,} of {rows:,} rows name a node that has no"
        f" score, such as {task.src} {src!r}, {task.dst} {dst!r}; `missing` can be"
        " keep or drop, to keep or drop such rows, and `nodes` gives features of other"
        " nodes."
    )


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


def _replaced_note(task: PruneTask) -> list[str]:
    """The note that scores take the place of columns of the user's."""
    found = [name for name in task.edges.columns if name in task.replaced]
    if not found or task.is_score_table:
        return []
    names = ", ".join(found)
    return [
        f"{task.edges.path}: new scores take the place of {names}; without `scores` the"
        " columns stay as they are"
    ]
