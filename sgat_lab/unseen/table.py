"""The tables of `unseen`: all methods on all graphs, and where ours stands."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from sgat_lab.attacks.graphs import CLEAN
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.text_table import aligned
from sgat_lab.unseen.cases import GRAPHS, NOISE
from sgat_lab.unseen.methods import METHODS, OURS, OURS_TITLE, PEERS

CLOSE = 0.005
"""Difference to a peer that counts as none."""

Scores = dict[int, float]
"""Test scores by seed."""
Column = dict[str, Scores]
"""Scores of one graph by method."""


class Gap:
    """A difference between two methods, with its standard error.

    Of seeds that both have, the differences of each; else of two means.
    """

    def __init__(self, ours: Scores, other: Scores) -> None:
        pairs = [ours[seed] - other[seed] for seed in ours if seed in other]
        self.mean = statistics.fmean(ours.values()) - statistics.fmean(other.values())
        if len(pairs) == len(ours) == len(other):
            self.error = _error(pairs)
        else:
            self.error = math.hypot(*(_error(list(s.values())) for s in (ours, other)))

    @property
    def is_close(self) -> bool:
        """Whether ours is above, or behind by 0.5 points or one error at most."""
        return self.mean >= -max(CLOSE, self.error)

    def __str__(self) -> str:
        """In points, as "+0.3 ± 0.2"."""
        return f"{100 * self.mean:+.1f} ± {100 * self.error:.1f}"


def _error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def best_peer(column: Column, wanted: Callable[[str], bool]) -> str | None:
    """The peer of the highest mean among the wanted ones; None without any."""
    names = [name for name in column if name in PEERS and wanted(name)]
    mean = {name: statistics.fmean(column[name].values()) for name in names}
    return max(names, key=mean.__getitem__, default=None)


def on_all_edges(name: str) -> bool:
    """Whether a peer has all edges."""
    return not PEERS[name].is_judged


def on_judged_edges(name: str) -> bool:
    """Whether a peer has the edges that the judge keeps."""
    return PEERS[name].is_judged


def is_strong(name: str) -> bool:
    """Whether a peer has its strong form, and all edges."""
    return PEERS[name].is_strong and on_all_edges(name)


def is_mlp(name: str) -> bool:
    """Whether a peer is an MLP."""
    return PEERS[name].kind == "mlp"


RIVALS: dict[str, Callable[[str], bool]] = {
    "best strong peer": is_strong,
    "best peer": on_all_edges,
    "best peer on judged edges": on_judged_edges,
    "best MLP": is_mlp,
}
"""Whom ours is compared with."""


def columns(rows: Sequence[dict[str, Any]], noise: str) -> dict[str, Column]:
    """Test scores of every graph with this noise, in the order of `GRAPHS`."""
    found: dict[str, Column] = {}
    for row in rows:
        if row["noise"] == noise:
            column = found.setdefault(row["graph"], {})
            column.setdefault(row["method"], {})[int(row["seed"])] = row["test"]
    order = [*GRAPHS]
    place = {name: order.index(name) if name in order else len(order) for name in found}
    return {name: found[name] for name in sorted(found, key=place.__getitem__)}


def gaps(column: Column, ours: str, wanted: Callable[[str], bool]) -> Gap | None:
    """Ours next to the best of the wanted peers; None if there is none."""
    rival = best_peer(column, wanted)
    if rival is None or ours not in column:
        return None
    return Gap(column[ours], column[rival])


def _title(name: str) -> str:
    if name in OURS:
        return OURS_TITLE[name]
    peer = PEERS[name]
    return f"{peer.title}, judged edges" if peer.is_judged else peer.title


def _table(by_graph: dict[str, Column], *, markdown: bool) -> list[str]:
    known = {name for column in by_graph.values() for name in column}
    marked = {
        (graph, best_peer(column, wanted))
        for graph, column in by_graph.items()
        for wanted in (on_all_edges, on_judged_edges)
    }

    def cell(graph: str, name: str) -> str:
        text = percent(list(by_graph[graph].get(name, {}).values()))
        if (graph, name) not in marked:
            return text
        return f"**{text}**" if markdown else f"{text} *"

    table = [["method", *by_graph]]
    for name in METHODS:
        if name in known:
            table.append([_title(name), *(cell(graph, name) for graph in by_graph)])
    for name in OURS:
        for rival, wanted in RIVALS.items():
            found = [gaps(column, name, wanted) for column in by_graph.values()]
            if any(found):
                cells = ["" if gap is None else str(gap) for gap in found]
                table.append([f"{_title(name)} − {rival}", *cells])
    return aligned(table, markdown=markdown)


def _summary(by_graph: dict[str, Column], ours: str, noise: str) -> list[str]:
    """How often ours is close, ahead, and behind an MLP."""

    def count(rival: str, holds: Callable[[Gap], bool]) -> str:
        found = {
            graph: gap
            for graph, column in by_graph.items()
            if (gap := gaps(column, ours, RIVALS[rival])) is not None
        }
        held = [graph for graph, gap in found.items() if holds(gap)]
        missed = ", ".join(graph for graph in found if graph not in held)
        return f"{len(held)} of {len(found)} graphs" + (
            f"; not {missed}" if missed else ""
        )

    close = "within 0.5 points or one standard error, or above"
    lines = []
    for rival in ("best peer", "best strong peer"):
        lines += [
            f"{close}, next to the {rival}: " + count(rival, lambda gap: gap.is_close),
            f"above the {rival}: " + count(rival, lambda gap: gap.mean > 0),
        ]
    lines.append(
        "not below the best MLP by more than one standard error: "
        + count("best MLP", lambda gap: gap.mean >= -gap.error)
    )
    if noise != CLEAN:
        lines.append(
            "within 0.5 points of the best peer on judged edges, or above: "
            + count("best peer on judged edges", lambda gap: gap.mean >= -CLOSE)
        )
    return [f"- {_title(ours)}, {line}." for line in lines]


def text(rows: list[dict[str, Any]], *, markdown: bool = False) -> str:
    """A table for each noise, and a summary of each."""
    lines = []
    titles = {CLEAN: "Clean graphs", NOISE[1]: "Twice the edges, half of them wrong"}
    for noise in NOISE:
        by_graph = columns(rows, noise)
        if not by_graph:
            continue
        runs = [len(s) for column in by_graph.values() for s in column.values()]
        few, many = min(runs), max(runs)
        number = f"{many}" if few == many else f"{few} to {many}"
        lines += heading(titles[noise], markdown=markdown)
        lines += [
            "Test accuracy in per cent (minesweeper: ROC AUC), mean ± standard",
            f"deviation of {number} seeds. Marked: the best peer on all edges, and the",
            "best on judged edges. Differences: points, ± their standard error.",
            "",
            *_table(by_graph, markdown=markdown),
            "",
        ]
        known = {name for column in by_graph.values() for name in column}
        for name in OURS:
            if name in known:
                lines += [*_summary(by_graph, name, noise), ""]
    return "\n".join(lines)
