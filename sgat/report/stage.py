"""The HTML around the graph view: controls, legend, and a picture for paper."""

from __future__ import annotations

from string import Template
from typing import Any

from sgat.data.node_data import NodeData
from sgat.report.graph_view import GraphView
from sgat.report.markup import escape, name
from sgat.report.page import asset
from sgat.report.picture import COLOURS, draw_graph, shape_path
from sgat.scored import ScoredGraph

DIRECTIONS = (
    "Where both directions of an edge are there, the half at a node is the message that"
    " reaches it; other lines get thicker towards the node that receives the message."
)
MOST_LEGEND = 40
"""Classes in the legend; colours and shapes come back after these."""


def stage(scored: ScoredGraph, view: GraphView) -> str:
    """Everything around and below the drawing of one graph of the run."""
    data = scored.data
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in view.notes)
    both = "" if view.payload["symmetric"] else DIRECTIONS
    return Template(asset("view.html")).substitute(
        notes=notes,
        colours=_colour_choice(data, view.payload),
        legend=_legend(data),
        picture=_picture(scored, view),
        key=f"A bold outline marks a wrong prediction. {both}",
    )


def _colour_choice(data: NodeData, payload: dict[str, Any]) -> str:
    choices = (("prediction", "prediction"), ("label", "label"))
    radios = "".join(
        f'<label class="check"><input type="radio" name="colour-by" value="{value}"'
        f"{' checked' if place == 0 else ''}> {text}</label>"
        for place, (value, text) in enumerate(choices)
    )
    if not data.is_multilabel:
        return radios
    shown = data.classes[: payload["labelColumns"]]
    options = "".join(
        f'<option value="{k}">{escape(str(text)[:60])}</option>'
        for k, text in enumerate(shown)
    )
    return (
        f'{radios} <label for="label-column">of</label>'
        f'<select id="label-column">{options}</select>'
    )


def _legend(data: NodeData) -> str:
    names = ("without it", "with it") if data.is_multilabel else data.classes
    items = []
    for number_, text in enumerate(names[:MOST_LEGEND]):
        items.append(
            f'<button type="button" aria-pressed="false" data-class="{number_}">'
            f"{_mark(number_)}{name(text)}</button>"
        )
    if len(names) > MOST_LEGEND:
        items.append(f"<span>and {len(names) - MOST_LEGEND:,} more classes</span>")
    return "".join(items)


def _mark(number_: int) -> str:
    path = shape_path(number_, 8, 8, 5.2)
    return (
        '<svg viewBox="0 0 16 16" aria-hidden="true">'
        f'<path class="shape c{number_ % COLOURS}" d="{path}"/></svg>'
    )


def _picture(scored: ScoredGraph, view: GraphView) -> str:
    if view.place is None:
        return (
            '<p class="still">The graph is too large to print; open this page in a'
            " browser with WebGL to look at it node by node.</p>"
        )
    data, kind = scored.data, scored.prediction
    if data.is_multilabel:
        kind = kind[:, 0].long()
        wrong = kind != data.y[:, 0]
    else:
        wrong = (kind != data.y) & (data.y >= 0)
    edges = data.graph.src, data.graph.dst, scored.edges.kept
    src, dst, kept = (part.numpy() for part in edges)
    ids = range(data.num_nodes) if data.node_ids is None else data.node_ids
    return draw_graph(view.place, (src, dst, kept), (kind.numpy(), wrong.numpy()), ids)
