"""`sgat reproduce`: the paper's tables and figures beside ours."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from sgat.cli.data import DATA_ROOT, JSON, QUIET
from sgat.cli.downloads import download_bar
from sgat.data.files.atomic import check_place
from sgat_lab.cli import app

TRAINED = (
    *("table2", "table3", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8"),
    *("recipes", "repeats", "robustness", "planted", "heterophily", "estimators"),
    "search",
)
"""Experiments that train models: modules of `sgat_lab.experiments` with `plan` and
`text`, and `draw` if there is a figure."""
EXPERIMENTS = ("table1", *TRAINED)
ALL = tuple(name for name in EXPERIMENTS if name != "search")


@app.command(
    epilog="Examples:\n\nsgat reproduce table1\n\n"
    "sgat reproduce table2 table3 --processes 2\n\n"
    "sgat reproduce table3 --only texas,sgat-2head,mlp --runs 3\n\n"
    "sgat reproduce all --quick"
)
def reproduce(
    what: list[str] = typer.Argument(help=f"all, or of {', '.join(EXPERIMENTS)}."),
    runs: int = typer.Option(10, min=1, help="Number of seeds, from 0."),
    only: str = typer.Option(
        "",
        help="Rows and data sets to restrict it to, with commas between; experiments"
        " with none of them are left out.",
    ),
    quick: bool = typer.Option(
        False, "--quick", help="One seed, few epochs, small graphs: a look, no result."
    ),
    records: Path = typer.Option(
        Path("records"), help="Folder of finished trainings, which are not repeated."
    ),
    stored: bool = typer.Option(
        False, "--stored", help="Train nothing: show what is in the records."
    ),
    pack: bool = typer.Option(
        False, "--pack", help="Put all records into one file when done."
    ),
    figures: Path = typer.Option(Path("figures"), help="Folder for figures."),
    document: Path | None = typer.Option(
        None, help="Write it all, with commands and circumstances, as a Markdown file."
    ),
    processes: int = typer.Option(
        1, min=1, help="Trainings at once; several commands may also share a folder."
    ),
    device: str = typer.Option("auto", help="cpu, cuda, or auto."),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown."),
    quiet: bool = QUIET,
) -> None:
    """Run experiments of the paper again and print them beside the paper's numbers.

    Every finished training is kept in `--records`, so that an interrupted command goes
    on where it was, and a table is printed at once where its trainings are there.
    """
    names = list(
        dict.fromkeys(
            name for given in what for name in (ALL if given == "all" else (given,))
        )
    )
    for name in names:
        if name not in EXPERIMENTS:
            raise ValueError(
                f"Unknown experiment {name!r}; choose all or of"
                f" {', '.join(EXPERIMENTS)}."
            )
    from sgat.cli.counting import counting

    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.data.files.atomic import write_text
        from sgat.training.loop import chosen_device
        from sgat_lab.tables.document import render
        from sgat_lab.trials.options import Options
        from sgat_lab.trials.record import Store

        modules = {
            name: import_module(f"sgat_lab.experiments.{name}")
            for name in names
            if name in TRAINED
        }
    wanted = tuple(name for part in only.split(",") if (name := part.strip()))
    options = Options(runs=runs, only=wanted, quick=quick)
    store = Store(records / "quick" if quick else records)
    options.check([known for module in modules.values() for known in module.names()])
    _check_places(records, figures, document)
    if modules and not stored:
        chosen_device(device)
    root = None if data_root is None else str(data_root)
    training = {"processes": processes, "device": device, "root": root}
    sections, plain = [], {}
    for name in names:
        if name not in modules:
            if as_json:
                plain[name] = json.loads(_table1(data_root, quiet, True, False))
            else:
                typer.echo(_table1(data_root, quiet, False, markdown), nl=False)
            if document is not None:
                sections.append(_table1_section(data_root))
            continue
        module = modules[name]
        if not options.concern(module.names()):
            if not quiet:
                typer.echo(f"{name}: has nothing that `--only` names", err=True)
            continue
        if not stored:
            _train(name, partial(module.plan, options, store), store, quiet, training)
        section = _section(name, module, options, store, figures)
        sections.append(section)
        if section.figure is not None and not quiet:
            typer.echo(f"{name}: wrote {section.figure}", err=True)
        if as_json:
            plain[name] = [record.to_dict() for record in section.records]
        else:
            typer.echo(module.text(options, store, markdown=markdown))
    if as_json:
        alone = len(names) == 1 and names[0] in plain
        typer.echo(json.dumps(plain[names[0]] if alone else plain, indent=2))
    if document is not None:
        write_text(document, render(sections, document, options))
    if pack:
        store.pack()


def _check_places(records: Path, figures: Path, document: Path | None) -> None:
    """Find out before hours of training that something cannot be written after."""
    for option, folder in {"--records": records, "--figures": figures}.items():
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"`{option}` must be a folder, but {folder} is a file.")
        check_place(folder, option.removeprefix("--"))
    if document is None:
        return
    if document.is_dir():
        raise ValueError(f"`--document` must be a file, but {document} is a folder.")
    if not document.absolute().parent.is_dir():
        raise ValueError(
            f"`--document` must be in a folder that exists, got {document}; make"
            f" {document.parent} first."
        )
    check_place(document, "document")


def _train(
    name: str, plan: Any, store: Any, quiet: bool, training: dict[str, Any]
) -> None:
    from sgat.cli.progress import trainings_progress
    from sgat_lab.trials.runner import run_planned

    with trainings_progress(name, quiet=quiet) as progress:
        run_planned(plan, store, progress=progress, **training)


def _section(name: str, module: Any, options: Any, store: Any, figures: Path) -> Any:
    """An experiment from what is in the store, its figure drawn."""
    from sgat_lab.tables.document import Section
    from sgat_lab.tables.notes import NOTES

    found = [r for task in module.plan(options, store) if (r := store.find(task))]
    text = module.text(options, store, markdown=True)
    figure = None
    if found and hasattr(module, "draw"):
        figures.mkdir(parents=True, exist_ok=True)
        figure = figures / f"{name}.png"
        module.draw(options, store, figure)
    return Section(name, text, found, figure, NOTES.get(name, ()))


def _table1_section(root: Path | None) -> Any:
    from sgat_lab.tables.document import Section
    from sgat_lab.tables.notes import NOTES

    text = f"## Table 1: the data sets\n\n{_table1(root, True, False, True)}"
    return Section("table1", text, (), None, NOTES.get("table1", ()))


def _table1(root: Path | None, quiet: bool, as_json: bool, markdown: bool) -> str:
    from sgat_lab.experiments.table1 import render, table1

    with download_bar("data", quiet=quiet) as progress:
        rows = table1(root=root, progress=progress)
    if as_json:
        return json.dumps([row.to_dict() for row in rows], indent=2) + "\n"
    return render(rows, markdown=markdown)
