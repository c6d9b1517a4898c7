"""What commands share that append rows to a CSV file and print a table of them.

Tested by tests/lab/cli/test_attacks.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import typer

RUNS = typer.Option(1, min=1, help="Number of seeds.")
SEED = typer.Option(0, min=0, help="The first seed.")
DEVICE = typer.Option("auto", help="cpu, cuda, or auto.")
STORED = typer.Option(
    False, "--stored", help="Run nothing; show the last row of each case in `--csv`."
)
MISSING = typer.Option(
    False, "--missing", help="Leave out the cases that `--csv` has already."
)
SHARD = typer.Option(
    "", metavar="I/N", help="Do the part of this number of so many, as 3/12."
)
CAPTURE = typer.Option(
    True, help="On a GPU, replay the epochs of peers as CUDA graphs."
)
MARKDOWN = typer.Option(False, "--markdown", help="Print Markdown.")


def check_known(given: Iterable[str], known: Iterable[str], argument: str) -> None:
    """Refuse a name that is not known."""
    names = tuple(known)
    for name in given:
        if name not in names:
            raise ValueError(
                f"`{argument}` must be of {', '.join(names)}, got {name!r}."
            )


def show(found: list[dict[str, Any]], text: Any, as_json: bool, markdown: bool) -> None:
    """Print rows as JSON or as the tables of `text`."""
    if as_json:
        # JSON has no NaN.
        plain = [{k: None if v != v else v for k, v in row.items()} for row in found]
        typer.echo(json.dumps(plain, indent=2))
    else:
        typer.echo(text(found, markdown=markdown))
