"""`sgat data convert`: a graph from one file format to another.

Tested by tests/data/files/test_convert.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import typer

from sgat.cli.options import JSON, QUIET, Given, comma_list, with_settings
from sgat.config import FileOptions

EPILOG = (
    "Examples:\n\nsgat data convert edges.csv graph.graphml --nodes nodes.csv\n\n"
    "sgat data convert graph.graphml edges.parquet --nodes-out nodes.parquet"
)


@with_settings(
    files=FileOptions, only=("src", "dst", "id", "weight", "undirected", "delimiter")
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
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Convert a graph, with its ids, order and columns, to another file format."""
    from sgat.data.files import convert as convert_files

    options = FileOptions(**files)
    kept = None if columns is None else comma_list(columns)
    graph = convert_files(
        edges, nodes, out, nodes_out, options=options, format=to, columns=kept
    )
    written = [str(path) for path in (out, nodes_out) if path is not None]
    if as_json:
        record = {
            "nodes": graph.data.num_nodes,
            "rows": len(graph.edges),
            "written": written,
        }
        typer.echo(json.dumps(record))
    elif not quiet:
        typer.echo(
            f"{graph.data.num_nodes} nodes and {len(graph.edges)} edge rows written to"
            f" {' and '.join(written)}"
        )
