"""`sgat data`: what data there is, what it holds, and other forms of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgat.cli import app, data_options
from sgat.cli.convert import EPILOG as convert_examples
from sgat.cli.convert import convert
from sgat.cli.downloads import download_bar
from sgat.cli.inject import EXAMPLES as inject_examples
from sgat.cli.inject import inject

if TYPE_CHECKING:
    from sgat.config import DataConfig
    from sgat.data.node_data import NodeData
    from sgat.data.statistics import Statistics

data_app = typer.Typer(
    help="List and describe data sets, convert files, inject noise.",
    no_args_is_help=True,
)
app.add_typer(data_app, name="data")

DATA_ROOT = typer.Option(
    None,
    "--data-root",
    help="Folder with the data sets; else $SGAT_DATA, else the user's cache.",
)
JSON = typer.Option(False, "--json", help="Print JSON for machines.")
QUIET = typer.Option(False, "--quiet", help="Show no progress.")


@data_app.command("list", epilog="Examples:\n\nsgat data list\n\nsgat data list --json")
def list_names(data_root_: Path | None = DATA_ROOT, as_json: bool = JSON) -> None:
    """List the named data sets and whether their files are here."""
    from sgat.data.catalogue import CATALOGUE
    from sgat.data.fetch import data_root, missing_files

    root = data_root(data_root_)
    rows = []
    for name, benchmark in CATALOGUE.items():
        raw = benchmark.raw
        missing = [] if raw is None else missing_files(raw, root)
        rows.append(
            {
                "name": name,
                "title": benchmark.title,
                "split": benchmark.default_split,
                "normalised": benchmark.normalise,
                "available": not missing,
                "folder": raw and str(root / raw.folder),
            }
        )
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        here = "here   " if row["available"] else "missing"
        typer.echo(f"{row['name']:<13} {here}  {row['split']:<10} {row['title']}")


@data_app.command(
    epilog="Examples:\n\nsgat data info cora --json\n\n"
    "sgat data info --edges edges.csv --nodes nodes.csv --label y"
)
def info(
    name: str | None = data_options.NAME,
    data_root: Path | None = data_options.DATA_ROOT,
    split: str | None = data_options.SPLIT,
    seed: int = typer.Option(0, help="Seed of the split."),
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
    fill_missing: str | None = data_options.FILL_MISSING,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Describe data: counts, classes, degrees, homophily, memory for training."""
    given = {k: v for k, v in locals().items() if v is not None}
    from sgat.data import load
    from sgat.data.statistics import describe
    from sgat.runs.request import Request

    if (name is None) == (edges is None):
        raise ValueError(
            "Name a data set (see `sgat data list`) or give an edge file with"
            " `--edges`, one of the two."
        )
    asked = Request.from_options(given).settings().data
    if name is None:
        show(describe([_read(asked, seed)]), as_json=as_json)
        return
    with download_bar(name, quiet=quiet) as progress:
        graphs = load(
            name,
            root=data_root,
            split=split,
            seed=seed,
            largest_component=bool(largest_component),
            progress=progress,
        )
    show(describe(graphs), as_json=as_json)


def _read(asked: DataConfig, seed: int) -> NodeData:
    """The user's files; unlike for training, nodes need neither labels nor a split."""
    from sgat.data.files import FileOptions, read_graph
    from sgat.data.split_names import draw_split

    assert asked.edges is not None
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in asked.options.items()
    }
    data = read_graph(asked.edges, asked.nodes, options=FileOptions(**options)).data
    return data if asked.split is None else draw_split(asked.split, data, seed)


def show(statistics: Statistics, *, as_json: bool) -> None:
    """Print the statistics of a data set, as text or as JSON."""
    if as_json:
        typer.echo(json.dumps(statistics.to_dict(), indent=2))
        return
    for line in _lines(statistics):
        typer.echo(line)


def _lines(data: Statistics) -> Iterator[str]:
    sizes = ", ".join(f"{label}: {size:,}" for label, size in data.class_sizes.items())
    roles = ", ".join(f"{count:,} {role}" for role, count in data.split.items())
    degrees = data.degrees
    entries = {
        "nodes": f"{data.nodes:,}",
        "edges": f"{data.edges:,} directed, {data.edges_with_loops:,} with loops",
        "features": f"{data.features:,}, {data.fill:.1%} filled",
        "classes": f"{data.classes} ({sizes})",
        "split": roles,
        "components": f"{data.components:,}",
        "isolated": f"{data.isolated:,} nodes",
        "degrees": "none"
        if degrees.mean is None
        else f"{degrees.min:,} to {degrees.max:,},"
        f" median {degrees.median:g}, mean {degrees.mean:.1f}",
        "homophily": f"node {_share(data.homophily)},"
        f" edge {_share(data.edge_homophily)}"
        + (f" ({data.homophily_note})" if data.homophily_note else ""),
        "memory": f"about {data.memory / 2**20:,.0f} MiB to train 2 layers,"
        " 2 heads of 64",
    }
    if data.unlabelled:
        entries["unlabelled"] = f"{data.unlabelled:,} nodes"
    yield data.name
    for key, text in entries.items():
        yield f"  {key:<11} {text}"
    for graph in data.graphs:
        yield (
            f"  {graph.name}: {graph.nodes:,} nodes, {graph.edges:,} edges,"
            f" {graph.edges_with_loops:,} with loops,"
            f" homophily {_share(graph.homophily)}"
        )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


data_app.command("convert", epilog=convert_examples)(convert)
data_app.command("inject", epilog=inject_examples)(inject)
