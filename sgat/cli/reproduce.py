"""`sgat reproduce`: the paper's tables and figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import typer

from sgat.cli import app
from sgat.cli.data import DATA_ROOT, JSON, QUIET
from sgat.cli.downloads import download_bar


def _table1(root: Path | None, quiet: bool, as_json: bool, markdown: bool) -> str:
    from sgat.experiments.table1 import render, table1

    with download_bar("data", quiet=quiet) as progress:
        rows = table1(root=root, progress=progress)
    if as_json:
        return json.dumps([row.to_dict() for row in rows], indent=2) + "\n"
    return render(rows, markdown=markdown)


EXPERIMENTS: dict[str, Callable[[Path | None, bool, bool, bool], str]] = {
    "table1": _table1,
}
"""What can be reproduced: data root, quiet, JSON, Markdown to the text to print."""


@app.command(
    epilog="Examples:\n\nsgat reproduce table1\n\n"
    "sgat reproduce table1 --markdown --data-root ~/data"
)
def reproduce(
    what: str = typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}."),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown."),
    quiet: bool = QUIET,
) -> None:
    """Measure a table of the paper again and print it beside the paper's numbers."""
    if what not in EXPERIMENTS:
        raise ValueError(
            f"Unknown experiment {what!r}; choose one of {', '.join(EXPERIMENTS)}."
        )
    typer.echo(EXPERIMENTS[what](data_root, quiet, as_json, markdown), nl=False)
