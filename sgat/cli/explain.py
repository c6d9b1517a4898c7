"""`sgat explain`: why a node got its prediction, or what was removed from a graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sgat.cli import app, plain
from sgat.cli.options import DATA_ROOT, GRAPH, JSON, QUIET
from sgat.cli.progress import counting

if TYPE_CHECKING:
    from sgat.explaining.graph_explanation import GraphExplanation
    from sgat.explaining.node_explanation import NodeExplanation, Verdict

TABLES = (".csv", ".tsv", ".parquet")
LEFT = ("label", "prediction", "becomes", "change_of", "target")
"""Columns of words."""
NARROW = 105
"""Columns of text below which a table has to do with fewer."""
WIDTH = 160
"""Columns of text where there is no terminal to ask."""


@app.command(
    epilog="Examples:\n\nsgat explain runs/karate 8 --picture 8.png\n\n"
    "sgat explain runs/mine n07 --top 100 --out n07.csv\n\n"
    "sgat explain runs/mine --out removed.csv"
)
def explain(
    run: Path = typer.Argument(help="Run folder of `sgat fit`."),
    node: str | None = typer.Argument(
        None, help="Your id of a node; without it, the whole graph is described."
    ),
    graph: str | None = GRAPH,
    top: int = typer.Option(
        30, min=1, help="Most edges to drop in turn, and rows to show of either kind."
    ),
    out: Path | None = typer.Option(
        None, help="Also write the whole table: .csv, .tsv or .parquet."
    ),
    picture: Path | None = typer.Option(
        None, help="Also draw the node and its neighbours: .png or .svg."
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace the files at --out and --picture."
    ),
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Explain the prediction of a node, or what was removed from the whole graph.

    For a node: its prediction, the kept and removed edges into it, and the change of
    the prediction if a kept edge is dropped. Each edge is dropped in turn and the node
    is evaluated again; all other gates stay. For the graph: before and after, kept
    against removed edges, and the kept edges that matter most to all predictions.
    """
    found: NodeExplanation | GraphExplanation
    show: Callable[[Any], None]
    with counting("edges dropped", quiet=quiet, first="getting ready") as count:
        from sgat.cli.outputs import check_suffix, inputs_of
        from sgat.data.files import write_table
        from sgat.data.files.outputs import check_outputs
        from sgat.explaining.graph_explanation import explain_graph
        from sgat.explaining.node_explanation import explain_node
        from sgat.explaining.pictures import draw_node, save_picture
        from sgat.runs.finished_run import open_run
        from sgat.training.files import arrow_table

        check_suffix("out", out, TABLES)
        check_suffix("picture", picture, (".png", ".svg"))
        if picture is not None and node is None:
            raise ValueError(
                "`picture` draws a node, and none is named; `sgat report` shows what"
                " was removed from the graph."
            )
        opened = open_run(run, root=data_root)
        outputs = {"out": out, "picture": picture}
        inputs, holds = inputs_of(opened.config.data), opened.folder.holds
        check_outputs(outputs, inputs, is_of_run=holds, overwrite=overwrite)
        how: dict[str, Any] = {"graph": graph, "top": top, "progress": count}
        if node is None:
            whole = explain_graph(opened.model, opened.scored, **how)
            found, show = whole, lambda console: _show_graph(console, whole)
        else:
            one = explain_node(opened.model, opened.scored, node, **how)
            found, show = one, lambda console: _show_node(console, one, top)
            if picture is not None:
                from matplotlib.figure import Figure

                draw_node(one, figure := Figure())
                save_picture(figure, picture)
        if out is not None:
            write_table(arrow_table(found.table), out)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        from rich.console import Console

        width = None if sys.stdout.isatty() else WIDTH
        show(Console(width=width, markup=False, highlight=False))
        written = [str(path) for path in (out, picture) if path is not None]
        if written:
            typer.echo(plain(f"\nwritten to {', '.join(written)}"))


def _show_node(console: Any, found: NodeExplanation, top: int) -> None:
    table, kept, dropped = found.table, found.num_kept, found.dropped
    removed = len(table) - kept
    labels = found.label if isinstance(found.label, list) else [found.label]
    label = ", ".join(_cell(each) for each in labels if each is not None) or "none"
    lines = [
        f"node {_cell(found.node)} of {_cell(found.graph)}: {_said(found.verdict)}",
        f"label {label}, {found.split or 'no split'}",
        _sources(found),
        f"without any edge: {_said(found.alone)}\n",
    ]
    console.print("\n".join(lines), soft_wrap=True)
    # On a narrow terminal, what follows from log α makes room.
    left_out = {"probability"} if console.width < NARROW else set()
    if not dropped:
        left_out |= {"change", "becomes", "change_of"}
    heads = [name for name in table.columns if name not in left_out]
    if len(table):
        shown = table.groupby("kept", sort=False).head(top)
        _print_table(console, heads, shown[heads].to_numpy().tolist())
    if kept > dropped:
        best = "most attention" if "attention" in table else "largest gates"
        console.print(
            f"only the {dropped:,} of {kept:,} kept edges with the {best} were"
            " dropped in turn; more with --top",
            soft_wrap=True,
        )
    if removed > top:
        console.print(f"{top:,} of {removed:,} removed edges are shown")
    if dropped:
        of = "the label it moves most" if "change_of" in heads else "the prediction"
        console.print(f"change: in the probability of {of}, if this edge were gone")


def _sources(found: NodeExplanation) -> str:
    """Where the messages of a node come from."""
    counts = f"{found.num_kept:,} of {len(found.table):,}"
    if not found.reach:
        return f"uses its own features alone; {counts} edges into it are kept"
    own = "" if found.own_share is None else f"; {found.own_share:.1%} are its own"
    return f"receives messages from {counts} neighbours{own}"


def _show_graph(console: Any, found: GraphExplanation) -> None:
    removal, important = found.removal, found.important
    before, after = removal.before.numbers, removal.after.numbers
    console.print(f"{_cell(found.graph)}\n")
    rows = [
        [title, _count(value), _count(after[name][1])]
        for name, (title, value) in before.items()
    ]
    _print_table(console, ["graph", "before", "after"], rows)
    contrasts = [
        [f"{c.title} *" if c.is_sampled else c.title, c.kept, c.removed]
        for c in removal.contrasts
    ]
    _print_table(console, ["mean over edges", "kept", "removed"], contrasts)
    if any(contrast.is_sampled for contrast in removal.contrasts):
        console.print(f"* over a sample of {removal.sample:,} edges of either kind\n")
    if not found.reach:
        console.print("the model uses no edges, so no edge matters")
    if not len(important):
        return
    heads = ["source", "target", *important.columns[2:]]
    _print_table(console, heads, important.astype(object).to_numpy().tolist())
    note = (
        "kept edges that matter most, by an estimate for all of them, then dropped in"
        " turn; change: in the probability of what is predicted, summed over the nodes"
        " reached; flips: predictions that become others"
    )
    console.print(note, soft_wrap=True)


def _print_table(console: Any, heads: list[str], rows: list[list[Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for number, head in enumerate(heads):
        is_right = number > 0 and head not in LEFT
        table.add_column(Text(head), justify="right" if is_right else "left")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console.print(table)
    console.print()


def _said(verdict: Verdict) -> str:
    """The prediction with its probability, and what comes next."""
    ranked = sorted(verdict.probabilities.items(), key=lambda item: -item[1])
    if verdict.confidence is None:
        on = {str(name) for name in verdict.prediction}
        parts = [f"{_cell(k)} ({p:.1%})" for k, p in ranked if str(k) in on]
        return f"predicted {', '.join(parts) or 'no label'}"
    rest = ", ".join(f"{_cell(k)} {p:.1%}" for k, p in ranked[1:4])
    return f"predicted {_cell(verdict.prediction)} ({verdict.confidence:.1%}; {rest})"


def _count(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else _cell(value)


def _cell(value: Any) -> str:
    """A value as printable text of one line, cut if it is long."""
    import pandas as pd

    from sgat.explaining.pictures import short

    if value is None or value is pd.NA or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else short(value, 40)
