"""`sgat predict`: a finished run on its own data, or on new nodes and edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sgat.cli import app, show
from sgat.cli.options import DATA, DATA_ROOT, JSON, QUIET, Given, option, with_settings
from sgat.cli.progress import counting
from sgat.config import FileOptions

if TYPE_CHECKING:
    from sgat.runs.predict import Prediction


@app.command(
    epilog="Examples:\n\nsgat predict runs/mine --out predictions.csv\n\n"
    "sgat predict runs/mine --edges new_edges.csv --nodes new_nodes.csv"
    " --out predictions.parquet --scores scores.parquet"
)
@with_settings(
    files=FileOptions,
    only=(
        *("id", "src", "dst", "weight", "label"),
        *("delimiter", "decimal", "encoding", "unknown_category"),
    ),
    of_run=True,
)
def predict(
    files: Given,
    run: Path = typer.Argument(help="Run folder of `sgat fit`."),
    out: Path | None = typer.Option(
        None, help="File for the predictions: .parquet, .csv, .tsv or .npz."
    ),
    scores: Path | None = typer.Option(
        None, help="File for the edges with their scores: .parquet, .csv, .tsv, .npz."
    ),
    edges: Path | None = option(
        DATA, "Edge file; without it, the data of the run.", metavar="FILE"
    ),
    nodes: Path | None = option(
        DATA, "Node file with the feature columns of the run.", metavar="FILE"
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace the files at --out and --scores."
    ),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Predict with a finished run, without training again.

    New files are read and encoded as those of the run were; columns of labels may be
    missing, and where they are there the predictions are scored.
    """
    if out is None and scores is None:
        raise ValueError("Say where the predictions go: `--out FILE`.")
    outputs = {"out": out, "scores": scores}
    if edges is None:
        given = next(iter(files), None) if nodes is None else "nodes"
        if given is not None:
            raise ValueError(f"`{given}` goes with `edges`, the new edges.")
    with counting("predicting, steps", quiet=quiet, first="getting ready") as count:
        from sgat.cli.outputs import TABLES, check_suffix, inputs_of
        from sgat.data.files import write_table
        from sgat.data.files.outputs import check_outputs
        from sgat.runs.finished_run import open_run
        from sgat.runs.predict import predict_files, predict_run

        for name, path in outputs.items():
            check_suffix(name, path, TABLES)
        opened = open_run(run, root=data_root)
        inputs = inputs_of(opened.config.data) | {"`edges`": edges, "`nodes`": nodes}
        holds = opened.folder.holds
        check_outputs(outputs, inputs, is_of_run=holds, overwrite=overwrite)
        if edges is None:
            found = predict_run(opened)
        else:
            found = predict_files(opened, edges, nodes, options=files, progress=count)
        for path, table in ((out, found.nodes), (scores, found.edges)):
            if path is not None:
                write_table(table, path)
    written = [str(path) for path in outputs.values() if path is not None]
    record = {**found.to_dict(), "written": written}
    show(record, describe(found, written), as_json=as_json)


def describe(found: Prediction, written: list[str]) -> str:
    """The result in a few lines."""
    # As `fit` and `prune` count them: rows of the edge file.
    import pyarrow.compute as pc

    rows, kept = len(found.edges), pc.sum(found.edges.column("kept")).as_py() or 0
    share = f" ({kept / rows:.1%})" if rows else ""
    lines = [
        f"nodes               {found.num_nodes:,}",
        f"rows kept           {kept:,} of {rows:,}{share}",
    ]
    if found.score is not None:
        from sgat.training.metrics import TITLES

        title = TITLES[found.score_name]
        lines.append(f"{title:<20}{found.score:.2%} on {found.scored:,} nodes")
    lines.append(f"written to          {', '.join(written)}")
    return "\n".join(lines)
