"""`sgat judge`: how likely each edge is real, without training a network."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgat.cli import app, show
from sgat.cli.options import JSON, QUIET, Given, option, with_settings
from sgat.cli.progress import counting, stage_progress
from sgat.config import DataConfig, FileOptions

if TYPE_CHECKING:
    from sgat.data.configured import Loaded
    from sgat.data.files import FileGraph
    from sgat.judging.promise import Removed

PANEL = "Judging"
PROMISES = (0.05, 0.1, 0.2, 0.5)
"""Shares of right edges; the summary has those that are looser than the one given."""


@app.command(
    epilog="Examples:\n\nsgat judge --edges edges.csv --out judged.csv\n\n"
    "sgat judge --edges edges.csv --nodes nodes.csv --label y --out judged.csv"
    " --at-most-wrong 0.1 --pruned small.csv --report judged.html"
)
@with_settings(data=DataConfig, files=FileOptions)
def judge(
    data: Given,
    files: Given,
    out: Path = typer.Option(
        help="Table to write, the rows of the edge file with the columns probability"
        " (that the edge is real) and why: .csv, .tsv, .parquet or .npz; without a"
        " suffix a folder of Parquet files.",
        rich_help_panel=PANEL,
    ),
    at_most_wrong: float | None = option(
        PANEL,
        "Remove as many edges as go with this promise: at most this share of them is"
        " right, expected. Adds the column removed.",
    ),
    find_at_least: float | None = option(
        PANEL,
        "Remove as few edges as go with this promise: at least this share of the wrong"
        " edges goes, expected. Adds the column removed.",
    ),
    pruned: Path | None = option(
        PANEL, "Also write the rows that stay; without a promise, those above 0.5."
    ),
    report: Path | None = option(PANEL, "Also write one HTML page with the answer."),
    memory: str | None = option(
        PANEL,
        "The most memory to use, such as 8GiB, by default what is free. The numbers of"
        " edges that do not fit go to the disk of --out meanwhile.",
    ),
    seed: int = option(PANEL, "Of all that is drawn.", default=0),
    overwrite: bool = option(
        PANEL, "Replace files that are there already.", "--overwrite", default=False
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Judge how likely each edge is real, without training a network.

    The edges may be a folder of Parquet files, partitioned or not. Neither a node file
    nor labels are needed; both make the judge sharper. Where nodes
    have a split, only the classes of training nodes are looked at. The summary has the
    expected numbers of right and wrong edges among those that go.
    """
    start = time.perf_counter()
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        import pyarrow as pa

        from sgat.cli.outputs import TABLES, check_suffix, show_columns
        from sgat.data.configured import load_configured
        from sgat.data.files.outputs import check_outputs
        from sgat.judging.judged_rows import JudgedBatch, judge_rows
        from sgat.judging.promise import check_promise, describe_promise
        from sgat.pruning.engine import megabytes
        from sgat.report.judged import JudgedPart, JudgedTally, write_judged
        from sgat.runs.request import Request

    check_promise(at_most_wrong, find_at_least)
    most = None if memory is None else megabytes(memory) * 10**6
    asked = Request(data, files).settings().data
    outputs = {"out": out, "pruned": pruned, "report": report}
    for name, path in outputs.items():
        check_suffix(name, path, (".html",) if name == "report" else ("", *TABLES))
    inputs = {f"`{what}`": path for what, path in asked.paths.items()}
    folders = "out", "pruned"
    check_outputs(outputs, inputs, overwrite=overwrite, folders=folders)
    with stage_progress(quiet=quiet) as stages:
        stages.tell("reading")
        given = load_configured(asked, seed=seed, for_training=False, as_rows=True)
        table = _as_files(given)
        del given
        show_columns(table, quiet=quiet)
        # Nothing of the node table is written; its memory is free for the judge.
        table = dataclasses.replace(table, nodes=None)
        pa.default_memory_pool().release_unused()
        beside = out.absolute().parent
        judged = judge_rows(table, beside, seed=seed, progress=stages.tell, memory=most)
        promise = {"at_most_wrong": at_most_wrong, "find_at_least": find_at_least}
        gone, why = judged.choose(**promise), describe_promise(**promise)
        stages.tell("writing")
        tally = None if report is None else JudgedTally(judged.phrases)
        name, ids = table.data.name, table.data.ids

        def watch(batch: JudgedBatch) -> None:
            if tally is not None:
                tally.add(JudgedPart(name, ids, *batch.of_edges))

        has_promise = any(promise.values())
        judged.write(
            out, pruned, limit=gone.limit, with_removed=has_promise, watch=watch
        )
        if tally is not None and report is not None:
            write_judged(tally, table.data, why, report)
    looser = [
        {"at_most_wrong": share, **_counts(judged.choose(at_most_wrong=share))}
        for share in PROMISES
        if share > (at_most_wrong or 1)
    ]
    summary = {
        "edges": judged.num_edges,
        "wrong": judged.wrong_share * judged.num_edges,
        "wrong_share": judged.wrong_share,
        "removed": {**promise, **_counts(gone)},
        "looser": looser,
        "written": [str(path) for path in outputs.values() if path is not None],
        "seconds": round(time.perf_counter() - start, 3),
    }
    show(summary, describe(summary, why), as_json=as_json)


def _counts(gone: Removed) -> dict[str, Any]:
    return {name: value for name, value in gone._asdict().items() if name != "mask"}


def _as_files(loaded: Loaded) -> FileGraph:
    """The tables of the user, or those of a named data set."""
    from sgat.data.files import from_node_data

    if loaded.files is not None:
        return loaded.files
    if len(loaded.graphs) > 1:
        raise ValueError(
            f"The data set has {len(loaded.graphs)} graphs, and `sgat judge` takes one."
        )
    (data,) = loaded.graphs
    return dataclasses.replace(from_node_data(data), data=data)


def describe(summary: dict[str, Any], why: str) -> str:
    """The result in a few lines, with words on why edges go."""
    gone, wrong = summary["removed"], summary["wrong"]
    number, right = gone["number"], gone["expected_right"]
    lines = [
        "",
        f"edges               {summary['edges']:,}",
        f"estimated wrong     {wrong:,.0f} ({summary['wrong_share']:.1%})",
        f"to remove           {number:,}: {why}",
        f"  expected wrong    {gone['expected_wrong']:,.1f},"
        f" {gone['found_share']:.1%} of all wrong edges",
        f"  expected right    {right:,.1f}, {right / max(number, 1):.1%} of these",
    ]
    for one in summary["looser"]:
        name = f"at most {one['at_most_wrong']:.0%} right"
        found = (
            f"{one['number']:,} would go, {one['expected_right']:,.1f} of them right"
        )
        lines.append(f"  {name:<18}{found}, expected")
    lines.append(
        f"written to          {', '.join(summary['written'])},"
        f" {summary['seconds']:.1f} s"
    )
    return "\n".join(lines)
