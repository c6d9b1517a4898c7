"""The graph in the page: data of the interactive view, and a still picture.

Arrays travel as base64 of their bytes, little-endian. Edges stay in the order of the
graph (by target), so that positions tell their targets. A graph of at most
`MOST_LINES` lines is drawn whole, at places computed here. A larger one is looked at
node by node, and of a very large one only part of the edges is in the page. The picture
is for paper, and for browsers without WebGL.

Tested by tests/report/test_graph_view.py and tests/report/test_picture.py.
"""

import base64
import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sgat.data.files.binary_format import read_arrays
from sgat.data.node_data import NodeData
from sgat.report.layout import layout_nodes
from sgat.report.page import escape
from sgat.scored import ScoredGraph

Array = np.ndarray[Any, Any]

MOST_LINES = 20_000
"""Lines, and nodes, up to which a graph is drawn whole."""
MOST_EDGES = 500_000
"""Edges that are in the page at most."""
MOST_NODES = 200_000
"""Nodes that are in the page at most."""
MOST_ID_BYTES = 5_000_000
"""Bytes of all node ids beyond which long ones are cut off."""
LEAST_ID = 8
"""Characters of an id that are never cut off."""
MOST_SNAPSHOT_BYTES = 4_000_000
MOST_LABEL_BYTES = 1_500_000
REMOVED_SPRING = 0.35
"""Pull of a removed edge in the layout, against 1 of a kept one."""
SIZE = 1000
COLOURS = 8
SHAPES = 5
FEW_EDGES = 1_000
"""Edges up to which lines are thick."""
FEW_NODES = 120
"""Nodes up to which ids are written beside them."""
LONGEST = 16


@dataclasses.dataclass(frozen=True, eq=False)
class GraphView:
    """The data of the view, and what the static picture is drawn from."""

    payload: dict[str, Any]  # for the script of the page
    place: Array | None  # positions, [N, 2]; None where the graph is not drawn whole
    notes: tuple[str, ...]  # on what was left out, one sentence each


def build_view(
    scored: ScoredGraph,
    threshold: float,
    *,
    is_symmetric: bool,
    uses_edges: bool,
    snapshots: Path | None = None,
    most_lines: int = MOST_LINES,
    most_edges: int = MOST_EDGES,
    most_nodes: int = MOST_NODES,
) -> GraphView:
    """Gather what the view needs of one graph; kept edges have log α > `threshold`.

    Both directions of an edge have one score where `is_symmetric`, and `uses_edges`
    says whether the model passes messages over the edges it keeps.
    """
    data, scores = scored.data, scored.edges
    graph = data.graph
    num_lines = -(-graph.num_edges // 2) if is_symmetric else graph.num_edges
    is_whole = max(num_lines, data.num_nodes) <= most_lines
    if not is_whole:
        # Rather fewer nodes than ids that cannot be told apart.
        most_nodes = min(most_nodes, max(MOST_ID_BYTES // _id_size(data), most_lines))
    node, edge = _part(data, most_edges, most_nodes)
    src, dst = graph.src.numpy(), graph.dst.numpy()
    number = np.full(data.num_nodes, -1, dtype=np.int64)
    number[node] = np.arange(len(node))
    degree = np.bincount(number[dst[edge]], minlength=len(node))
    pointer = np.concatenate([[0], degree.cumsum()])
    left_out = graph.row_ptr.diff().numpy()[node] - degree
    notes, place = [], None
    if is_whole:
        kept = scores.kept.numpy()
        pull = np.where(kept | ~kept.any(), 1.0, REMOVED_SPRING)
        place = layout_nodes(src, dst, data.num_nodes, pull)
    else:
        notes.append(
            f"This graph has {data.num_nodes:,} nodes and {graph.num_edges:,} edges,"
            " too many to read as one drawing. The view shows one node with its"
            " neighbourhood at a time, beginning with the one that has the most edges."
        )
    if len(node) < data.num_nodes:
        notes.append(
            f"{graph.num_edges - len(edge):,} of its edges are left out of this page,"
            f" {len(edge):,} are in it: all edges into nodes drawn at random, with"
            f" {len(node):,} of the {data.num_nodes:,} nodes at their ends. For any"
            " other node use `sgat explain RUN NODE`."
        )
    ids, longest = _ids(data, node)
    if longest is not None:
        notes.append(f"Ids of nodes are cut off after {longest} characters.")
    payload = {
        "whole": is_whole,
        "symmetric": is_symmetric,
        "usesEdges": uses_edges,
        "threshold": threshold,
        "classes": [str(name) for name in data.classes],
        "multilabel": data.is_multilabel,
        "nodes": len(node),
        "edges": len(edge),
        "allNodes": data.num_nodes,
        "allEdges": graph.num_edges,
        "ids": ids,
        "longestId": longest,
        "split": packed(data.role.numpy()[node] + 1, "u1"),
        "pointer": packed(pointer, "i4"),
        "leftOut": packed(left_out, "i4") if left_out.any() else None,
        "src": packed(number[src[edge]], "i4"),
        "score": packed(scores.log_alpha.numpy()[edge], "f4"),
        "x": None if place is None else packed(place[:, 0], "f4"),
        "y": None if place is None else packed(place[:, 1], "f4"),
        **_classes(scored, node),
    }
    if snapshots is not None and is_whole:
        found, note = _snapshots(snapshots, data)
        payload["snapshots"] = found
        notes += note
    return GraphView(payload, place, tuple(notes))


def packed(value: Array, kind: str) -> str:
    """The bytes of an array, as text."""
    return base64.b64encode(value.astype(f"<{kind}").tobytes()).decode("ascii")


def _part(data: NodeData, most_edges: int, most_nodes: int) -> tuple[Array, Array]:
    """Nodes and edges that go into the page, ascending: all, or a seeded sample.

    Of the nodes that are drawn, all edges that end at them are there, and the nodes
    those come from.
    """
    graph = data.graph
    if graph.num_edges <= most_edges and data.num_nodes <= most_nodes:
        return np.arange(data.num_nodes), np.arange(graph.num_edges)
    degree = graph.row_ptr.diff().numpy()
    order = np.random.default_rng(0).permutation(data.num_nodes)
    order = order[degree[order] <= most_edges]
    # The node with the most neighbours, where the view starts, comes first.
    is_hub = degree[order] == degree[order].max(initial=0)
    order = np.concatenate([order[is_hub], order[~is_hub]])[:most_nodes]
    size = int(np.searchsorted(degree[order].cumsum(), most_edges, side="right"))
    while True:
        is_chosen = np.zeros(data.num_nodes, dtype=bool)
        is_chosen[order[:size]] = True
        edge = np.flatnonzero(is_chosen[graph.dst.numpy()])
        ends = np.union1d(order[:size], graph.src.numpy()[edge])
        if len(ends) <= most_nodes or size <= 1:
            return ends, edge
        size = max(int(0.95 * size * most_nodes / len(ends)), 1)


def _id_size(data: NodeData) -> int:
    """Bytes of an id in the page, by the first thousands of them."""
    if data.node_ids is None or not data.num_nodes:
        return 1
    some = data.node_ids[:: max(data.num_nodes // 5_000, 1)].tolist()
    return -(-sum(len(json.dumps(str(value))) for value in some) // len(some))


def _ids(data: NodeData, node: Array) -> tuple[list[str] | None, int | None]:
    """The user's ids, None for 0 … N-1; and where they were cut off, if they were."""
    if data.node_ids is None and len(node) == data.num_nodes:
        return None, None
    ids = [str(value) for value in data.ids[node].tolist()]
    if sum(len(json.dumps(text)) for text in ids) <= MOST_ID_BYTES:
        return ids, None
    longest = max(MOST_ID_BYTES // len(ids), LEAST_ID)
    cut = [i if len(i) <= longest else i[: longest - 1] + "…" for i in ids]
    return cut, longest


def _classes(scored: ScoredGraph, node: Array) -> dict[str, Any]:
    """Labels and predictions; with several labels, one byte per node and label."""
    data, prediction = scored.data, scored.prediction.numpy()[node]
    if data.is_multilabel:
        true = (data.y > 0).numpy()[node]
        most = max(MOST_LABEL_BYTES // max(len(node), 1), 1)
        both = true[:, :most] + 2 * prediction[:, :most].astype(np.uint8)
        return {"labels": packed(both, "u1"), "labelColumns": both.shape[1]}
    probability = scored.probability.amax(dim=1).numpy()[node]
    return {
        "label": packed(data.y.numpy()[node], "i2"),
        "prediction": packed(prediction, "i2"),
        "confidence": packed(probability, "f4"),
    }


def _snapshots(path: Path, data: NodeData) -> tuple[dict[str, Any] | None, list[str]]:
    """Scores and predictions over the epochs, thinned out if they are too large."""
    arrays, names = read_arrays(path), ("epoch", "log_alpha", "logits")
    if not all(n in arrays and arrays[n].dtype.kind in "if" for n in names):
        raise ValueError(f"{path} is damaged: it must have the numbers {names}.")
    epoch, log_alpha, logits = (arrays[name] for name in names)
    is_same = (
        epoch.ndim == 1
        and log_alpha.shape == (len(epoch), data.graph.num_edges)
        and (logits.shape == (len(epoch), data.num_nodes, data.num_classes))
    )
    if not is_same:
        raise ValueError(f"{path} does not belong to the data of this run.")
    size = 4 * data.graph.num_edges + 2 * data.num_nodes
    most = max(MOST_SNAPSHOT_BYTES // max(size, 1), 2)
    notes = []
    if len(epoch) > most:
        notes.append(f"{most} of the {len(epoch)} snapshots are in this page.")
    place = np.linspace(0, len(epoch) - 1, min(len(epoch), most)).round().astype(int)
    found: dict[str, Any] = {
        "epoch": epoch[place].tolist(),
        "score": [packed(log_alpha[p], "f4") for p in place],
    }
    if not data.is_multilabel:
        found["prediction"] = [packed(logits[p].argmax(axis=1), "i2") for p in place]
    return found, notes


def still_picture(scored: ScoredGraph, place: Array) -> str:
    """The graph with its nodes at these places; with several labels, by the first."""
    data, kind = scored.data, scored.prediction
    if data.is_multilabel:
        kind = kind[:, 0].long()
        wrong = kind != data.y[:, 0]
    else:
        wrong = (kind != data.y) & (data.y >= 0)
    edges = data.graph.src, data.graph.dst, scored.edges.kept
    src, dst, kept = (part.numpy() for part in edges)
    return draw_graph(place, (src, dst, kept), (kind.numpy(), wrong.numpy()), data.ids)


def draw_graph(
    place: Array,
    edges: tuple[Array, Array, Array],
    nodes: tuple[Array, Array],
    names: Iterable[Any],
) -> str:
    """Draw kept edges as solid, removed edges as dashed lines, nodes by their class.

    Where both directions of an edge are there, each is the half of the line at its
    target. Positions go from -1 to 1, [N, 2]; where there are few nodes, their names
    stand beside them. Colours come from the style sheet, shapes tell them apart.
    """
    (src, dst, kept), (kind, wrong) = edges, nodes  # [E] and [N] each
    size = len(place)
    at = np.rint((place * (0.95, -0.95) + 1) * SIZE / 2).astype(int)
    ends = np.concatenate([src, dst])
    radius = node_radius(np.bincount(ends, minlength=size), size) * SIZE / 700
    few = " few" if len(src) <= FEW_EDGES else ""
    parts = [
        f'<svg class="still{few}" viewBox="0 0 {SIZE} {SIZE}" role="img"'
        ' aria-label="The graph: kept edges solid, removed edges dashed">'
    ]
    wide, far = src.astype(np.int64), dst.astype(np.int64)
    has_reverse = np.isin(far * size + wide, wide * size + far)[:, None]
    start = np.where(has_reverse, (at[src] + at[dst]) / 2, at[src])
    for name, chosen in (("removed", ~kept), ("kept", kept)):
        stretch = np.concatenate([start[chosen], at[dst[chosen]]], axis=1)
        steps = [f"M{a:g} {b:g}L{c:g} {d:g}" for a, b, c, d in stretch.tolist()]
        parts.append(f'<path class="{name}" d="{"".join(steps)}"/>')
    for number in np.unique(kind).tolist():
        for style, chosen in (("node", ~wrong), ("node wrong", wrong)):
            marks = "".join(
                shape_path(number, at[n, 0], at[n, 1], radius[n])
                for n in np.flatnonzero((kind == number) & chosen)
            )
            colour = f"c{number % COLOURS}"
            parts.append(f'<path class="{style} {colour}" d="{marks}"/>')
    if size <= FEW_NODES:
        for (x, y), r, text in zip(at.tolist(), radius.tolist(), names, strict=True):
            short = escape(str(text)[:LONGEST])
            parts.append(f'<text x="{x + r + 4:.0f}" y="{y + 5}">{short}</text>')
    return "".join([*parts, "</svg>"])


def node_radius(degree: Array, num_nodes: int) -> Array:
    """Pixels of a node in the view by its degree; smaller where there are many."""
    least = float(np.clip(110 / np.sqrt(max(num_nodes, 1)), 1.7, 5.5))
    grown = np.sqrt(degree / max(float(degree.max(initial=0)), 1.0))
    return np.asarray(least * (1 + 2.2 * grown))


def shape_path(number: int, x: float, y: float, r: float) -> str:
    """The outline of a node of a class: shapes take turns, so do colours."""
    shape = number % SHAPES
    if shape == 0:
        return f"M{x - r:.1f} {y}a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0" + (
            f"a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0z"
        )
    if shape == 1:
        s = 0.88 * r
        return f"M{x - s:.1f} {y - s:.1f}h{2 * s:.1f}v{2 * s:.1f}h{-2 * s:.1f}z"
    if shape == 2:
        s = 1.25 * r
        return f"M{x} {y - s:.1f}l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"
    flip = 1 if shape == 3 else -1
    s, h = 1.18 * r, 0.68 * r * flip
    return f"M{x} {y - 2 * h:.1f}L{x + s:.1f} {y + h:.1f}H{x - s:.1f}z"
