"""write_report(): one HTML file from a finished run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from sgat.data.files.atomic import replacing
from sgat.data.node_data import NodeData, merge
from sgat.explaining.removal import Removal, describe_removal
from sgat.report.charts import Chart
from sgat.report.class_edges import class_edges_card
from sgat.report.graph_view import GraphView, build_view
from sgat.report.markup import escape, json_block, name
from sgat.report.page import assemble
from sgat.report.predictions import prediction_section
from sgat.report.removal_curve import STEPS, RemovalPoint, removal_curve
from sgat.report.removed import removal_section
from sgat.report.scores import score_section
from sgat.report.stage import stage
from sgat.report.summary import lead, tiles
from sgat.report.training import training_section
from sgat.runs.files import read_records
from sgat.runs.finished_run import FinishedRun

NAVIGATION = (
    *(("summary", "Summary"), ("view", "Graph"), ("training", "Training")),
    *(("predictions", "Predictions"), ("scores", "Scores"), ("removed", "Removed")),
    ("settings", "Settings"),
)
OTHER_PARTS = 3
"""Parts of the work besides evaluations: statistics, graph, page."""


@dataclasses.dataclass(frozen=True)
class Report:
    """What a report says, in numbers.

    Attributes:
        path: The file.
        size: Its size in bytes.
        graph: Name of the graph that is drawn.
        whole: Whether that graph is drawn whole.
        edges: Edges of that graph.
        edges_in_page: How many of them the page holds.
        curve: The score against the share of edges removed.
        removal: The graph before and after.
        notes: What was left out of the page, one sentence each.
    """

    path: Path
    size: int
    graph: str
    whole: bool
    edges: int
    edges_in_page: int
    curve: tuple[RemovalPoint, ...]
    removal: Removal
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return {
            "path": str(self.path),
            "bytes": self.size,
            "graph": self.graph,
            "whole": self.whole,
            "edges": self.edges,
            "edges_in_page": self.edges_in_page,
            "curve": [dataclasses.asdict(point) for point in self.curve],
            "removal": self.removal.to_dict(),
            "notes": list(self.notes),
        }


def write_report(
    run: FinishedRun,
    path: Path,
    *,
    graph: str | None = None,
    steps: int = STEPS,
    on_step: Callable[[int, int], None] | None = None,
) -> Report:
    """Write the report of a run, in full or not at all.

    Args:
        run: The run with its data.
        path: The file; an earlier one is replaced.
        graph: Name of the graph to draw, where there are several; None takes the one
            with snapshots, else the first that is tested on.
        steps: Steps of the curve over the share of edges removed.
        on_step: Called with the number of parts that are done, and of all parts.

    Raises:
        ValueError: If there is no graph of that name, or a file of the run is damaged.
    """
    place = _chosen(run, graph)
    data = run.graphs[place]
    with replacing(path) as temporary:

        def tell(done: int, evaluations: int) -> None:
            if on_step is not None:
                on_step(done, evaluations + OTHER_PARTS)

        curve = removal_curve(run.model, run.graphs, steps=steps, on_step=tell)
        removal = _removal(run)
        tell(len(curve) + 1, len(curve))
        view = _view(run, place)
        tell(len(curve) + 2, len(curve))
        html = _page(run, data, view, curve, removal)
        temporary.write_bytes(html.encode("utf-8"))
        size = temporary.stat().st_size
        tell(len(curve) + 3, len(curve))
    return Report(
        path=path,
        size=size,
        graph=data.name,
        whole=view.payload["whole"],
        edges=data.graph.num_edges,
        edges_in_page=view.payload["edges"],
        curve=tuple(curve),
        removal=removal,
        notes=view.notes,
    )


def _chosen(run: FinishedRun, graph: str | None) -> int:
    names = [data.name for data in run.graphs]
    if graph is not None:
        if graph not in names:
            known = ", ".join(names[:30])
            raise ValueError(
                f"There is no graph {graph!r} in this run; it has {known}."
            )
        return names.index(graph)
    if run.folder.snapshots.exists():
        return 0
    tested = (n for n, data in enumerate(run.graphs) if bool(data.test.any()))
    return next(tested, 0)


def _removal(run: FinishedRun) -> Removal:
    data = run.graphs[0] if len(run.graphs) == 1 else merge(run.graphs)
    logits = torch.cat(run.logits)
    prediction = logits > 0 if data.is_multilabel else logits.argmax(dim=1)
    kept = torch.cat([scores.kept for scores in run.scores])
    return describe_removal(data, kept, prediction)


def _view(run: FinishedRun, place: int) -> GraphView:
    has_snapshots = place == 0 and run.folder.snapshots.exists()
    view = build_view(
        run.graphs[place],
        run.scores[place],
        run.logits[place],
        run.model.gating.gates.threshold,
        is_symmetric=run.model.gating.symmetric,
        hears_edges=run.model.reach > 0,
        snapshots=run.folder.snapshots if has_snapshots else None,
    )
    if len(run.graphs) == 1:
        return view
    note = (
        f"This is {run.graphs[place].name}, one of the {len(run.graphs)} graphs of the"
        " run; `sgat report --graph NAME` draws another. All numbers below are of all"
        " graphs together."
    )
    return dataclasses.replace(view, notes=(note, *view.notes))


def _page(
    run: FinishedRun,
    data: NodeData,
    view: GraphView,
    curve: Sequence[RemovalPoint],
    removal: Removal,
) -> str:
    title = "micro-F1" if data.is_multilabel else "accuracy"
    threshold = run.model.gating.gates.threshold
    log_alpha = torch.cat([scores.log_alpha for scores in run.scores]).numpy()
    history = read_records(run.folder.metrics)
    training, charts = training_section(history, run.summary["best_epoch"], title)
    scores, more = score_section(log_alpha, threshold, curve, title)
    several = len(run.graphs) > 1
    scope = f"All {len(run.graphs)} graphs together." if several else "Loops left out."
    classes = ""
    if not data.is_multilabel:
        classes = class_edges_card(run.graphs, run.scores, run.logits)
    removed, last = removal_section(removal, scope, classes)
    sections = [training, prediction_section(run), scores, removed, _settings(run)]
    summary = run.summary
    heading = str(summary["data"])
    return assemble(
        title=escape(f"{heading[:80]} – sgat report"),
        heading=name(heading, 60),
        lead=lead(run),
        navigation="".join(f'<a href="#{k}">{text}</a>' for k, text in NAVIGATION),
        summary=tiles(run, removal),
        view=stage(run, data, view),
        sections="".join(sections),
        footer=_footer(run),
        data=_data(view, curve, [*charts, *more, *last]),
    )


def _data(
    view: GraphView, curve: Sequence[RemovalPoint], charts: Sequence[Chart]
) -> str:
    points = [
        {"removed": p.removed, "validation": p.validation, "test": p.test}
        for p in curve
    ]
    blocks = {
        "graph-data": view.payload,
        "removal-curve": points,
        "charts": {chart.key: chart.data for chart in charts},
    }
    return "".join(json_block(key, value) for key, value in blocks.items())


def _settings(run: FinishedRun) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in run.summary["versions"].items())
    return (
        '<section id="settings" aria-labelledby="settings-title">'
        '<h2 id="settings-title">Settings</h2><div class="card">'
        f"<p>{escape(versions)}; {escape(run.summary['device'])}. Data"
        f" {escape(run.summary['data_sha256'][:16])}….</p>"
        f"<details><summary>All settings (config.toml)</summary>"
        f"<pre>{escape(run.config.to_toml())}</pre></details></div></section>"
    )


def _footer(run: FinishedRun) -> str:
    return (
        f"Run of {escape(run.summary['date'])}, written by `sgat report`. The page is"
        " complete: it fetches nothing and runs from disk. Graph view by sigma.js and"
        " graphology (MIT licence)."
    )
