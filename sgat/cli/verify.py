"""`sgat verify`: whether a run folder says what its model and data give."""

import dataclasses
from pathlib import Path

import typer

from sgat.cli import app, show
from sgat.cli.options import DATA_ROOT, JSON, QUIET
from sgat.cli.progress import counting


@app.command(
    epilog="Examples:\n\nsgat verify runs/mine\n\nsgat verify runs/karate --json"
)
def verify(
    run: Path = typer.Argument(help="Run folder of `sgat fit`."),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Compute scores and numbers of a run again, and compare them with those stored.

    The data must be where it was. Exit code 1 if something differs by more than
    rounding.
    """
    with counting("verifying", quiet=quiet):
        from sgat.runs.finished_run import open_run
        from sgat.runs.verify import verify_run

        checks = verify_run(open_run(run, root=data_root))
    same = all(check.same for check in checks)
    lines = [f"{c.name:<18}{'' if c.same else 'DIFFERS: '}{c.found}" for c in checks]
    lines.append("the run is what its model and data give" if same else "not the same")
    record = {"run": str(run), "same": same}
    record["checks"] = [dataclasses.asdict(check) for check in checks]
    show(record, "\n".join(lines), as_json=as_json)
    if not same:
        raise typer.Exit(1)
