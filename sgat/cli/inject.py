"""`sgat data inject`: put noise into a graph and write down which edges it is."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sgat.cli.options import DATA_ROOT, JSON, QUIET
from sgat.cli.progress import download_bar

EXAMPLES = (
    "Examples:\n\n"
    "sgat data inject cora --kind cross-class --rate 0.5 --out noisy/cora\n\n"
    "sgat data inject pubmed --kind hub --seed 1 --out noisy/pubmed"
)
"""The end of the command's help."""


class Kind(StrEnum):
    """Which edges to add."""

    RANDOM = "random"
    CROSS_CLASS = "cross-class"
    HUB = "hub"


def inject(
    name: Annotated[
        str, typer.Argument(help="A named data set, see `sgat data list`.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the tables; it must be new or empty.")
    ],
    kind: Annotated[
        Kind,
        typer.Option(
            help="random: any two nodes. cross-class: two nodes of different class."
            " hub: any node with one of the highest degree."
        ),
    ] = Kind.RANDOM,
    rate: Annotated[
        float, typer.Option(help="Number of new edges over the number of old ones.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Chooses the edges.")] = 0,
    hubs: Annotated[
        int | None,
        typer.Option(help="How many nodes are hubs; by default 5 % of them."),
    ] = None,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Add edges that mean nothing to a graph, and write which ones they are.

    Writes `edges.parquet`, `added.parquet` (the new edges alone) and `nodes.parquet`.
    """
    from sgat.data import load
    from sgat.data.synthetic.injection import inject as add_edges
    from sgat.data.synthetic.injection import write_injected

    with download_bar(name, quiet=quiet) as progress:
        loaded = load(name, root=data_root, progress=progress)
    graphs = [
        add_edges(
            data,
            kind.value,
            rate,
            seed + number,
            undirected=data.graph.is_undirected,
            hubs=hubs,
        )
        for number, data in enumerate(loaded)
    ]
    files = write_injected(graphs, out)
    num_edges = sum(injected.data.graph.num_edges for injected in graphs)
    num_added = sum(int(injected.added.sum()) for injected in graphs)
    if as_json:
        result = {
            "name": name,
            "kind": kind.value,
            "rate": rate,
            "seed": seed,
            "edges": num_edges,
            "added": num_added,
            "files": [str(file) for file in files],
        }
        typer.echo(json.dumps(result))
        return
    typer.echo(
        f"{num_added:,} {kind.value} edges added to {num_edges - num_added:,},"
        f" written to {out}."
    )
