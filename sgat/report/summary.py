"""The head of the page: what the run was, and its numbers."""

from __future__ import annotations

import math

from sgat.finished_run import FinishedRun
from sgat.removal import Removal
from sgat.report.markup import escape, number, percent


def lead(run: FinishedRun) -> str:
    """One sentence on data and goal."""
    summary, first = run.summary, run.graphs[0]
    what = "labels" if first.is_multilabel else "classes"
    graphs = f"{len(run.graphs)} graphs, " if len(run.graphs) > 1 else ""
    keep = summary["keep"]
    goal = (
        f"asked to keep {percent(keep)} of the edges"
        if keep is not None
        else f"with a price of {number(summary['l0_weight'])} for an open edge"
    )
    return (
        f"{graphs}{summary['nodes']:,} nodes, {summary['edges']:,} edges,"
        f" {first.num_classes} {what}. A node classifier that learned which edges to"
        f" listen to, {goal}."
    )


def tiles(run: FinishedRun, removal: Removal) -> str:
    """The numbers to look at first."""
    summary = run.summary
    key = "micro_f1" if run.graphs[0].is_multilabel else "accuracy"
    title = "accuracy" if key == "accuracy" else "micro-F1"
    tested = summary["test_nodes"]
    cells = []
    if summary[key] is not None:
        right = f"{round(summary[key] * tested):,} of {tested:,} nodes"
        shown = right if key == "accuracy" else f"on {tested:,} nodes"
        cells.append((f"Test {title}", percent(summary[key], 2), shown))
    for role, word in (("validation", "Validation"), ("training", "Training")):
        if summary[role] is not None and len(cells) < 2:
            cells.append((f"{word} {title}", percent(summary[role], 2), ""))
    kept = summary["edges"] - summary["edges_removed"]
    cells.append(
        (
            "Edges removed",
            percent(summary["removed_share"]),
            f"{summary['edges_removed']:,} of {summary['edges']:,}; {kept:,} kept",
        )
    )
    # Runs of earlier versions do not say.
    if (noise := summary.get("noise_share")) is not None:
        cells.append(("Estimated noise", percent(noise), "of the edges"))
    before, after = removal.before, removal.after
    if before.homophily is not None:
        cells.append(
            (
                "Edges within one class",
                percent(after.homophily if after.edges else before.homophily),
                f"{percent(before.homophily)} before"
                if after.edges
                else "before; no edge is left",
            )
        )
    cells.append(
        (
            "Nodes without any edge",
            number(after.isolated),
            f"{number(before.isolated)} before",
        )
    )
    cells.append(
        (
            "Trained",
            _duration(summary["seconds"]),
            f"model of epoch {summary['best_epoch']} of {summary['epochs']},"
            f" seed {summary['seed']}",
        )
    )
    body = "".join(
        f'<div class="tile"><dt>{escape(head)}</dt><dd>{escape(value)}</dd>'
        f'<dd class="more">{escape(more)}</dd></div>'
        for head, value, more in cells
    )
    return f'<dl class="tiles">{body}</dl>'


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes = math.floor(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
