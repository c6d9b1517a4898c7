"""The graph as a still picture: for paper, and where there is no WebGL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sgat.report.markup import escape
from sgat.scored import ScoredGraph

Array = np.ndarray[Any, Any]

SIZE = 1000
COLOURS = 8
SHAPES = 5
FEW_EDGES = 1_000
"""Edges up to which lines are thick."""
FEW_NODES = 120
"""Nodes up to which ids are written beside them."""
LONGEST = 16


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
