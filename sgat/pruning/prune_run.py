"""Prune a table with a finished run: check the request, start an engine, do it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgat.config import Config
from sgat.data.files.atomic import check_place
from sgat.models import SGAT
from sgat.pruning.engine import Engine, EngineName, start_engine
from sgat.pruning.measure import measure
from sgat.pruning.node_scores import NodeScores
from sgat.pruning.prune_table import Pruned, prune_table, scratch_folder
from sgat.pruning.rules import Rules
from sgat.pruning.stored_table import Destination, open_table, overlaps
from sgat.pruning.task import Missing, Task
from sgat.runs.finished_run import open_run
from sgat.runs.folder import RunFolder
from sgat.runs.saved_model import load


@dataclasses.dataclass(frozen=True)
class PruneRequest:
    """What a user asks of `sgat prune`.

    Attributes:
        run: The run folder.
        out: Where the kept rows go.
        edges: The rows; None for the edges of the run.
        nodes: Features of other nodes; None for the nodes of the run.
        protect: Rows that are never removed.
        rules: What to keep.
        missing: What becomes of rows whose nodes have no score.
        engine: What does the work.
        master: The Spark master.
        memory: The most memory the engine may use.
        src: Column with the source of each row; None for that of the run.
        dst: Column with the target; None likewise.
        id: Column of the node file with the ids; None likewise.
        delimiter: What separates the cells of text tables; None likewise.
        undirected: Whether each row stands for both directions; None for as in the run.
        with_scores: Whether to add the columns log_alpha, probability and gate.
        overwrite: Whether to replace what is at `out`.
        measure: Whether to compare predictions and times on both graphs.
        data_root: Folder of the named data sets.
    """

    run: Path
    out: Path
    edges: Path | None = None
    nodes: Path | None = None
    protect: Path | None = None
    rules: Rules = dataclasses.field(default_factory=Rules)
    missing: Missing = "refuse"
    engine: EngineName = "duckdb"
    master: str = "local[*]"
    memory: str = "2GB"
    src: str | None = None
    dst: str | None = None
    id: str | None = None
    delimiter: str | None = None
    undirected: bool | None = None
    with_scores: bool = True
    overwrite: bool = False
    measure: bool = False
    data_root: str | None = None


def prune_run(
    request: PruneRequest,
    tell: Callable[[str], None],
    watch: Callable[[Engine], None] = lambda engine: None,
) -> dict[str, Any]:
    """Write the kept rows of a table.

    Args:
        request: What to do.
        tell: Called with the name of each stage.
        watch: Called with the engine once it runs.

    Returns:
        The numbers: rows, kept, removed, reasons, seconds, and so on.

    Raises:
        ValueError: If the request or the table is bad; nothing is written then.
        OSError: If something cannot be read or written.
    """
    start = time.perf_counter()
    out = _checked_out(request)
    tell("opening the run")
    nodes, config, is_undirected = _node_scores(request)
    for what, path in config.data.files.items():
        if overlaps(Path(path), out.path):
            raise ValueError(
                f"`--out` must not be the file of the {what} that the run was trained"
                f" on, got {out.path}."
            )
    options = config.data.options
    delimiter = request.delimiter or options.get("delimiter")
    out = Destination.from_path(out.path, delimiter=delimiter)
    folder = RunFolder(request.run)
    edges = open_table(request.edges or folder.edges, delimiter=delimiter)
    task = Task(
        edges=edges,
        nodes=nodes,
        rules=request.rules,
        src=request.src or options.get("src", "src"),
        dst=request.dst or options.get("dst", "dst"),
        protect=(
            None
            if request.protect is None
            else open_table(request.protect, delimiter=delimiter)
        ),
        undirected=is_undirected,
        missing=request.missing,
        with_scores=request.with_scores,
        is_score_table=request.edges is None,
    )
    weight = options.get("weight") or "weight"
    with scratch_folder(out.path) as scratch:
        engine = start_engine(
            request.engine,
            scratch=scratch,
            memory=request.memory,
            master=request.master,
        )
        try:
            watch(engine)
            pruned = prune_table(task, engine, out, tell)
            measured = None
            if request.measure:
                tell("measuring")
                measured = measure(task, engine, out, pruned, weight)
        finally:
            engine.close()
    seconds = time.perf_counter() - start
    return _summary(request, task, pruned, measured, seconds)


def _node_scores(request: PruneRequest) -> tuple[NodeScores, Config, bool]:
    """The scores, the settings, and whether each row stands for both directions."""
    folder = RunFolder(request.run)
    if request.nodes is None:
        run = open_run(request.run, root=request.data_root)
        files = run.loaded.files
        as_run = files is not None and files.undirected
        scores, config = NodeScores.of_run(run), run.config
    else:
        if not folder.path.is_dir():
            raise ValueError(
                f"There is no run folder {request.run}; make one with `sgat fit`."
            )
        classifier = load(request.run)
        model: SGAT = classifier.model_
        config = classifier.config_
        as_run = bool(config.data.options.get("undirected"))
        scores = NodeScores.of_file(
            folder,
            model,
            config,
            request.nodes,
            id=request.id,
            delimiter=request.delimiter,
        )
    return scores, config, as_run if request.undirected is None else request.undirected


def _checked_out(request: PruneRequest) -> Destination:
    """Where the rows go, if nothing is lost by it."""
    if request.missing not in ("refuse", "keep", "drop"):
        raise ValueError(
            f"`--missing` must be refuse, keep or drop, got {request.missing!r}."
        )
    if request.measure and not request.with_scores:
        raise ValueError(
            "`--measure` reads the gates that were written, so it does not go with"
            " `--no-scores`."
        )
    folder = RunFolder(request.run)
    inputs = {
        "edges": request.edges or folder.edges,
        "nodes": request.nodes,
        "protect": request.protect,
    }
    for name, path in inputs.items():
        if path is not None and overlaps(path, request.out):
            raise ValueError(
                f"`--out` must not be the table of `--{name}`, nor hold it or lie in"
                f" it, got {request.out}."
            )
    if folder.holds(request.out) or (
        overlaps(folder.path, request.out) and (not request.out.suffix)
    ):
        raise ValueError(
            f"`--out` must not be a file of the run folder, got {request.out}."
        )
    out = Destination.from_path(request.out)
    check_place(out.path, "out")
    if out.path.exists() and not request.overwrite:
        raise ValueError(
            f"{out.path} exists already; choose another `--out`, or replace it with"
            " `--overwrite`."
        )
    if out.is_folder and out.path.is_dir():
        other = next(
            (
                file
                for file in out.path.rglob("*")
                if file.is_file() and file.suffix not in (".parquet", ".pq")
            ),
            None,
        )
        if other is not None:
            raise ValueError(
                f"`--overwrite` replaces a folder of Parquet files, and {out.path}"
                f" holds {other.name}; choose another `--out`."
            )
    return out


def _summary(
    request: PruneRequest,
    task: Task,
    pruned: Pruned,
    measured: dict[str, Any] | None,
    seconds: float,
) -> dict[str, Any]:
    return {
        "run": str(request.run),
        "edges": str(task.edges.path),
        "out": str(request.out),
        "engine": request.engine,
        "rows": pruned.rows,
        "kept": pruned.kept,
        "removed": pruned.rows - pruned.kept,
        "kept_share": pruned.kept_share,
        "reasons": pruned.reasons,
        "missing": request.missing,
        "opening": pruned.opening,
        "seconds": round(seconds, 3),
        "notes": list(pruned.notes),
        "measure": measured,
    }
