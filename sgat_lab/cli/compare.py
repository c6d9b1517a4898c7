"""`sgat-lab compare`: ways to choose edges against each other, at the same budgets."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from sgat.cli.options import (
    RUN,
    TRAINING,
    Given,
    as_folder,
    comma_list,
    option,
    with_settings,
)
from sgat.cli.progress import counting, download_bar
from sgat.config import DataConfig, FileOptions
from sgat.data.files.atomic import check_place
from sgat_lab.cli import app
from sgat_lab.cli.progress import trainings_progress

BUDGETS = "0.9,0.7,0.5,0.3,0.1"
NAMES = (
    "random, local-degree, k-neighbor, jaccard, gat-attention, sgat, sgat-recommended,"
    " mlp"
)


@app.command(
    epilog="Examples:\n\nsgat-lab compare cora --runs 3\n\n"
    "sgat-lab compare --edges edges.csv --nodes nodes.csv --label y --only sgat,mlp"
)
@with_settings(data=DataConfig, files=FileOptions)
def compare(
    data: Given,
    files: Given,
    budgets: str = option(TRAINING, "Shares of the edges to keep.", default=BUDGETS),
    only: str = option(TRAINING, f"Methods, with commas between: {NAMES}.", default=""),
    runs: int = option(TRAINING, "Number of seeds.", default=3, min=1),
    seed: int = option(TRAINING, "The first seed.", default=0, min=0),
    epochs: int | None = option(TRAINING, "Epochs of every training.", min=1),
    quick: bool = option(
        TRAINING, "One seed, few epochs: a look, no result.", "--quick", default=False
    ),
    processes: int = option(TRAINING, "Trainings at once.", default=1, min=1),
    device: str = option(TRAINING, "cpu, cuda, or auto.", default="auto"),
    out: str | None = option(
        RUN, "Folder for all that is written \\[runs/compare-NAME]."
    ),
    picture: Path | None = option(RUN, "The plot, .png \\[compare.png in --out]."),
    csv: Path | None = option(RUN, "The numbers as CSV \\[compare.csv in --out]."),
    as_json: bool = option(RUN, "Print JSON.", "--json", default=False),
    markdown: bool = option(RUN, "Print Markdown.", "--markdown", default=False),
    quiet: bool = option(RUN, "Show no progress.", "--quiet", default=False),
) -> None:
    """See whether learning which edges to keep is worth it on your graph.

    SGAT with the paper's gates and with the recommended ones, attention of a GAT, four
    ways that learn nothing (random, Local Degree, K-Neighbor, similarity of features)
    and an MLP without edges, all at the same shares of the edges: a GCN and a GAT are
    trained anew on what each keeps. The recommended SGAT is trained without a share,
    too, as `sgat fit` does on your own files. Prints accuracies, the cost of a pass on
    the smaller graphs and a verdict, and draws accuracy against the share kept.
    Finished trainings are kept in `--out`, so that the same command goes on where it
    was stopped.
    """
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.data.configured import load_configured
        from sgat.data.files.atomic import write_text
        from sgat.runs.request import Request
        from sgat.training.loop import chosen_device
        from sgat_lab.compare.outcome import run
        from sgat_lab.compare.picture import draw
        from sgat_lab.compare.plan import Comparison, check_comparable
        from sgat_lab.compare.table import csv_text, document, render

    shares, methods = parse_budgets(budgets), parse_methods(only)
    request = Request(data, files)
    # Where a data set lies makes it no other training.
    asked = dataclasses.replace(request.settings().data, root=None)
    folder = as_folder(out) or _default_folder(asked)
    drawing = picture or folder / "compare.png"
    table = csv or folder / "compare.csv"
    _check_places(folder, drawing, table, asked)
    chosen_device(device)
    with download_bar(asked.name or "data", quiet=quiet) as progress:
        loaded = load_configured(asked, root=request.root, seed=seed, progress=progress)
    check_comparable(loaded.graphs)
    folder.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(
        asked,
        loaded,
        budgets=shares,
        methods=methods,
        seeds=range(seed, seed + (1 if quick else runs)),
        epochs=epochs,
        quick=quick,
    )
    notes = [_for_each_run(note, comparison.seeds) for note in loaded.notes]
    say = _silent if quiet else _say
    for note in notes:
        say(f"note: {note}")
    try:
        with trainings_progress("compare", quiet=quiet) as show:
            outcome = run(
                comparison,
                folder,
                processes=processes,
                device=device,
                root=request.root,
                progress=show,
                on_trained=lambda: say("compare: measuring forward passes"),
            )
    except KeyboardInterrupt:
        _say(f"interrupted; what is finished is in {folder}, the same command goes on")
        raise
    draw(comparison, outcome.results, drawing)
    write_text(table, csv_text(outcome))
    if as_json:
        files = {"picture": str(drawing), "csv": str(table)}
        typer.echo(json.dumps(document(outcome) | {"files": files}, indent=2))
    else:
        typer.echo(render(outcome, markdown=markdown), nl=False)
    say(f"written to {drawing} and {table}")


def parse_budgets(text: str) -> tuple[float, ...]:
    """Shares from "0.9,0.5", the largest first, each once.

    Raises:
        ValueError: If one is no number between 0 and 1.
    """
    shares = []
    for part in text.split(","):
        try:
            share = float(part)
        except ValueError:
            share = -1.0
        if not 0 < share < 1:
            raise ValueError(
                "`--budgets` must be shares between 0 and 1 with commas between, such"
                f" as 0.9,0.5,0.1, got {part.strip()!r}; the full graph is always"
                " there."
            )
        shares.append(share)
    return tuple(sorted(set(shares), reverse=True))


def parse_methods(text: str) -> tuple[str, ...]:
    """Methods from "sgat,random"; all of them for "".

    Raises:
        ValueError: If one is unknown.
    """
    from sgat_lab.compare.plan import METHODS

    wanted = comma_list(text)
    for method in wanted:
        if method not in METHODS:
            raise ValueError(
                f"`--only` must name methods, got {method!r}; known are"
                f" {', '.join(METHODS)}."
            )
    return tuple(m for m in METHODS if m in wanted) or METHODS


def _default_folder(data: DataConfig) -> Path:
    name = data.name or Path(data.edges or "files").stem
    return Path("runs") / f"compare-{name}"


def _check_places(folder: Path, picture: Path, table: Path, data: DataConfig) -> None:
    """Find out before any training that results cannot be written, or replace input.

    Raises:
        ValueError: If a place is none to write to.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`--out` must be a folder, but {folder} is a file.")
    check_place(folder, "out")
    if (folder / "config.toml").exists():
        raise ValueError(
            f"`--out` must not be the folder of a run of `sgat fit`, got {folder};"
            " choose another."
        )
    inputs = {f"--{what}": path for what, path in data.paths.items()}
    for name, path in {"--picture": picture, "--csv": table}.items():
        if path.is_dir():
            raise ValueError(f"`{name}` must be a file, but {path} is a folder.")
        parent = path.absolute().parent
        if parent != folder.absolute() and not parent.is_dir():
            raise ValueError(
                f"`{name}` must be in a folder that exists, got {path}; make"
                f" {path.parent} first."
            )
        check_place(path, name.removeprefix("--"))
        for key, given in inputs.items():
            if _is_same_file(path, Path(given)):
                raise ValueError(
                    f"`{name}` must not be the file of `{key}`, got {path}."
                )
    if _is_same_file(picture, table):
        raise ValueError(f"`--picture` and `--csv` must be two files, got {table}.")
    if picture.suffix.lower() != ".png":
        raise ValueError(f"`--picture` must end in .png, got {picture}.")


def _is_same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    """Say nothing."""


def _for_each_run(note: str, seeds: Sequence[int]) -> str:
    """A note on a split that was drawn, for all the seeds that draw one."""
    if len(seeds) == 1:
        return note
    all_seeds = f"anew in every run (seeds {seeds[0]} to {seeds[-1]})"
    return note.replace(f"(seed {seeds[0]})", all_seeds)
