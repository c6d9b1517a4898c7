"""`sgat fit`: train on a data set or on files, and write a run folder."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import typer

from sgat.cli import INTERRUPTED, app, data_options
from sgat.cli.data_options import option
from sgat.cli.downloads import download_bar
from sgat.config import ModelConfig, TrainConfig

MODEL, TRAIN, RUN = "Model", "Training", "Run"


def setting(name: str, panel: str, text: str, *names: str) -> Any:
    """An option for a setting, its default shown as [default]."""
    kind = ModelConfig if panel == MODEL else TrainConfig
    default = {field.name: field.default for field in dataclasses.fields(kind)}[name]
    shown = "" if default is None or isinstance(default, bool) else f" [{default}]"
    return option(panel, text + shown.replace("[", "\\["), *names)


@app.command(
    epilog="Examples:\n\nsgat fit karate\n\n"
    "sgat fit --edges edges.csv --nodes nodes.csv --label y --keep 0.3 --out runs/mine"
    "\n\nsgat fit cora --scorer auto --readout auto"
)
def fit(
    name: str | None = data_options.NAME,
    data_root: Path | None = data_options.DATA_ROOT,
    split: str | None = data_options.SPLIT,
    normalise_features: bool | None = data_options.NORMALISE_FEATURES,
    largest_component: bool | None = data_options.LARGEST_COMPONENT,
    edges: Path | None = data_options.EDGES,
    nodes: Path | None = data_options.NODES,
    label: str | None = data_options.LABEL,
    labels: str | None = data_options.LABELS,
    features: str | None = data_options.FEATURES,
    categorical: str | None = data_options.CATEGORICAL,
    drop: str | None = data_options.DROP,
    delimiter: str | None = data_options.DELIMITER,
    id: str | None = data_options.ID,
    src: str | None = data_options.SRC,
    dst: str | None = data_options.DST,
    weight: str | None = data_options.WEIGHT,
    split_column: str | None = data_options.SPLIT_COLUMN,
    undirected: bool | None = data_options.UNDIRECTED,
    standardise: bool | None = data_options.STANDARDISE,
    fill_missing: str | None = data_options.FILL_MISSING,
    hidden: int | None = setting("hidden", MODEL, "Width of each head."),
    heads: int | None = setting("heads", MODEL, "Number of heads."),
    layers: int | None = setting(
        "layers",
        MODEL,
        "Number of attention layers; of the read-out beliefs, how many steps far a node"
        " is heard. The read-out diffusion has --steps.",
    ),
    readout: str | None = setting(
        "readout",
        MODEL,
        "linear (the paper); attention, often better on few labels; diffusion, which"
        " averages class scores along the edges; beliefs, for graphs whose neighbours"
        " are often of another class; auto lets the data choose beliefs or diffusion,"
        " for which it takes attention with several labels or without evidence.",
    ),
    steps: int | None = setting(
        "steps", MODEL, "How many steps far scores travel in diffusion."
    ),
    restart: float | None = setting(
        "restart", MODEL, "Share of a node's own scores in every step of diffusion."
    ),
    output_heads: int | None = setting(
        "output_heads", MODEL, "Heads of the attention read-out."
    ),
    activation: str | None = setting("activation", MODEL, "relu or elu."),
    dropout: float | None = setting(
        "dropout", MODEL, "Share of features dropped in training."
    ),
    attention_dropout: float | None = setting(
        "attention_dropout", MODEL, "Share of coefficients dropped in training."
    ),
    gate_mode: str | None = setting("gate_mode", MODEL, "inductive or transductive."),
    scorer: str | None = setting(
        "scorer",
        MODEL,
        "What gates look at. additive (the paper): each end by itself, which ranks"
        " everybody's neighbours alike. evidence: the odds that an edge is real, from"
        " features, neighbourhoods and classes, learned before training; for graphs"
        " with wrong edges. auto: evidence up to 10 million edges, additive beyond."
        " Learned with the rest: cosine (alike or not), bilinear and gatv2 (any"
        " relation of both ends), structure (degrees, common neighbours).",
    ),
    rank: int | None = setting(
        "rank", MODEL, "Length of the vectors of cosine and bilinear, width of gatv2."
    ),
    gate_bias: bool | None = setting(
        "gate_bias",
        MODEL,
        "Learn a scalar in every log α.",
        "--gate-bias/--no-gate-bias",
    ),
    gate_bias_start: float | None = setting(
        "gate_bias_start", MODEL, "Where that scalar starts."
    ),
    symmetric: bool | None = setting(
        "symmetric",
        MODEL,
        "Both directions of an edge stay or go together; by default where edges have"
        " none.",
        "--symmetric/--no-symmetric",
    ),
    residual: bool | None = setting(
        "residual",
        MODEL,
        "Add each layer's input to its output.",
        "--residual/--no-residual",
    ),
    keep: float | None = setting(
        "keep", TRAIN, "Share of the edges to keep, in (0, 1]; else λ decides."
    ),
    l0_weight: float | None = setting(
        "l0_weight", TRAIN, "λ, the price of an open edge.", "--l0-weight", "--lambda"
    ),
    warmup: int | None = setting(
        "warmup", TRAIN, "Epochs over which the penalty sets in."
    ),
    epochs: int | None = setting("epochs", TRAIN, "Number of epochs."),
    lr: float | None = setting("lr", TRAIN, "Learning rate."),
    weight_decay: float | None = setting("weight_decay", TRAIN, "L2 penalty."),
    patience: int | None = setting(
        "patience", TRAIN, "Stop after so many epochs without gain."
    ),
    select: str | None = setting(
        "select", TRAIN, "Model of the best validation, or last."
    ),
    ties: str | None = setting("ties", TRAIN, "Among equal scores: latest or first."),
    batch_size: int | None = setting(
        "batch_size", TRAIN, "Graphs per step, with several graphs."
    ),
    seed: int | None = setting("seed", TRAIN, "Seed of everything that is drawn."),
    precision: str | None = setting("precision", TRAIN, "float32 or bfloat16."),
    device: str | None = setting("device", TRAIN, "auto, cpu, cuda, cuda:1, …"),
    snapshots: int | None = setting(
        "snapshots", TRAIN, "Epochs to keep scores of; draws the graph if it is small."
    ),
    checkpoint_every: int | None = setting(
        "checkpoint_every", TRAIN, "Epochs between checkpoints."
    ),
    config: str | None = option(
        RUN, "Settings: a .toml file, or a shipped one such as paper/cora."
    ),
    out: str | None = option(RUN, "Run folder \\[runs/NAME]."),
    pruned: Path | None = option(
        RUN,
        "Also write the smaller graph: .csv, .tsv, .parquet, .npz, .mtx, .graphml"
        " or .gexf.",
    ),
    tensorboard: bool = typer.Option(
        False,
        "--tensorboard",
        help="Also log the epochs for TensorBoard, see `tensorboard --logdir RUN`;"
        " needs sgat\\[tensorboard].",
        rich_help_panel=RUN,
    ),
    resume: bool = typer.Option(
        False, "--resume", help="Continue the run in --out.", rich_help_panel=RUN
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace the run in --out.", rich_help_panel=RUN
    ),
    as_json: bool = typer.Option(
        False, "--json", help="Print the summary as JSON.", rich_help_panel=RUN
    ),
    quiet: bool = typer.Option(
        False, "--quiet", help="Show no progress.", rich_help_panel=RUN
    ),
) -> None:
    """Train a classifier that learns which edges to listen to.

    Writes a folder with the model, predictions for every node and a score for every
    edge. An option that is not given is taken from --config, else from the settings
    shipped for the data set, else from the defaults. The paper's method is `--scorer
    additive --readout linear`.
    """
    given = {k: v for k, v in locals().items() if v is not None}
    from sgat.cli.counting import counting
    from sgat.cli.progress import training_progress

    # Torch takes seconds to load when it has not been used for a while.
    with counting("starting", quiet=quiet):
        from sgat.data.configured import load_configured
        from sgat.runs.request import Request
        from sgat.runs.run import run
        from sgat.runs.start import continue_run, start_run

    if resume and overwrite:
        raise ValueError("`--resume` and `--overwrite` exclude each other.")
    request = Request.from_options(given)
    folder, settings = (
        continue_run(request) if resume else start_run(request, overwrite=overwrite)
    )
    loaded = None
    if not (resume and folder.is_finished and pruned is None):
        with download_bar(settings.data.name or "data", quiet=quiet) as progress:
            loaded = load_configured(
                settings.data,
                root=request.data_root,
                seed=settings.train.seed,
                progress=progress,
            )
    try:
        with training_progress(settings.train.epochs, quiet=quiet) as show:
            outcome = run(
                folder,
                settings,
                resume=resume,
                loaded=loaded,
                pruned=request.pruned,
                tensorboard=tensorboard,
                on_epoch=show,
            )
    except KeyboardInterrupt:
        if folder.is_under_way:
            print(f"interrupted; {go_on(folder.path, pruned)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        for note in outcome.notes:
            print(f"note: {note}", file=sys.stderr)
    if outcome.summary is None:
        print(
            f"interrupted after epoch {outcome.epochs}; {go_on(folder.path, pruned)}",
            file=sys.stderr,
        )
        raise typer.Exit(INTERRUPTED)
    if as_json:
        typer.echo(json.dumps(outcome.summary, indent=2))
    else:
        typer.echo(describe(outcome.summary, outcome.files))


def go_on(folder: Path, pruned: Path | None) -> str:
    """How to resume a run."""
    words = ["sgat", "fit", "--resume", "--out", str(folder)]
    if pruned is not None:
        words += ["--pruned", str(pruned)]
    return f"go on with: {shlex.join(words)}"


def describe(summary: dict[str, Any], files: list[str]) -> str:
    """The result in a few lines, and what to do next."""
    name = "accuracy" if "accuracy" in summary else "micro_f1"
    title = name.replace("_", "-")
    removed, total = summary["edges_removed"], summary["edges"]
    nodes = summary["nodes"]
    lines = [""]
    if summary[name] is not None:
        tested = summary["test_nodes"]
        counted = f" ({round(summary[name] * tested)} of {tested})"
        shown = counted if name == "accuracy" else f" on {tested} nodes"
        lines.append(f"test {title:<14} {summary[name]:.2%}{shown}")
    if summary["validation"] is not None:
        lines.append(f"validation          {summary['validation']:.2%}")
    if summary.get("noise_share") is not None:
        lines.append(f"estimated noise     {summary['noise_share']:.1%} of the edges")
    lines += [
        f"edges removed       {removed:,} of {total:,} ({summary['removed_share']:.1%};"
        f" gates drawn in training: {summary['removed_share_sampled']:.1%})",
        f"counting loops      {total - removed + nodes:,} of"
        f" {summary['edges_with_loops']:,} left",
        f"model of epoch      {summary['best_epoch']} of {summary['epochs']},"
        f" seed {summary['seed']}, {summary['seconds']:.1f} s",
        f"written to          {summary['run']}: {', '.join(files)}",
    ]
    return "\n".join(lines)
