"""Content: all that a page is made of, and its head: the run and its numbers."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgat.config import Config
from sgat.explaining.removal import Removal, RemovalPoint
from sgat.report.page import number, percent
from sgat.scored import ScoredGraph
from sgat.training import metrics

ASKED = {
    "remove": "asked to close those that look like noise",
    "weigh": "asked to weigh them by how likely they are real",
    "all": "asked to use all of them, likely real or not",
}
"""What is asked of gates by evidence, by the setting `judged_edges`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """All that a page is made of; features of the graphs are not needed.

    The file `snapshots` has scores and predictions of the first graph over the epochs.
    """

    config: Config
    summary: dict[str, Any]
    history: Any  # one row per epoch
    scored: Sequence[ScoredGraph]
    removal: Removal  # of all graphs together
    curve: Sequence[RemovalPoint]
    snapshots: Path | None = None

    @property
    def is_multilabel(self) -> bool:
        """Whether a node can have several labels."""
        return self.scored[0].data.is_multilabel

    @property
    def score_name(self) -> str:
        """Key of the score that the task is judged by, in the summary."""
        return metrics.score_name(self.is_multilabel, self.config.train.metric)

    @property
    def score_title(self) -> str:
        """The same in words."""
        return metrics.TITLES[self.score_name]


def lead(content: Content) -> str:
    """Two sentences: the data, and what was made of it."""
    summary, number = content.summary, len(content.scored)
    what = "labels" if content.is_multilabel else "classes"
    graphs = f"{number} graphs, " if number > 1 else ""
    edges = f"{summary['edges']:,} edges"
    if _has_rows(summary):
        both = ", each direction counted" if summary.get("undirected_rows") else ""
        edges = f"{summary['rows']:,} rows that make {edges} (loops left out{both})"
    return (
        f"{graphs}{summary['nodes']:,} nodes, {edges},"
        f" {content.scored[0].data.num_classes} {what}. {_goal(content)}"
    )


def _has_rows(summary: dict[str, Any]) -> bool:
    """Whether the user's file has another number of rows than the graph has edges."""
    return bool(summary.get("rows", summary["edges"]) != summary["edges"])


def _goal(content: Content) -> str:
    """What the classifier learned, and what was asked of it."""
    summary, model = content.summary, content.config.model
    keep = summary["keep"]
    if keep is not None:
        asked = f"asked to keep {percent(keep)} of the edges"
    elif model.scorer in ("evidence", "revised"):
        asked = ASKED[model.judged_edges]
    else:
        asked = f"with a price of {number(summary['l0_weight'])} for an open edge"
    if not summary["reach"]:
        return (
            "A node classifier that goes by the features of each node alone; its edges"
            f" were judged as well, {asked}."
        )
    return f"A node classifier that learned which edges to use, {asked}."


def answer(content: Content) -> str:
    """What came of it, in words: edges that went, and what that did to the score."""
    summary, model, title = content.summary, content.config.model, content.score_title
    # Rows of the user's file, where it was one.
    what = "rows" if "rows" in summary else "edges"
    edges, removed = f"{summary[what]:,}", summary[f"{what}_removed"]
    looks_wrong = model.scorer in ("evidence", "revised") and summary["keep"] is None
    if not removed:
        text = f"{'No edge looks wrong' if looks_wrong else 'No edge was removed'}:"
        text += f" all {edges} stay."
    elif looks_wrong:
        text = f"{removed:,} of {edges} {what} look wrong and were removed."
    else:
        text = f"{removed:,} of {edges} {what} were removed."
    for key, role in ((content.score_name, "test"), ("validation", "validation")):
        if summary[key] is None:
            continue
        text += f" The {role} {title} is {percent(summary[key])}"
        whole = next((p for p in content.curve if not p.removed), None)
        before = None if whole is None else getattr(whole, role)
        if removed and before is not None:
            text += f", and {percent(before)} if the same model uses all edges"
        return f"{text}."
    return text


def tiles(content: Content) -> list[tuple[str, str, str]]:
    """The numbers to look at first: a title, the number, and more of it."""
    summary, title, key = content.summary, content.score_title, content.score_name
    tested = summary["test_nodes"]
    cells = []
    if summary[key] is not None:
        right = f"{round(summary[key] * tested):,} of {tested:,} nodes"
        shown = right if key == "accuracy" else f"on {tested:,} nodes"
        cells.append((f"Test {title}", percent(summary[key], 2), shown))
    for role, word in (("validation", "Validation"), ("training", "Training")):
        if summary[role] is not None and len(cells) < 2:
            cells.append((f"{word} {title}", percent(summary[role], 2), ""))
    others = {k: v for k, v in (summary.get("test_scores") or {}).items() if k != key}
    if others:
        largest = percent(others.pop("largest_class"))
        (first, value), *rest = others.items()
        more = [f"{metrics.TITLES[name]} {percent(value)}" for name, value in rest]
        more.append(f"the largest class has {largest} of the nodes")
        title = metrics.TITLES[first]
        cells.append((title[0].upper() + title[1:], percent(value, 2), "; ".join(more)))
    edges = summary["edges"]
    what = "rows" if _has_rows(summary) else "edges"
    every, removed = summary[what], summary[f"{what}_removed"]
    shown = f"{removed:,} of {every:,}; {every - removed:,} kept"
    share = percent(removed / every if every else 0.0)
    cells.append((f"{what.capitalize()} removed", share, shown))
    if (noise := summary["noise_share"]) is not None:
        shown = f"about {round(noise * edges):,} of {edges:,} edges"
        cells.append(("Estimated noise", percent(noise), shown))
    before, after = content.removal.before, content.removal.after
    if before.homophily is not None:
        side, shown = after, f"{percent(before.homophily)} before"
        if not after.edges:
            side, shown = before, "before; no edge is left"
        cells.append(("Edges within one class", percent(side.homophily), shown))
    shown = f"{number(before.isolated)} before"
    cells.append(("Nodes without any edge", number(after.isolated), shown))
    shown = f"model of epoch {summary['best_epoch']} of {summary['epochs']}"
    shown = f"{shown}, seed {summary['seed']}"
    return [*cells, ("Trained", _duration(summary["seconds"]), shown)]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} s"
    minutes = math.floor(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
