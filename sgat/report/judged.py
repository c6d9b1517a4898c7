"""The judge's answer on a page: in words, as charts, and the edges to look at first."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgat.data.files.atomic import write_text
from sgat.judging.judged_edges import JudgedEdges
from sgat.judging.promise import USUAL, Removed
from sgat.judging.verdict import REASONS
from sgat.report.charts import Mark, Series, histogram, line_chart
from sgat.report.page import assemble, json_block
from sgat.report.sections import Card
from sgat.scored import ScoredGraph

Array = np.ndarray[Any, Any]

MOST_SUSPECTS = 200
LEVELS = np.linspace(0, 1, 101)
"""Probabilities up to which edges may go."""
SHOWN_LEVELS = (5, *range(10, 100, 10))
"""Places in LEVELS that have a row in the table."""


class JudgedPart(NamedTuple):
    """The judged edges of one graph."""

    name: str
    ids: Array  # of the nodes, [N]
    src: Array  # number of a node, [E]
    dst: Array  # number of a node, [E]
    probability: Array  # that the edge is real, [E]
    is_removed: Array  # [E] bool
    reason: Array | None = None  # place in REASONS, [E]; None if it was not stored


class Suspect(NamedTuple):
    """An edge to look at; its two directions are one."""

    graph: str
    src: Any
    dst: Any
    probability: float
    is_removed: bool
    why: str | None


class Level(NamedTuple):
    """Edges up to a probability, and the expected numbers among them."""

    limit: float
    number: int
    right: float
    wrong: float


@dataclasses.dataclass(frozen=True)
class JudgedSection:
    """The answer of the judge, in numbers and charts."""

    every: Level  # all edges
    suspicious: Level  # those that are not more likely real than wrong
    removed: Level  # those that go
    levels: list[Level]
    cards: list[Card]
    suspects: list[Suspect]  # the edges least likely real, in order
    has_several: bool  # graphs


def judged_section(parts: Sequence[JudgedPart]) -> JudgedSection | None:
    """The section on judged edges; None without edges."""
    probability = np.concatenate([part.probability for part in parts])
    is_removed = np.concatenate([part.is_removed for part in parts])
    if not len(probability):
        return None
    gone = probability[is_removed]
    limit = float(gone.max(initial=-1))
    right = float(gone.sum(dtype=np.float64))
    removed = Level(limit, len(gone), right, len(gone) - right)
    mark = Mark(limit, f"up to {limit:.2f} go") if len(gone) else None
    place = np.searchsorted(LEVELS, probability)
    count = np.bincount(place, minlength=len(LEVELS)).cumsum()
    sums = np.bincount(place, probability, len(LEVELS)).cumsum()
    columns = LEVELS.round(2), count, sums, count - sums
    levels = list(map(Level, *(column.tolist() for column in columns)))
    every = levels[-1]
    edges = LEVELS[::5]
    sides = {"stays": probability[~is_removed], "goes": gone}
    spread = histogram(
        "judged",
        "Distribution of the probability that an edge is real",
        edges.tolist(),
        [(name, np.histogram(p, edges)[0].tolist()) for name, p in sides.items()],
        x_title="probability that the edge is real",
        y_title="edges",
        mark=mark,
    )
    found = [level.wrong / every.wrong if every.wrong else 1.0 for level in levels]
    among = [level.right / level.number if level.number else None for level in levels]
    trade = line_chart(
        "trade",
        "Wrong edges found, and right ones among those that go, by probability",
        [level.limit for level in levels],
        [Series("wrong edges found", found), Series("right, of those that go", among)],
        x_title="edges up to this probability go",
        y_title="expected share",
        y_unit="share",
        with_zero=True,
        mark=mark,
    )
    return JudgedSection(
        every=every,
        suspicious=levels[int(np.searchsorted(LEVELS, USUAL))],
        removed=removed,
        levels=[levels[place] for place in SHOWN_LEVELS],
        cards=[
            Card(spread, "How likely edges are real", "P(real) of each, by the judge."),
            Card(trade, "What is found, at what cost", "If edges up to there go."),
        ],
        suspects=_suspects(parts),
        has_several=len(parts) > 1,
    )


def _suspects(parts: Sequence[JudgedPart]) -> list[Suspect]:
    found: dict[Any, Suspect] = {}
    for number, part in enumerate(parts):
        # Twice as many as are shown, since both directions of an edge may be there.
        size = min(2 * MOST_SUSPECTS, len(part.probability))
        last = np.partition(part.probability, size - 1)[size - 1] if size else -1
        near = np.flatnonzero(part.probability <= last)
        order = np.argsort(part.probability[near], kind="stable")[:size]
        for edge in near[order].tolist():
            ends = [int(part.src[edge]), int(part.dst[edge])]
            src, dst = part.ids[ends].tolist()
            real, goes = float(part.probability[edge]), bool(part.is_removed[edge])
            why = None if part.reason is None else REASONS[part.reason[edge]]
            suspect = Suspect(part.name, src, dst, real, goes, why)
            found.setdefault((number, *sorted(ends)), suspect)
    return sorted(found.values(), key=lambda edge: edge.probability)[:MOST_SUSPECTS]


def run_section(scored: Sequence[ScoredGraph]) -> JudgedSection | None:
    """The section on the edges of a run, which stores no reasons."""
    parts = []
    for part in scored:
        graph, edges = part.data.graph, part.edges
        columns = graph.src, graph.dst, edges.probability, ~edges.kept
        arrays = (column.numpy() for column in columns)
        parts.append(JudgedPart(part.data.name, part.data.ids, *arrays))
    return judged_section(parts)


def write_judged(judged: JudgedEdges, removed: Removed, why: str, path: Path) -> None:
    """Write a page on judged edges, in full or not at all; `why` edges go, in words."""
    data, graph, stays = judged.data, judged.data.graph, ~judged.is_loop
    columns = graph.src, graph.dst, judged.edge_probability, judged.edge_reason
    given = (graph.to_input(column, loop=0) for column in columns)
    src, dst, real, reason = (column[stays].numpy() for column in given)
    gone = removed.mask[stays].numpy()
    part = JudgedPart(data.name, data.ids, src, dst, real, gone, reason)
    section = judged_section([part])
    assert section is not None
    charts = json_block("charts", {c.chart.key: c.chart.data for c in section.cards})
    head: dict[str, Any] = {"title": data.name, "nodes": data.num_nodes, "why": why}
    write_text(path, assemble("judged.html", judged=section, data=charts, **head))
