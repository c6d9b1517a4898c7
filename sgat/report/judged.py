"""The judge's answer on a page: in words, as charts, and the edges to look at first."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse

from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData
from sgat.judging.promise import USUAL
from sgat.judging.reasons import REASONS, find_reasons
from sgat.ops.blocks import in_threads
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
SHARES = LEVELS[::5]
"""Bounds of the bars that show how probabilities are distributed."""


class JudgedPart(NamedTuple):
    """The judged edges of one graph."""

    name: str
    ids: Array  # of the nodes, [N]
    src: Array  # number of a node, [E]
    dst: Array  # number of a node, [E]
    probability: Array  # that the edge is real, [E]
    is_removed: Array  # [E] bool
    reason: Array  # place in the phrases of the tally, [E]


class Suspect(NamedTuple):
    """An edge to look at; its two directions are one."""

    graph: str
    src: Any
    dst: Any
    probability: float
    is_removed: bool
    why: str


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


class JudgedTally:
    """What the section needs of judged edges, which may come in batches."""

    def __init__(self, phrases: Sequence[str] = REASONS) -> None:
        self.phrases = phrases
        self.number, self.right = np.zeros((2, len(LEVELS)))
        self.spread = {name: np.zeros(len(SHARES) - 1) for name in ("stays", "goes")}
        self.limit, self.right_gone = -1.0, 0.0
        self.worst: dict[int, JudgedPart] = {}

    def add(self, part: JudgedPart, graph: int = 0) -> None:
        """Count more edges of a graph, which is known by its number."""

        def rows_of(rows: slice) -> JudgedPart:
            return JudgedPart(*part[:2], *(column[rows] for column in part[2:]))

        found = in_threads(lambda rows: _tallied(rows_of(rows)), len(part.probability))
        for number, right, stays, goes, limit, right_gone, worst in found:
            self.number += number
            self.right += right
            self.spread["stays"] += stays
            self.spread["goes"] += goes
            self.limit = max(self.limit, limit)
            self.right_gone += right_gone
            if graph in self.worst:
                pairs = zip(self.worst[graph][2:], worst[2:], strict=True)
                both = JudgedPart(*part[:2], *map(np.concatenate, pairs))
                worst = _lowest(both, 2 * MOST_SUSPECTS)
            self.worst[graph] = worst

    def section(self) -> JudgedSection | None:
        """The section on all these edges; None without any."""
        if not self.number.any():
            return None
        gone, number = self.spread["goes"].sum(), self.number.cumsum()
        removed = Level(self.limit, int(gone), self.right_gone, gone - self.right_gone)
        mark = Mark(self.limit, f"up to {self.limit:.2f} go") if gone else None
        sums = self.right.cumsum()
        columns = LEVELS.round(2), number.astype(int), sums, number - sums
        levels = list(map(Level, *(column.tolist() for column in columns)))
        every = levels[-1]
        spread = histogram(
            "judged",
            "Distribution of the probability that an edge is real",
            SHARES.tolist(),
            [(name, each.astype(int).tolist()) for name, each in self.spread.items()],
            x_title="probability that the edge is real",
            y_title="edges",
            mark=mark,
        )
        found = [level.wrong / every.wrong if every.wrong else 1.0 for level in levels]
        among = [
            level.right / level.number if level.number else None for level in levels
        ]
        trade = line_chart(
            "trade",
            "Wrong edges found, and right ones among those that go, by probability",
            [level.limit for level in levels],
            [
                Series("wrong edges found", found),
                Series("right, of those that go", among),
            ],
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
                Card(
                    spread,
                    "How likely edges are real",
                    "P(real) of each, by the judge.",
                ),
                Card(trade, "What is found, at what cost", "If edges up to there go."),
            ],
            suspects=_suspects(self.worst, self.phrases),
            has_several=len(self.worst) > 1,
        )


def _tallied(part: JudgedPart) -> tuple[Any, ...]:
    """What a tally adds up, of some edges."""
    p, goes = part.probability, part.is_removed
    place = np.searchsorted(LEVELS, p)
    size = len(LEVELS)
    return (
        np.bincount(place, minlength=size),
        np.bincount(place, p, size),
        *(np.histogram(some, SHARES)[0] for some in (p[~goes], p[goes])),
        float(p[goes].max(initial=-1.0)),
        float(p[goes].sum(dtype=np.float64)),
        # Twice as many as are shown, since both directions of an edge may be there.
        _lowest(part, 2 * MOST_SUSPECTS),
    )


def _lowest(part: JudgedPart, size: int) -> JudgedPart:
    """So many edges with the lowest probabilities, the first of equal ones first."""
    size = min(size, len(part.probability))
    last = np.partition(part.probability, size - 1)[size - 1] if size else -1
    near = np.flatnonzero(part.probability <= last)
    order = near[np.argsort(part.probability[near], kind="stable")[:size]]
    return JudgedPart(*part[:2], *(column[order] for column in part[2:]))


def _suspects(worst: dict[int, JudgedPart], phrases: Sequence[str]) -> list[Suspect]:
    found: dict[Any, Suspect] = {}
    for graph, part in worst.items():
        for edge in range(len(part.probability)):
            ends = [int(part.src[edge]), int(part.dst[edge])]
            src, dst = part.ids[ends].tolist()
            real, goes = float(part.probability[edge]), bool(part.is_removed[edge])
            why = phrases[part.reason[edge]]
            suspect = Suspect(part.name, src, dst, real, goes, why)
            found.setdefault((graph, *sorted(ends)), suspect)
    return sorted(found.values(), key=lambda edge: edge.probability)[:MOST_SUSPECTS]


def run_section(
    scored: Sequence[ScoredGraph], has_features: bool
) -> JudgedSection | None:
    """The section on the edges of a run; without directions each counts once."""
    tally = JudgedTally()
    for number, part in enumerate(scored):
        graph, edges = part.data.graph, part.edges
        if not graph.num_edges:
            continue
        columns = graph.src, graph.dst, edges.probability, ~edges.kept
        arrays = [column.numpy() for column in (*columns, torch.zeros_like(graph.src))]
        if not part.data.has_directions:
            once = arrays[0] < arrays[1]
            arrays = [column[once] for column in arrays]
        tally.add(JudgedPart(part.data.name, part.data.ids, *arrays), number)
        worst = tally.worst[number]
        why = _reasons(worst, part.data, edges.probability.numpy(), has_features)
        tally.worst[number] = worst._replace(reason=why)
    return tally.section()


def _reasons(some: JudgedPart, data: NodeData, real: Array, by_x: bool) -> Array:
    """The judge's reasons for some edges of a run, by P(real) of all, [E].

    Of edges that look real it is not known here whether their ends are alike. `by_x`
    says whether the judge had features.
    """
    ends, size = (data.graph.src.numpy(), data.graph.dst.numpy()), data.num_nodes
    is_end = np.zeros(size, bool)
    is_end[some.src] = is_end[some.dst] = True
    around = np.flatnonzero(is_end[ends[0]] | is_end[ends[1]])
    pairs = np.sort([end[around].astype(np.int64) for end in ends], axis=0)
    key, first = np.unique(pairs[0] * size + pairs[1], return_index=True)
    pairs, wrong = pairs[:, first], 1 - real[around[first]]
    near = sparse.csr_array((np.ones(len(key)), pairs), (size, size))
    near = (near + near.T).tocsr()
    low, high = np.sort([some.src, some.dst], axis=0).astype(np.int64)
    place = np.searchsorted(key, low * size + high)
    shared, unknown = np.zeros((2, len(wrong)), bool)
    shared[place] = (near[low] * near[high]).sum(axis=1) > 0
    alike = {"alike": unknown, "alike_around": unknown}
    traces = SimpleNamespace(shared=shared, has_features=by_x, **alike)
    usual = float(1 - real.mean(dtype=float))
    return np.asarray(find_reasons(wrong, traces, pairs, size, usual)[place])


def write_judged(tally: JudgedTally, data: NodeData, why: str, path: Path) -> None:
    """Write a page on judged edges, in full or not at all; `why` edges go, in words."""
    section = tally.section()
    assert section is not None
    charts = json_block("charts", {c.chart.key: c.chart.data for c in section.cards})
    head: dict[str, Any] = {"title": data.name, "nodes": data.num_nodes, "why": why}
    write_text(path, assemble("judged.html", judged=section, data=charts, **head))
