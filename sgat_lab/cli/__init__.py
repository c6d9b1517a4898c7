"""The command line of the lab: a command for each experiment, and for comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from sgat.cli import run_app

VERBS = ("run", "compare", "attacks", "unseen", "transfer")
"""The modules of this package; importing one adds its commands to `app`."""

app = typer.Typer(
    name="sgat-lab",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """The paper's tables and figures, and SGAT beside other methods."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; see `sgat.cli.main`."""
    return run_app(app, [f"sgat_lab.cli.{verb}" for verb in VERBS], arguments)
