"""`sgat data`: which data there is, what it holds, other forms of it, noise in it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgat.cli import app, show
from sgat.cli.options import DATA_ROOT, JSON, QUIET, Given, comma_list, with_settings
from sgat.cli.progress import download_bar
from sgat.config import DataConfig, FileOptions

if TYPE_CHECKING:
    from sgat.data.configured import Loaded
    from sgat.data.statistics import Statistics

data_app = typer.Typer(
    help="List and describe data sets, convert files, inject noise.",
    no_args_is_help=True,
)
app.add_typer(data_app, name="data")


@data_app.command("list", epilog="Examples:\n\nsgat data list\n\nsgat data list --json")
def list_names(data_root_: Path | None = DATA_ROOT, as_json: bool = JSON) -> None:
    """List the named data sets and whether their files are here."""
    from sgat.data.catalogue import CATALOGUE
    from sgat.data.fetch import data_root, missing_files

    root = data_root(data_root_)
    rows, lines = [], []
    for name, benchmark in CATALOGUE.items():
        raw, title, split = benchmark.raw, benchmark.title, benchmark.default_split
        missing = [] if raw is None else missing_files(raw, root)
        row: dict[str, Any] = {"name": name, "title": title, "split": split}
        row |= {"normalised": benchmark.normalise, "available": not missing}
        rows.append(row | {"folder": raw and str(root / raw.folder)})
        here = "missing" if missing else "here   "
        lines.append(f"{name:<13} {here}  {split:<10} {title}")
    show(rows, "\n".join(lines), as_json=as_json)


@data_app.command(
    epilog="Examples:\n\nsgat data info cora --json\n\n"
    "sgat data info --edges edges.csv --nodes nodes.csv --label y"
)
@with_settings(data=DataConfig, files=FileOptions)
def info(
    data: Given,
    files: Given,
    seed: int = typer.Option(0, help="Seed of the split."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Describe data: counts, classes, degrees, homophily, memory for training."""
    from sgat.data.files.column_roles import role_lines
    from sgat.data.statistics import describe
    from sgat.runs.request import Request

    loaded = _loaded(Request(data, files).settings().data, seed, quiet=quiet)
    found = describe(loaded.graphs)
    roles = () if loaded.files is None else loaded.files.roles
    record = found.to_dict() | {"columns": [role._asdict() for role in roles]}
    is_bare = loaded.files is not None and not loaded.files.encoding.features
    lines = [*_lines(found, is_bare), *(f"  {line}" for line in role_lines(roles))]
    show(record, "\n".join(lines), as_json=as_json)


def _loaded(asked: DataConfig, seed: int, *, quiet: bool) -> Loaded:
    from sgat.data.configured import load_configured

    how: dict[str, Any] = {"seed": seed, "for_training": False}
    with download_bar(asked.name or "files", quiet=quiet) as progress:
        return load_configured(asked, progress=progress, **how)


def _lines(data: Statistics, is_bare: bool) -> Iterator[str]:
    sizes = ", ".join(f"{label}: {size:,}" for label, size in data.class_sizes.items())
    roles = ", ".join(f"{count:,} {role}" for role, count in data.split.items())
    if not any(data.split.values()):
        roles = "none; `sgat fit` draws one" if data.classes else "none"
    degrees = data.degrees
    found = {"node": data.homophily, "edge": data.edge_homophily}
    shares = ", ".join(f"{k} {v:.3f}" for k, v in found.items() if v is not None)
    entries = {
        "nodes": f"{data.nodes:,}",
        "edges": f"{data.edges:,}, each direction counted",
        "features": "none; each node gets one of its own"
        if is_bare
        else f"{data.features:,}, {data.fill:.1%} filled",
        "classes": f"{data.classes} ({sizes})" if data.classes else "none",
        "split": roles,
        "components": f"{data.components:,}",
        "isolated": _nodes(data.isolated),
        "degrees": "none"
        if degrees.mean is None
        else f"{degrees.min:,} to {degrees.max:,},"
        f" median {degrees.median:g}, mean {degrees.mean:.1f}",
        "homophily": "; ".join(filter(None, (shares or "none", data.homophily_note))),
        "memory": f"about {max(data.memory / 2**20, 1):,.0f} MiB to train 2 layers,"
        " 2 heads of 64",
    }
    if data.unlabelled and data.classes:
        entries["unlabelled"] = _nodes(data.unlabelled)
    yield data.name
    for key, text in entries.items():
        yield f"  {key:<11} {text}"
    for graph in data.graphs:
        share = "" if graph.homophily is None else f", homophily {graph.homophily:.3f}"
        edges = f"{graph.edges:,} edge{'s' * (graph.edges != 1)}"
        yield f"  {graph.name}: {_nodes(graph.nodes)}, {edges}{share}"


def _nodes(number: int) -> str:
    return f"{number:,} node{'s' * (number > 1)}" if number else "none"


@data_app.command(
    epilog="Examples:\n\n"
    "sgat data convert edges.csv graph.graphml --nodes nodes.csv\n\n"
    "sgat data convert graph.graphml edges.parquet --nodes-out nodes.parquet"
)
@with_settings(
    files=FileOptions,
    only=(
        *("src", "dst", "id", "weight", "undirected"),
        *("delimiter", "decimal", "encoding"),
    ),
)
def convert(
    files: Given,
    edges: Path = typer.Argument(
        help="Edge file: CSV, TSV, Parquet, NPZ, Matrix Market or GraphML."
    ),
    out: Path = typer.Argument(help="File to write: one of these formats, or GEXF."),
    nodes: Path | None = typer.Option(
        None, help="Node file: CSV, TSV, Parquet or NPZ."
    ),
    nodes_out: Path | None = typer.Option(
        None, help="Node file to write, for formats whose edge file holds no nodes."
    ),
    to: str | None = typer.Option(None, help="Format to write; else by the suffix."),
    columns: str | None = typer.Option(
        None,
        help="Further edge columns to keep, separated by commas; '' for none."
        " Without it all are kept.",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Convert a graph, with its ids, order and columns, to another file format."""
    from sgat.data.files import convert as convert_files

    how: dict[str, Any] = {"options": FileOptions(**files), "format": to}
    how["columns"] = None if columns is None else comma_list(columns)
    graph = convert_files(edges, nodes, out, nodes_out, overwrite=overwrite, **how)
    written = [str(path) for path in (out, nodes_out) if path is not None]
    size, rows = graph.data.num_nodes, graph.rows.number
    record = {"nodes": size, "rows": rows, "written": written}
    text = f"{size} nodes and {rows} edge rows written to {' and '.join(written)}"
    if as_json or not quiet:
        show(record, text, as_json=as_json, indent=None)


class Kind(StrEnum):
    """Which edges to add."""

    RANDOM = "random"
    CROSS_CLASS = "cross-class"
    HUB = "hub"


@data_app.command(
    epilog="Examples:\n\n"
    "sgat data inject cora --kind cross-class --rate 0.5 --out noisy/cora\n\n"
    "sgat data inject --edges edges.csv --nodes nodes.csv --label y --rate 0.2"
    " --out noisy/mine"
)
@with_settings(data=DataConfig, files=FileOptions)
def inject(
    data: Given,
    files: Given,
    out: Path = typer.Option(help="Folder for the tables; it must be new or empty."),
    kind: Kind = typer.Option(
        Kind.RANDOM,
        help="random: any two nodes. cross-class: two nodes of different class."
        " hub: any node with one of the highest degree. Where no id is in both columns"
        " of the edge file, as with users and items, all go from one to the other.",
    ),
    rate: float = typer.Option(
        1.0, help="Number of new edges over the number of old ones."
    ),
    seed: int = typer.Option(0, help="Chooses the edges."),
    hubs: int | None = typer.Option(
        None, help="How many nodes are hubs; by default 5 % of them."
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Add edges that mean nothing to a graph, and write which ones they are.

    Writes `edges.parquet`, `added.parquet` (the new edges alone) and `nodes.parquet`.
    Tables of your own keep their rows, columns and ids; new rows come last.
    """
    from sgat.data.synthetic.injection import inject as add_edges
    from sgat.data.synthetic.injection import write_injected
    from sgat.runs.request import Request

    asked = Request(data, files).settings().data
    loaded, graphs = _loaded(asked, seed, quiet=quiet), []
    for number, graph in enumerate(loaded.graphs):
        both = graph.graph.is_undirected
        if loaded.files is not None:
            both |= loaded.files.undirected
        how: dict[str, Any] = {"undirected": both, "hubs": hubs}
        graphs.append(add_edges(graph, kind.value, rate, seed + number, **how))
    written = write_injected(graphs, out, loaded.files)
    num_edges = sum(injected.data.graph.num_edges for injected in graphs)
    num_added = sum(int(injected.added.sum()) for injected in graphs)
    result: dict[str, Any] = {"name": asked.name or asked.edges, "kind": kind.value}
    result |= {"rate": rate, "seed": seed, "edges": num_edges, "added": num_added}
    result["files"] = [str(file) for file in written]
    new, old, what = num_added, num_edges - num_added, "edges"
    if loaded.files is not None:
        old, what = loaded.files.rows.number or 0, "rows"
        # A pair of both directions is one row where rows stand for both.
        new = num_added // 2 if loaded.files.undirected else num_added
    text = f"{new:,} {kind.value} {what} added to {old:,}, written to {out}."
    show(result, text, as_json=as_json, indent=None)
