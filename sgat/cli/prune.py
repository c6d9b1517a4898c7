"""`sgat prune`: remove edges from a table of any size with a finished run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from sgat.cli import app, as_options
from sgat.cli.options import DATA_ROOT, JSON, QUIET, option
from sgat.cli.progress import counting, stage_progress

TABLES, RULES, ENGINE, RUN = "Tables", "What is kept", "Engine", "Run"


@app.command(
    epilog="Examples:\n\n"
    "sgat prune runs/mine --out small.csv --keep 0.3\n\n"
    "sgat prune runs/mine --edges big.parquet --out small.parquet --min-degree 1"
    " --missing drop --memory 8GB"
)
def prune(
    run: Path = typer.Argument(help="A finished run of `sgat fit`."),
    out: Path = typer.Option(
        help="Table to write: .parquet, .csv, .tsv, .csv.gz or .tsv.gz; without a"
        " suffix a folder of Parquet files.",
        rich_help_panel=TABLES,
    ),
    edges: Path | None = option(
        TABLES,
        "Edge table: Parquet, CSV or TSV (.gz), or a folder of Parquet files. By"
        " default the edges of the run, with their stored scores.",
    ),
    nodes: Path | None = option(
        TABLES,
        "Features of other nodes, with the columns of the run's node file.",
    ),
    src: str | None = option(TABLES, "Column with the source \\[as in the run]."),
    dst: str | None = option(TABLES, "Column with the target \\[as in the run]."),
    id: str | None = option(TABLES, "Column of --nodes with the id \\[as in the run]."),
    delimiter: str | None = option(
        TABLES, "Separator of the cells of text tables \\[as in the run]."
    ),
    undirected: bool | None = option(
        TABLES,
        "Each row stands for both directions \\[as in the run].",
        "--undirected/--directed",
    ),
    scores: bool = option(
        TABLES,
        "Add the columns log_alpha, probability and gate.",
        "--scores/--no-scores",
        default=True,
    ),
    overwrite: bool = option(
        TABLES, "Replace the table at --out.", "--overwrite", default=False
    ),
    keep: float | None = option(
        RULES, "Share of the edges to keep, those with the highest scores."
    ),
    threshold: float | None = option(
        RULES,
        "Keep edges with a log α above this. By default the threshold of the model.",
    ),
    symmetric: str | None = option(
        RULES,
        "Both directions stay or go as one, by the max, min or mean of their scores.",
    ),
    min_degree: int = option(
        RULES,
        "Number of its best in-edges that every node keeps, or all it has.",
        default=0,
    ),
    keep_connected: bool = option(
        RULES,
        "Keep a maximum spanning forest of the scores.",
        "--keep-connected",
        default=False,
    ),
    protect: Path | None = option(RULES, "Table of edges that are never removed."),
    missing: str = option(
        RULES, "Rows whose nodes have no score: refuse, keep or drop.", default="refuse"
    ),
    engine: str = option(ENGINE, "duckdb or spark.", default="duckdb"),
    memory: str = option(ENGINE, "The most memory the engine may use.", default="2GB"),
    master: str = option(ENGINE, "Spark master, e.g. local\\[2].", default="local[*]"),
    data_root: Path | None = DATA_ROOT,
    measure: bool = option(
        RUN,
        "Compare predictions and times on the full graph and the pruned one.",
        "--measure",
        default=False,
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Remove edges from a table with a trained model.

    Without --edges it prunes the edges of the run by the scores in the run folder. With
    --edges it scores every row, also edges that were not there in training: by the
    features of its ends, or, with the scorers evidence, gatv2 and structure, with all
    rows as one graph in memory. It writes the rows that stay with their columns and
    ids. Guarantees (--min-degree, --keep-connected, --protect) count towards --keep.
    """
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.pruning.rules import Rules
        from sgat.runs.prune import PruneRequest, prune_run

    rules = Rules(keep, threshold, symmetric, min_degree, keep_connected)  # type: ignore[arg-type]  # checked there
    request = PruneRequest(
        run=run,
        out=out,
        edges=edges,
        nodes=nodes,
        protect=protect,
        rules=rules,
        missing=missing,  # type: ignore[arg-type]  # checked there
        engine=engine,  # type: ignore[arg-type]  # checked there
        master=master,
        memory=memory,
        src=src,
        dst=dst,
        id=id,
        delimiter=delimiter,
        undirected=undirected,
        scores=scores,
        overwrite=overwrite,
        measure=measure,
        data_root=None if data_root is None else str(data_root),
    )
    with stage_progress(quiet=quiet) as stages:

        def watch(running: Any) -> None:
            if hasattr(running, "progress"):
                stages.share = lambda: float(running.progress)

        summary = prune_run(request, stages.tell, watch)
    for note in summary["notes"]:
        print(f"note: {as_options(app, note, ['prune'])}", file=sys.stderr)
    typer.echo(json.dumps(summary, indent=2) if as_json else describe(summary))


def describe(summary: dict[str, Any]) -> str:
    """The result in a few lines."""
    rows, kept, share = summary["rows"], summary["kept"], summary["kept_share"]
    outside = [name for name in ("loop", "missing") if summary["reasons"].get(name)]
    names = {"loop": "self-loops", "missing": "missing nodes"}
    left_out = " and ".join(names[name] for name in outside)
    without = f" without {left_out}" if outside else ""
    shown = "" if share is None else f" ({share:.1%}{without})"
    lines = [
        "",
        f"rows read           {rows:,}",
        f"kept                {kept:,}{shown}",
    ]
    reasons = dict(summary["reasons"])
    by_score = reasons.pop("removed", 0)
    missing = reasons.pop("missing", 0)
    for name, number in reasons.items():
        lines.append(f"  by {name:<15}  {number:,}")
    if missing and summary["missing"] == "keep":
        lines.append(f"  node missing        {missing:,}")
    lines.append(f"removed             {summary['removed']:,}")
    if missing and summary["missing"] == "drop":
        lines += [f"  by score            {by_score:,}"]
        lines += [f"  node missing        {missing:,}"]
    lines.append(f"gates open above    log α = {summary['threshold']:.4f}")
    if summary["measure"] is not None:
        lines += describe_measure(summary["measure"])
    lines.append(f"written to          {summary['out']}, {summary['seconds']:.1f} s")
    return "\n".join(lines)


def describe_measure(found: dict[str, Any]) -> list[str]:
    """Predictions and times on both graphs."""
    return [
        f"predictions         {found['predictions_changed']:,} of {found['nodes']:,}"
        f" changed; class scores differ by {found['difference']:.1e} at most, of"
        f" {found['largest']:.1f}",
        f"  compared with     {found['compared_with']}",
        f"  model as trained  {found['changed_from_training']:,} changed",
        f"evaluation          {found['pruned_ms']:.2f} ms on the pruned graph",
        f"  without gates     {found['all_edges_ms']:.2f} ms on the full graph,"
        f" {found['speedup_over_all']:.2f} times as long",
        f"  with gates        {found['gated_ms']:.2f} ms on the full graph,"
        f" {found['speedup_over_gated']:.2f} times as long",
    ]
