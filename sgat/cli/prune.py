"""`sgat prune`: remove edges from a table, with a finished run or as it was judged."""

from pathlib import Path
from typing import Any

import typer

from sgat.cli import app, as_options, say, show
from sgat.cli.options import JSON, PANELS, QUIET, Given, option, with_settings
from sgat.cli.progress import counting, stage_progress
from sgat.config import FileOptions
from sgat.config.pruning import PruneRequest, Rules

PANEL, DECLARED = PANELS[PruneRequest], PruneRequest.declared()


@app.command(
    epilog="Examples:\n\n"
    "sgat prune runs/mine --out small.csv --keep 0.3\n\n"
    "sgat prune runs/mine --edges big.parquet --out small.parquet --min-degree 1"
    " --missing drop --memory 8GB\n\n"
    "sgat prune --edges judged.csv --out small.csv --threshold 0.8 --keep-connected"
)
@with_settings(
    request=PruneRequest,
    rules=Rules,
    files=FileOptions,
    only=("src", "dst", "id", "delimiter", "decimal", "encoding"),
    of_run=True,
)
def prune(
    request: Given,
    rules: Given,
    files: Given,
    run: Path | None = typer.Argument(None, help=DECLARED["run"].help),
    out: Path = typer.Option(help=DECLARED["out"].help, rich_help_panel=PANEL),
    undirected: bool | None = option(
        PANEL, DECLARED["undirected"].help, "--undirected/--directed"
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Remove edges from a table, by a trained model or by how they were judged.

    Without --edges it prunes the edges of the run by the scores in the run folder. With
    --edges it scores every row, also edges that were not there in training: by the
    features of its ends, or, with the scorers evidence, gatv2 and structure, with all
    rows as one graph in memory. It writes the rows that stay with their columns and
    ids. Guarantees (--min-degree, --keep-connected, --protect) count towards --keep.

    Without a run, --edges is a table that `sgat judge` wrote. Its column probability is
    the score, and all its columns stay.
    """
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.runs.prune import prune_run

    asked = PruneRequest(
        run, out, undirected=undirected, files=files, rules=Rules(**rules), **request
    )
    with stage_progress(quiet=quiet) as stages:

        def watch(running: Any) -> None:
            if hasattr(running, "progress"):
                stages.share = lambda: float(running.progress)

        summary = prune_run(asked, stages.tell, watch)
    for note in summary["notes"]:
        say(f"note: {as_options(app, note, ['prune'])}")
    show(summary, describe(summary), as_json=as_json)


def describe(summary: dict[str, Any]) -> str:
    """The result in a few lines."""
    rows, kept, share = summary["rows"], summary["kept"], summary["kept_share"]
    names = {"loop": "self-loops", "missing": "missing nodes"}
    outside = [names[name] for name in names if summary["reasons"].get(name)]
    without = f" without {' and '.join(outside)}" if outside else ""
    shown = "" if share is None else f" ({share:.1%}{without})"
    reasons = dict(summary["reasons"])
    by_score, missing = reasons.pop("removed", 0), reasons.pop("missing", 0)
    lines = [
        "",
        f"rows read           {rows:,}",
        f"kept                {kept:,}{shown}",
    ]
    lines += [f"  by {name:<15}  {number:,}" for name, number in reasons.items()]
    if missing and summary["missing"] == "keep":
        lines.append(f"  node missing        {missing:,}")
    lines.append(f"removed             {summary['removed']:,}")
    if missing and summary["missing"] == "drop":
        lines.append(f"  by score            {by_score:,}")
        lines.append(f"  node missing        {missing:,}")
    if summary["border_real"] is not None:
        lines.append(f"by score, above     P(real) = {summary['border_real']:.4f}")
    elif summary["border"] is not None:
        lines.append(f"by score, above     log α = {summary['border']:.4f}")
    if summary["measure"] is not None:
        lines += _measured(summary["measure"])
    lines.append(f"written to          {summary['out']}, {summary['seconds']:.1f} s")
    return "\n".join(lines)


def _measured(found: dict[str, Any]) -> list[str]:
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
