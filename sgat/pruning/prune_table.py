"""Prune a stored table of edges: match, score, decide, write."""

import dataclasses

from sgat.data.files.atomic import replacing
from sgat.pruning import expression
from sgat.pruning.choice import Reason
from sgat.pruning.decision import decide, first_unknown, store_guarantees
from sgat.pruning.engine import Engine, Tell
from sgat.pruning.stored_table import Destination
from sgat.pruning.table_scores import RowScores
from sgat.pruning.task import WRITTEN_SCORES, PruneTask, match_scores, node_table


@dataclasses.dataclass(frozen=True)
class Pruned:
    """The result: rows read, rows written, and why."""

    rows: int  # number of rows read
    kept: int  # number of rows written
    reasons: dict[str, int]  # number of rows for each `Reason` that occurs, by label
    border: float | None  # score above which rows stay; None if all do, or none
    threshold: float  # log α above which gates are open
    is_model: bool  # whether the model, its threshold moved there, does the same
    notes: tuple[str, ...] = ()  # one sentence each for the user

    @property
    def kept_share(self) -> float | None:
        """Share of the rows that have a gate: no self-loops, no missing nodes."""
        loops, missing, removed = (
            self.reasons.get(reason.label, 0)
            for reason in (Reason.LOOP, Reason.MISSING, Reason.REMOVED)
        )
        gated = self.rows - loops - missing
        return (gated - removed) / gated if gated else None


def prune_table(
    task: PruneTask, engine: Engine, out: Destination, tell: Tell
) -> Pruned:
    """Write the rows that stay.

    Rows that name the same edge stay or go as one, as `sgat fit` merges them; each
    counts towards `keep`. Self-loops have no gate and stay. Rows whose nodes have no
    score are outside all rules: they go by `missing` and count for nothing. The table
    at `out` is replaced in full or not at all; `tell` is called with each stage.
    """
    tell("reading the table")
    engine.add("nodes", node_table(task))
    engine.read("given", task.edges)
    if isinstance(task.scores, RowScores):
        tell("scoring the rows as one graph")
    engine.define("matched", match_scores(task, engine))
    counts = _store_links(task, engine, tell) if task.needs_passes else {}
    notes = []
    taken = [name for name in task.edges.columns if name in task.replaced]
    if taken and not task.is_score_table:
        notes.append(
            f"{task.edges.path}: new scores take the place of {', '.join(taken)}; the"
            " columns stay as they are if no scores are written"
        )
    guarantees = store_guarantees(task, engine, tell, notes)
    decision = decide(task, engine, guarantees, tell, notes)
    conditions = decision.by_score, decision.filled
    engine.define("scored", task.scoring.scored("matched", "m.*"))
    engine.define("judged", expression.judged("scored", *conditions))
    tell("counting")
    # The rows with a gate are stored, and need no join with their nodes again.
    rows = expression.judged("links" if task.needs_passes else "scored", *conditions)
    found = engine.query(f"SELECT reason, COUNT(*) FROM ({rows}) AS r GROUP BY reason")
    counts |= {Reason(code): int(number) for code, number in found}
    _check_missing(task, engine, counts)
    gone = {Reason.REMOVED} | ({Reason.MISSING} if task.missing == "drop" else set())
    columns = [inner for inner, _ in task.columns]
    if task.edges.format != "parquet" and out.format == "parquet":
        columns = _typed(columns, engine)
    names = [name for _, name in task.columns]
    if task.with_scores:
        names += WRITTEN_SCORES
    tell("writing")
    shown = decision.threshold if task.with_scores else None
    query = expression.output(columns, shown, task.gates, task.line, gone, engine.place)
    with replacing(out.path, is_folder=out.is_folder) as temporary:
        engine.write(query, names, out, temporary)
    return Pruned(
        rows=sum(counts.values()),
        kept=sum(number for reason, number in counts.items() if reason not in gone),
        reasons={r.label: counts[r] for r in Reason if counts.get(r)},
        border=decision.border,
        threshold=decision.threshold,
        is_model=decision.is_model,
        notes=tuple(notes),
    )


def _store_links(task: PruneTask, engine: Engine, tell: Tell) -> dict[Reason, int]:
    """Store the rows with a gate, with score and key; the number of the others."""
    tell("matching ids with nodes")
    engine.store("gated", "SELECT src, dst, log_alpha FROM matched WHERE src <> dst")
    [(rows,)] = engine.query("SELECT COUNT(*) FROM given")
    [(gated,)] = engine.query("SELECT COUNT(*) FROM gated")
    counts = {}
    if rows > gated:
        [(loops,)] = engine.query("SELECT COUNT(*) FROM matched WHERE src = dst")
        counts = {Reason.LOOP: loops, Reason.MISSING: rows - gated - loops}
        _check_missing(task, engine, {**counts, Reason.SCORE: gated})
    links = task.scoring.scored("gated", "m.src, m.dst")
    if not task.scoring.needs_pairs:
        engine.define("links", links)
        return counts
    tell("finding edges that go both ways")
    engine.store("pairs", task.scoring.pairs)
    engine.store("links", links)
    engine.drop("gated")
    return counts


def _check_missing(task: PruneTask, engine: Engine, counts: dict[Reason, int]) -> None:
    if task.missing != "refuse" or not counts.get(Reason.MISSING):
        return
    [(src, dst)] = first_unknown(task, engine, "matched", task.edges)
    missing, rows = counts[Reason.MISSING], sum(counts.values())
    raise ValueError(
        f"{task.edges.path}: {missing:,} of {rows:,} rows name a node that has no"
        f" score, such as {task.src} {src!r}, {task.dst} {dst!r}; `missing` can be"
        " keep or drop, to keep or drop such rows, and `nodes` gives features of other"
        " nodes."
    )


def _typed(columns: list[str], engine: Engine) -> list[str]:
    """Columns of text as the numbers they hold, where nothing is lost by it."""
    [found] = engine.query(expression.text_types("given", columns))
    typed = []
    for name, is_whole, is_number in zip(columns, found[::2], found[1::2], strict=True):
        kind = "BIGINT" if is_whole else "DOUBLE" if is_number else None
        typed.append(name if kind is None else f"CAST({name} AS {kind})")
    return typed
