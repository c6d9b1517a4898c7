"""The graph as a still picture: for paper, and where there is no WebGL."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIZE = 1000
COLOURS = 8
SHAPES = 5


def draw_graph(
    place: Array, src: Array, dst: Array, kept: Array, kind: Array, degree: Array
) -> str:
    """Draw kept edges as solid, removed edges as dashed lines, nodes by their class.

    Args:
        place: Positions from -1 to 1, [N, 2].
        src: Source of each edge, [E].
        dst: Target of each edge, [E].
        kept: Whether it is kept, [E].
        kind: Class of each node by number, -1 for none, [N].
        degree: Number of neighbours of each node, [N].

    Returns:
        An SVG element; colours come from the style sheet, shapes tell them apart.
    """
    at = np.rint((place * (0.96, -0.96) + 1) * SIZE / 2).astype(int)
    radius = node_radius(degree, len(place)) * SIZE / 700
    parts = [
        f'<svg class="still" viewBox="0 0 {SIZE} {SIZE}" role="img"'
        ' aria-label="The graph: kept edges solid, removed edges dashed">'
    ]
    for name, chosen in (("removed", ~kept), ("kept", kept)):
        # Both directions of an edge are one line on paper.
        ends = np.sort(np.stack([src[chosen], dst[chosen]]), axis=0)
        ends = np.unique(ends, axis=1)
        steps = [
            f"M{at[a, 0]} {at[a, 1]}L{at[b, 0]} {at[b, 1]}" for a, b in ends.T.tolist()
        ]
        parts.append(f'<path class="{name}" d="{"".join(steps)}"/>')
    for number in np.unique(kind).tolist():
        nodes = np.flatnonzero(kind == number)
        marks = "".join(
            shape_path(number, at[n, 0], at[n, 1], radius[n]) for n in nodes
        )
        colour = "none" if number < 0 else f"c{number % COLOURS}"
        parts.append(f'<path class="node {colour}" d="{marks}"/>')
    return "".join([*parts, "</svg>"])


def node_radius(degree: Array, num_nodes: int) -> Array:
    """Pixels of a node in the view by its degree; smaller where there are many."""
    least = float(np.clip(26 / np.sqrt(max(num_nodes, 1)), 1.3, 5))
    grown = np.sqrt(degree / max(float(degree.max(initial=0)), 1.0))
    return np.asarray(least * (1 + 2.2 * grown))


def shape_path(number: int, x: float, y: float, r: float) -> str:
    """The outline of a node of a class: shapes take turns, so do colours."""
    shape = 0 if number < 0 else number % SHAPES
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
    s, h = 1.15 * r, 0.62 * r * flip
    return f"M{x} {y - 2 * h:.1f}L{x + s:.1f} {y + h:.1f}H{x - s:.1f}z"
