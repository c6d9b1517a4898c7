"""`sgat fit`: train on a data set or on files, and write a run folder."""

import logging
import shlex
from pathlib import Path
from typing import Any

import typer

from sgat.cli import INTERRUPTED, app, as_options, say, show
from sgat.cli.options import RUN, Given, as_folder, option, with_settings
from sgat.cli.progress import counting, download_bar, training_progress
from sgat.config import DataConfig, FileOptions, ModelConfig, TrainConfig
from sgat.parallel.launch import number_in_job


@app.command(
    epilog="Examples:\n\nsgat fit karate\n\n"
    "sgat fit --edges edges.csv --nodes nodes.csv --label y --keep 0.3 --out runs/mine"
    "\n\nsgat fit cora --scorer auto --readout auto"
)
@with_settings(data=DataConfig, files=FileOptions, model=ModelConfig, train=TrainConfig)
def fit(
    data: Given,
    files: Given,
    model: Given,
    train: Given,
    config: str | None = option(
        RUN, "Settings: a .toml file, or a shipped one such as paper/cora."
    ),
    out: str | None = option(RUN, "Run folder \\[runs/NAME]."),
    pruned: Path | None = option(
        RUN,
        "Also write the smaller graph: .csv, .tsv, .parquet, .npz, .mtx, .graphml"
        " or .gexf.",
    ),
    tensorboard: bool = option(
        RUN,
        "Also log the epochs for TensorBoard, see `tensorboard --logdir RUN`;"
        " needs sgat\\[tensorboard].",
        "--tensorboard",
        default=False,
    ),
    resume: bool = option(RUN, "Continue the run in --out.", "--resume", default=False),
    overwrite: bool = option(
        RUN, "Replace the run in --out.", "--overwrite", default=False
    ),
    as_json: bool = option(RUN, "Print the summary as JSON.", "--json", default=False),
    quiet: bool = option(RUN, "Show no progress.", "--quiet", default=False),
) -> None:
    """Train a classifier that learns which edges to keep.

    Writes a folder with the model, predictions for every node and a score for every
    edge. An option that is not given is taken from --config, else from the settings
    shipped for the data set, else from the defaults. With `--readout auto` a few
    candidates are trained and the validation nodes choose; `--fast` trains one. The
    paper's method is `--scorer additive --readout linear`.
    """
    if number_in_job():
        raise typer.Exit(_follow())
    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.cli.outputs import show_columns
        from sgat.data.configured import load_configured
        from sgat.runs.jobs import leading, restarted
        from sgat.runs.request import Request, claimed_run
        from sgat.runs.run import run
        from sgat.training.loop import chosen_device

    if resume and overwrite:
        raise ValueError("`--resume` and `--overwrite` exclude each other.")
    request = Request(data, files, model, train, config, as_folder(out), pruned)
    request, resume = restarted(request, resume=resume)
    how = {"resume": resume, "overwrite": overwrite}
    with leading() as ranks, claimed_run(request, **how) as (folder, settings):
        loaded = None
        if not (resume and folder.is_finished and pruned is None):
            with download_bar(settings.data.name or "data", quiet=quiet) as progress:
                loaded = load_configured(
                    settings.data,
                    root=request.root,
                    seed=settings.train.seed,
                    progress=progress,
                    device=None if ranks else chosen_device(settings.train.device),
                )
            show_columns(loaded.files, quiet=quiet)
        try:
            with training_progress(settings.train.epochs, quiet=quiet) as tell:
                outcome = run(
                    folder,
                    settings,
                    resume=resume,
                    loaded=loaded,
                    pruned=request.pruned,
                    tensorboard=tensorboard,
                    on_epoch=tell,
                    on_step=tell,
                    on_stage=tell,
                    ranks=ranks,
                )
        except KeyboardInterrupt:
            if folder.is_under_way:
                say(f"interrupted; {go_on(folder.path, pruned)}")
            raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        for note in outcome.notes:
            say(f"note: {as_options(app, note, ['fit'])}")
    if outcome.summary is None:
        say(f"interrupted after epoch {outcome.epochs}; {go_on(folder.path, pruned)}")
        raise typer.Exit(INTERRUPTED)
    text = describe(outcome.summary, outcome.files)
    show(outcome.summary, text, as_json=as_json)


def _follow() -> int:
    """Train as another process than the first of a job; its exit code."""
    from sgat.parallel.ranks import RankLostError, joined
    from sgat.runs.jobs import follow

    # The first process has all to say.
    logging.disable(logging.WARNING)
    with joined() as ranks:
        assert ranks is not None
        try:
            return INTERRUPTED if follow(ranks) else 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except RankLostError:
            if ranks.has_begun:
                raise
            return 1


def go_on(folder: Path, pruned: Path | None) -> str:
    """How to resume a run."""
    words = ["sgat", "fit", "--resume", "--out", str(folder)]
    if pruned is not None:
        words += ["--pruned", str(pruned)]
    return f"go on with: {shlex.join(words)}"


def describe(summary: dict[str, Any], files: list[str]) -> str:
    """The result in a few lines, and what to do next."""
    from sgat.training.metrics import TITLES

    name = summary["metric"]
    what = "rows" if summary.get("rows") else "edges"
    removed, total = summary[f"{what}_removed"], summary[what]
    lines = [""]
    if summary[name] is not None:
        tested = summary["test_nodes"]
        counted = f" ({round(summary[name] * tested)} of {tested})"
        shown = counted if name == "accuracy" else f" on {tested} nodes"
        lines.append(f"test {TITLES[name]:<14} {summary[name]:.2%}{shown}")
    others = summary.get("test_scores") or {}
    titles = {**TITLES, "largest_class": "largest class"}
    lines += [
        f"  {titles[other]:<17} {value:.2%}"
        for other, value in others.items()
        if other != name and value is not None
    ]
    if summary["validation"] is not None:
        role = f"validation {TITLES[name]}"
        lines.append(f"{role:<19} {summary['validation']:.2%}")
    if summary.get("noise_share") is not None:
        lines.append(f"estimated noise     {summary['noise_share']:.1%} of the edges")
    if summary["tried"]:
        names, why = " + ".join(summary["chosen"]["names"]), summary["chosen"]["why"]
        lines.append(f"chosen              {names}: {why}")
    lines += [
        f"{f'{what} removed':<19} {removed:,} of {total:,}"
        f" ({removed / max(total, 1):.1%})",
        f"model of epoch      {summary['best_epoch']} of {summary['epochs']},"
        f" seed {summary['seed']}, {summary['seconds']:.1f} s",
        f"written to          {summary['run']}: {', '.join(files)}",
    ]
    return "\n".join(lines)
