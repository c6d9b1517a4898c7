"""The head of the page: what the run was, and its numbers."""

from __future__ import annotations

import math

from sgat.explaining.removal import Removal
from sgat.report.markup import escape, number, percent
from sgat.runs.finished_run import FinishedRun


def lead(run: FinishedRun) -> str:
    """Two sentences: the data, and what was made of it."""
    summary, first = run.summary, run.graphs[0]
    what = "labels" if first.is_multilabel else "classes"
    graphs = f"{len(run.graphs)} graphs, " if len(run.graphs) > 1 else ""
    return (
        f"{graphs}{summary['nodes']:,} nodes, {summary['edges']:,} edges,"
        f" {first.num_classes} {what}. {_goal(run)}"
    )


def _goal(run: FinishedRun) -> str:
    """What the classifier learned, and what was asked of it."""
    keep, scorer = run.summary["keep"], run.config.model.scorer
    if keep is not None:
        asked = f"asked to keep {percent(keep)} of the edges"
    elif scorer == "evidence":
        asked = "asked to close those that look like noise"
    else:
        price = number(run.summary["l0_weight"])
        asked = f"with a price of {price} for an open edge"
    if not run.model.reach:
        return (
            "A node classifier that goes by the features of each node alone; its edges"
            f" were judged as well, {asked}."
        )
    return f"A node classifier that learned which edges to listen to, {asked}."


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
        edges = summary["edges"]
        shown = f"about {round(noise * edges):,} of {edges:,} edges"
        cells.append(("Estimated noise", percent(noise), shown))
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
