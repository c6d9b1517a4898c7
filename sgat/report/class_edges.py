"""The whole graph by classes: how many edges join two classes, and how many stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sgat.report.confusion import Array, merge_rare
from sgat.report.markup import name
from sgat.scored import ScoredGraph

SHADES = 7
EDGES_AT_ONCE = 1 << 20
"""Edges whose classes are in memory together."""


def count_class_edges(scored: Sequence[ScoredGraph]) -> tuple[Array, Array]:
    """Count edges by the predicted classes of their ends.

    Returns:
        All edges and kept edges from class (row) to class (column), [C, C] each.
    """
    size = scored[0].data.num_classes
    counts = np.zeros((2, size * size), dtype=np.int64)
    for part in scored:
        kind, graph, kept = part.prediction, part.data.graph, part.edges.kept
        columns = graph.src, graph.dst, kept
        parts = (column.split(EDGES_AT_ONCE) for column in columns)
        for src, dst, stays in zip(*parts, strict=True):
            pair = kind[src] * size + kind[dst]
            counts[0] += np.bincount(pair, minlength=size * size)
            counts[1] += np.bincount(pair[stays], minlength=size * size)
    return counts[0].reshape(size, size), counts[1].reshape(size, size)


def class_edges_card(scored: Sequence[ScoredGraph]) -> str:
    """The share of edges that stays between any two classes; nothing without edges."""
    counted = count_class_edges(scored)
    classes, (every, kept) = merge_rare(scored[0].data.classes, counted)
    if not every.sum():
        return ""
    names = ["<em>others</em>" if text is None else name(text, 18) for text in classes]
    head = "".join(f'<th scope="col">{text}</th>' for text in names)
    rows = "".join(
        f'<tr><th scope="row">{text}</th>'
        + "".join(map(_cell, every[row].tolist(), kept[row].tolist()))
        + "</tr>"
        for row, text in enumerate(names)
    )
    return (
        '<div class="card wide"><h3>Edges between classes</h3><p>Share of the edges'
        " from a node of the row's class to one of the column's that is kept, with the"
        " number of edges; classes as the model predicts them.</p>"
        '<div class="scroll"><table class="matrix"><thead><tr><th>from \\ to</th>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _cell(edges: int, kept: int) -> str:
    if not edges:
        return '<td class="h0">–</td>'
    share = kept / edges
    return (
        f'<td class="h{round(SHADES * share)}" title="{kept:,} of {edges:,} kept">'
        f"{share:.0%}<small>{edges:,}</small></td>"
    )
