"""write_report(): one HTML file on a run."""

import dataclasses
from pathlib import Path
from typing import Any

from sgat.data.files.atomic import replacing
from sgat.explaining.node_explanation import chosen_graph
from sgat.explaining.removal import Removal, RemovalPoint
from sgat.report.confusion import class_edges, confusion, label_scores
from sgat.report.content import Content, answer, lead, tiles
from sgat.report.graph_view import (
    COLOURS,
    GraphView,
    build_view,
    shape_path,
    still_picture,
)
from sgat.report.judged import run_section
from sgat.report.page import SIGN, assemble, json_block
from sgat.report.sections import degree_card, score_cards, training_cards

MOST_LEGEND = 40
"""Classes in the legend; colours and shapes come back after these."""


@dataclasses.dataclass(frozen=True)
class Report:
    """A report that was written, in numbers."""

    path: Path
    bytes: int  # its size
    graph: str  # name of the graph that is drawn
    whole: bool  # whether it is drawn whole
    edges: int  # of that graph
    edges_in_page: int  # of these
    curve: tuple[RemovalPoint, ...]
    removal: Removal
    notes: tuple[str, ...]  # on what was left out of the page, one sentence each

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, for JSON."""
        return dataclasses.asdict(self) | {"path": str(self.path)}


def write_report(content: Content, path: Path, *, graph: str | None = None) -> Report:
    """Write the report of a run, in full or not at all.

    Of several graphs it draws the one named `graph`; without a name, the one with
    snapshots, else the first that is tested on.
    """
    place = _chosen(content, graph)
    data = content.scored[place].data
    with replacing(path) as temporary:
        view = _view(content, place)
        temporary.write_bytes(_page(content, place, view).encode("utf-8"))
        size = temporary.stat().st_size
    return Report(
        path=path,
        bytes=size,
        graph=data.name,
        whole=view.payload["whole"],
        edges=data.graph.num_edges,
        edges_in_page=view.payload["edges"],
        curve=tuple(content.curve),
        removal=content.removal,
        notes=view.notes,
    )


def _chosen(content: Content, graph: str | None) -> int:
    if graph is not None:
        return content.scored.index(chosen_graph(content.scored, graph))
    if content.snapshots is not None:
        return 0
    tested = (n for n, part in enumerate(content.scored) if bool(part.data.test.any()))
    return next(tested, 0)


def _view(content: Content, place: int) -> GraphView:
    view = build_view(
        content.scored[place],
        content.summary["threshold"],
        is_symmetric=bool(content.config.model.symmetric),
        uses_edges=content.summary["reach"] > 0,
        snapshots=content.snapshots if place == 0 else None,
    )
    view.payload["oddsLine"] = content.summary["odds_line"]
    is_judged = content.summary["noise_share"] is not None
    view.payload["odds"] = "P(real)" if is_judged else "P(open)"
    number = len(content.scored)
    if number == 1:
        return view
    note = (
        f"This is {content.scored[place].data.name}, one of the {number} graphs of the"
        " run; `sgat report --graph NAME` draws another. All numbers below are of all"
        " graphs together."
    )
    return dataclasses.replace(view, notes=(note, *view.notes))


def _page(content: Content, place: int, view: GraphView) -> str:
    summary, scored, title = content.summary, content.scored, content.score_title
    several, part = content.is_multilabel, scored[place]
    training = training_cards(content.history, summary["best_epoch"], title)
    told = {contrast.name: contrast.kept for contrast in content.removal.contrasts}
    has_features = told.get("feature_cosine") is not None
    is_judged = summary["noise_share"] is not None
    found_wrong = run_section(scored, has_features) if is_judged else None
    edges = [part.edges for part in scored]
    scores = score_cards(edges, content.curve, title, is_judged=found_wrong is not None)
    degrees = degree_card(content.removal)
    found = found_wrong.cards if found_wrong else []
    charts = [card.chart for card in (*training, *scores, *found, degrees)]
    shown = ("removed", "validation", "test")
    blocks = {
        "graph-data": view.payload,
        "removal-curve": [{n: getattr(p, n) for n in shown} for p in content.curve],
        "charts": {chart.key: chart.data for chart in charts},
    }
    labels, judged = label_scores(scored) if several else ([], "")
    together = f"All {len(scored)} graphs together."
    return assemble(
        "page.html",
        has_view=True,
        sign=SIGN,
        summary=summary,
        settings=content.config.to_toml(),
        lead=lead(content),
        words=answer(content),
        tiles=tiles(content),
        view=view,
        picture=None if view.place is None else still_picture(part, view.place),
        classes=part.data.classes,
        is_multilabel=several,
        legend=("without it", "with it") if several else part.data.classes,
        most_legend=MOST_LEGEND,
        shape=shape_path,
        colours=COLOURS,
        training=training,
        score_title=title,
        labels=labels,
        judged=judged,
        confusion=None if several else confusion(scored),
        scores=scores,
        answer=found_wrong,
        has_directions=part.data.has_directions,
        scope=together if len(scored) > 1 else "Loops left out.",
        removal=content.removal,
        degrees=degrees,
        class_edges=None if several else class_edges(scored),
        data="".join(json_block(key, value) for key, value in blocks.items()),
    )
