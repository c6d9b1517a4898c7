"""Prune a table with a finished run: check the request, start an engine, do it.

The edges of a run have their scores in its folder, so nothing is scored and no data is
read. Other rows, and the features of other nodes, are scored by the trained network. A
judged table has its probabilities and needs no run.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sgat.config import Config, FileOptions
from sgat.config.pruning import PruneRequest
from sgat.data.files.atomic import overlaps, scratch_folder
from sgat.data.files.columns import numbers
from sgat.data.files.encoding import encode
from sgat.data.files.ids import check_different, common_ids
from sgat.data.files.outputs import check_outputs
from sgat.data.files.read import open_graph, read_table
from sgat.data.files.source import SUFFIXES, suffix_of
from sgat.features import Features
from sgat.gates import HardConcrete, chosen_gates
from sgat.judging.promise import USUAL
from sgat.models import SGAT
from sgat.pruning.engine import Engine, start_engine
from sgat.pruning.measure import measure
from sgat.pruning.prune_table import prune_table
from sgat.pruning.stored_table import Destination, in_utf8, open_table
from sgat.pruning.table_scores import Nodes, NodeScores, RowScores, node_scores
from sgat.pruning.task import PruneTask
from sgat.runs.finished_run import finished_folder, open_run, stored_encoding
from sgat.runs.folder import RunFolder
from sgat.runs.summary import read_summary
from sgat.scorers import FreeScorer
from sgat.training.files import check_scores, damage, read_parquet
from sgat.training.saved_model import read_model

TEXT_FORMATS = ("csv", "tsv")


def prune_run(
    request: PruneRequest,
    tell: Callable[[str], None],
    watch: Callable[[Engine], None] = lambda engine: None,
) -> dict[str, Any]:
    """Write the kept rows of a table.

    A run on several graphs has one table of edges: a share counts its rows, and the
    other rules hold in each graph, which the column `graph` names. After an error
    nothing is written. `tell` is called with the name of each stage, `watch` with the
    engine once it runs. The numbers are returned: rows, kept, removed and so on.
    """
    start = time.perf_counter()
    folder = None if request.run is None else finished_folder(request.run)
    config = None if folder is None else Config.from_toml(folder.config)
    _check_out(request, folder, config)
    tell("opening the run" if request.run else "opening the table")
    if folder is None or config is None:
        options, trained = FileOptions(**request.files), None
        task = _judged_task(request, options)
    else:
        task, options, trained = _run_task(request, folder, config)
    out = Destination.from_path(request.out, delimiter=options.delimiter)
    with scratch_folder(out.path, ".engine") as scratch:
        protect = task.protect and in_utf8(task.protect, scratch)
        edges = in_utf8(task.edges, scratch)
        task = dataclasses.replace(task, edges=edges, protect=protect)
        limits = {"memory": request.memory, "master": request.master}
        engine = start_engine(request.engine, scratch=scratch, **limits)
        try:
            watch(engine)
            pruned = prune_table(task, engine, out, tell)
            measured = None
            if request.measure:
                assert trained is not None
                tell("measuring")
                weight = options.weight or "weight"
                measured = measure(task, engine, out, pruned, weight, *trained)
        finally:
            engine.close()
    border = real = pruned.border
    if border is not None and request.run is not None:
        odds = border * task.line[0] + task.line[1]
        real = (1 + math.tanh(odds / 2)) / 2 if task.by_judge else None
    return {
        "run": None if request.run is None else str(request.run),
        "edges": str(task.edges.path),
        "out": str(request.out),
        "engine": request.engine,
        "rows": pruned.rows,
        "kept": pruned.kept,
        "removed": pruned.rows - pruned.kept,
        "kept_share": pruned.kept_share,
        "reasons": pruned.reasons,
        "missing": request.missing,
        "threshold": pruned.threshold,
        "border": border,
        "border_real": real,
        "seconds": round(time.perf_counter() - start, 3),
        "notes": list(pruned.notes),
        "measure": measured,
    }


def _judged_task(request: PruneRequest, options: FileOptions) -> PruneTask:
    """The rows of a judged table, with their probabilities for scores."""
    if request.edges is None:
        raise ValueError(
            "Name a run folder, or give a table that `sgat judge` wrote as `edges`."
        )
    for name in ("nodes", "measure"):
        if getattr(request, name):
            raise ValueError(f"`{name}` needs a run, not a judged table.")
    rules = request.rules
    if rules.keep is None:
        threshold = USUAL if rules.threshold is None else rules.threshold
        if not 0 <= threshold <= 1:
            raise ValueError(f"`threshold` must be a probability, got {threshold}.")
        rules = dataclasses.replace(rules, threshold=threshold)
    files = open_graph(request.edges, options=options)
    files.rows.head.column("probability", "the probability, which `sgat judge` writes")
    for source, _ in files.rows.batches("probability"):
        value = numbers(source, "probability")
        bad = ~((value >= 0) & (value <= 1))
        source.refuse(bad, "probability", "must be a number from 0 to 1, got {}.")
    return _task(
        request,
        options,
        nodes=Nodes(files.ids, files.edges_format in TEXT_FORMATS),
        rules=rules,
        gates=HardConcrete(),
        score_column="probability",
        undirected=bool(request.undirected),
        with_scores=False,
    )


def _task(request: PruneRequest, options: FileOptions, **fields: Any) -> PruneTask:
    """The task, with the tables and columns that the request names."""
    how = {"delimiter": options.delimiter, "encoding": options.encoding}
    protect = request.protect
    return PruneTask(
        edges=open_table(fields.pop("table", request.edges), **how),
        protect=None if protect is None else open_table(protect, **how),
        src=options.src,
        dst=options.dst,
        **fields,
    )


def _run_task(
    request: PruneRequest, folder: RunFolder, config: Config
) -> tuple[PruneTask, FileOptions, tuple[SGAT, Features] | None]:
    """The rows with the scores of a run, its columns, and what computes scores."""
    options = dataclasses.replace(config.data.files, **request.files)
    config = config.replace(data={"files": options})
    nodes, trained = _nodes(request, folder, config)
    if trained is not None and options.edge_columns:
        raise ValueError(
            f"{folder.path} needs its `edge_columns`, which are not read here; score"
            " the rows with `sgat predict`, and prune its table without a run."
        )
    slope, shift = read_summary(folder)["odds_line"]
    is_own = request.edges is None and request.nodes is None
    if is_own:
        check_scores(folder.edges)
    task = _task(
        request,
        options,
        table=request.edges or folder.edges,
        nodes=nodes,
        rules=request.rules,
        scores=None if is_own or trained is None else _scores(folder, *trained),
        gates=chosen_gates(config.model),
        line=(slope, shift),
        by_judge=config.model.scorer == "evidence",
        symmetric=bool(config.model.symmetric),
        undirected=_is_undirected(request, folder, config),
        missing=request.missing,
        with_scores=request.scores,
        is_score_table=request.edges is None,
    )
    return task, options, trained


def _nodes(
    request: PruneRequest, folder: RunFolder, config: Config
) -> tuple[Nodes, tuple[SGAT, Features] | None]:
    """The nodes, and the network with their features where something is computed."""
    if request.nodes is not None:
        nodes, x = _read_nodes(request, folder, config)
        return nodes, (read_model(folder.path).model, x)
    nodes = _nodes_of_run(folder, config)
    if request.edges is None and not request.measure:
        return nodes, None
    if nodes.graph is not None:
        raise ValueError(
            f"{folder.path} has several graphs, whose ids may be the same; `edges` and"
            " `measure` take a run on one graph."
        )
    run = open_run(folder.path, root=request.root)
    return nodes, (run.model, run.graphs[0].x)


def _nodes_of_run(folder: RunFolder, config: Config) -> Nodes:
    data, table = config.data, read_parquet(folder.nodes, ["graph", "id"])
    path, what = (data.nodes, "nodes") if data.nodes else (data.edges, "edges")
    format = None if path is None else SUFFIXES.get(suffix_of(path))
    is_text = (getattr(data.files, f"{what}_format") or format) in TEXT_FORMATS
    graph = table.column("graph") if "graph" in table.column_names else None
    with damage(folder.nodes):
        return Nodes(table.column("id"), is_text, graph)


def _read_nodes(
    request: PruneRequest, folder: RunFolder, config: Config
) -> tuple[Nodes, Features]:
    """Other nodes and their features, encoded as those of the run were."""
    assert request.nodes is not None
    if config.data.edges is None or not folder.encoding.exists():
        raise ValueError(
            f"{folder.path} was trained on a named data set and does not say what the"
            " columns of `nodes` mean; leave `nodes` out."
        )
    encoding = stored_encoding(folder)
    if not encoding.features:
        raise ValueError(
            f"{folder.path} was trained without features, so it knows its own nodes"
            " only; leave `nodes` out."
        )
    known = config.data.files
    source, name = read_table(request.nodes, known), known.id
    source.column(name, "the node ids")
    ids = common_ids([(source, name)])[0]
    check_different((source, name), ids)
    zeros = known.unknown_category == "zero"
    x = encode(source, encoding.features, ignore_unknown=zeros)
    return Nodes(ids, source.format in TEXT_FORMATS), x


def _scores(folder: RunFolder, model: SGAT, x: Features) -> NodeScores | RowScores:
    if isinstance(model.gating.scorer, FreeScorer):
        raise ValueError(
            f"The gates of {folder.path} are transductive: they know the edges of the"
            " run and no others. Leave `edges` and `nodes` out to prune those, or train"
            " with inductive gates."
        )
    if x.shape[1] != model.gating.in_channels:
        raise ValueError(
            f"{folder.path} was trained on {model.gating.in_channels} features, got"
            f" {x.shape[1]}."
        )
    return node_scores(model, x) or RowScores(model, x)


def _is_undirected(request: PruneRequest, folder: RunFolder, config: Config) -> bool:
    """Whether each row stands for both directions; stored scores must fit to that."""
    as_run = bool(read_summary(folder)["undirected_rows"])
    given, both = request.undirected, request.rules.symmetric
    if request.edges is not None or request.nodes is not None:
        return as_run if given is None else given
    if given is not None and given != as_run:
        raise ValueError(
            "`undirected` must be as in the run for the edges of the run, got"
            f" {str(given).lower()}; give the rows as `edges` to read them otherwise."
        )
    if as_run and both in ("min", "mean") and not config.model.symmetric:
        raise ValueError(
            "`symmetric` must be max for the edges of this run, which has the larger"
            f" score of both directions of each row, got {both}; give the rows as"
            " `edges` to score both directions."
        )
    return as_run


def _check_out(
    request: PruneRequest, folder: RunFolder | None, config: Config | None
) -> None:
    """Refuse a request by which something would be lost."""
    if request.measure and not request.scores:
        raise ValueError(
            "`measure` reads the gates that were written; it needs `scores`."
        )
    names = ("edges", "nodes", "protect")
    inputs = {f"`{name}`": getattr(request, name) for name in names}
    if config is not None:
        read = "the {} that the run was trained on"
        inputs |= {read.format(k): path for k, path in config.data.paths.items()}

    def is_of_run(path: Path) -> bool:
        if folder is None:
            return False
        # Without a suffix it is a folder, which would take the place of the run.
        return folder.holds(path) or (overlaps(folder.path, path) and not path.suffix)

    how: dict[str, Any] = {"is_of_run": is_of_run, "folders": ("out",)}
    check_outputs({"out": request.out}, inputs, overwrite=request.overwrite, **how)
    Destination.from_path(request.out)  # in a format that can be written
