"""`sgat report`: one HTML page on a run, with a graph to look around in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sgat.cli import app, say, show
from sgat.cli.options import DATA_ROOT, GRAPH, JSON, QUIET
from sgat.cli.progress import counting

if TYPE_CHECKING:
    from sgat.report.build import Report


@app.command(
    epilog="Examples:\n\nsgat report runs/karate --open\n\n"
    "sgat report runs/mine --out mine.html\n\n"
    "sgat report runs/ppi --graph ppi-test-1 --json"
)
def report(
    run: Path = typer.Argument(help="Run folder of `sgat fit`."),
    out: Path | None = typer.Option(
        None, help="The file to write; report.html in the run folder without it."
    ),
    open_: bool = typer.Option(
        False, "--open", help="Open the page in the browser when it is written."
    ),
    graph: str | None = GRAPH,
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace a file that is no report."
    ),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write one HTML page on a run: numbers, charts and the graph to look around in.

    The page is one file that needs no network and no other file. An earlier report is
    replaced.
    """
    with counting("writing the report", quiet=quiet):
        import webbrowser

        from sgat.cli.outputs import inputs_of
        from sgat.data.files.outputs import check_outputs
        from sgat.report.build import write_report
        from sgat.report.page import is_report
        from sgat.runs.finished_run import open_run

        opened = open_run(run, root=data_root)
        path = out if out is not None else opened.folder.report
        inputs, holds = inputs_of(opened.config.data), opened.folder.holds
        check_outputs({"out": path}, inputs, is_of_run=holds)
        if path.exists() and not overwrite and not is_report(path):
            raise ValueError(
                f"{path} is no report of sgat and would be replaced; choose another"
                " `--out`, or replace it with `--overwrite`."
            )
        written = write_report(opened.content(), path, graph=graph)
    if not quiet:
        for note in written.notes:
            say(f"note: {note}")
    show(written.to_dict(), describe(written), as_json=as_json)
    if open_ and not webbrowser.open(path.absolute().as_uri()):
        say(f"note: no browser could be started; open {path}")


def describe(written: Report) -> str:
    """What was written, in one line."""
    edges = f"{written.edges:,} edges"
    how = f"all {edges} drawn" if written.whole else f"{edges}, looked at node by node"
    return f"{written.path}: {written.bytes / 1e6:.1f} MB, {how}"
