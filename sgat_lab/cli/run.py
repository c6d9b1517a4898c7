"""`sgat-lab run`, and a command for each experiment of the lab."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from sgat.cli.options import DATA_ROOT, JSON, QUIET
from sgat.cli.progress import counting, download_bar
from sgat.data.files.atomic import check_place
from sgat_lab.cli import app
from sgat_lab.cli.progress import trainings_progress

EXPERIMENTS = {
    "table1": "The data sets, as the paper counts them and as the files hold them.",
    "table2": "All methods on graphs whose neighbours tend to share a class.",
    "table3": "All methods on graphs whose neighbours often differ in class.",
    "fig2": "The variance of GAT's attention over its heads, edge by edge.",
    "fig3": "The karate club over the epochs of training.",
    "fig4": "Accuracy and kept edges over the epochs of training.",
    "fig5": "Accuracy when edges are removed by log α, lowest or highest first.",
    "fig6": "Accuracy and removed edges against λ, the price of an open edge.",
    "fig7": "Accuracy against the number of heads.",
    "fig8": "t-SNE of the last hidden features of GAT and SGAT.",
    "recipes": "Baselines with the settings that their papers give.",
    "repeats": "SGAT and others with five times the seeds of a table.",
    "robustness": "The effect of added edges on each method.",
    "planted": "Graphs with a known amount of noise, and how much of it gates remove.",
    "heterophily": "The recommended settings where neighbours often differ in class.",
    "estimators": "Five ways to get a gradient through the gates.",
    "search": "Settings for every method and data set, chosen by validation scores.",
}
"""The experiments and their help. Each is a module of `sgat_lab.experiments` with
`names`, `plan` and `text`, and `draw` if there is a figure; table1 trains nothing."""
ALL = tuple(name for name in EXPERIMENTS if name != "search")


@app.command(
    epilog="Examples:\n\nsgat-lab run table2 table3 --processes 2\n\n"
    "sgat-lab run all --stored --records docs/records --document reproduction.md"
)
def run(
    what: list[str] = typer.Argument(help=f"all, or of {', '.join(EXPERIMENTS)}."),
    runs: int = typer.Option(10, min=1, help="Number of seeds, from 0."),
    only: str = typer.Option(
        "",
        help="Only these rows and data sets, separated by commas. Experiments with none"
        " of them are left out.",
    ),
    quick: bool = typer.Option(
        False, "--quick", help="One seed, few epochs, small graphs: a quick look."
    ),
    records: Path = typer.Option(
        Path("records"), help="Folder of finished trainings; these are not repeated."
    ),
    stored: bool = typer.Option(
        False, "--stored", help="Train nothing; show what the records hold."
    ),
    pack: bool = typer.Option(
        False, "--pack", help="Put all records into one file when done."
    ),
    figures: Path = typer.Option(Path("figures"), help="Folder for figures."),
    document: Path | None = typer.Option(
        None, help="Write a Markdown file with all results and their commands."
    ),
    processes: int = typer.Option(
        1, min=1, help="Trainings at once. Several commands may share a folder."
    ),
    device: str = typer.Option("auto", help="cpu, cuda, or auto."),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown."),
    quiet: bool = QUIET,
) -> None:
    """Run several experiments and print them beside the paper's numbers.

    `--records` keeps every finished training. The same command goes on after a stop,
    and prints a table at once when all its trainings are there.
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
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.data.files.atomic import write_text
        from sgat.training.loop import chosen_device
        from sgat_lab.tables.document import render
        from sgat_lab.trials.options import Options
        from sgat_lab.trials.store import Store

        modules = {
            name: import_module(f"sgat_lab.experiments.{name}")
            for name in names
            if name != "table1"
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


def _without_names(what: str, text: str) -> Callable[..., None]:
    """The command of one experiment: `run` with its name given."""
    signature = inspect.signature(run, eval_str=True)
    options = [each for each in signature.parameters.values() if each.name != "what"]

    def command(**given: Any) -> None:
        run([what], **given)

    command.__doc__ = text
    # Typer reads the options from here.
    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=options
    )
    return command


def _add_commands() -> None:
    texts = {"all": "Run all experiments but the search.", **EXPERIMENTS}
    for name, text in texts.items():
        examples = (
            f"sgat-lab {name} --quick",
            f"sgat-lab {name} --stored --records docs/records",
        )
        if name == "table1":
            examples = "sgat-lab table1", "sgat-lab table1 --markdown"
        epilog = "Examples:\n\n" + "\n\n".join(examples)
        app.command(name, epilog=epilog)(_without_names(name, text))


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


_add_commands()
