"""What was removed from a graph, drawn: degrees before and after, kept and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sgat.explaining.drawing import save_picture
from sgat.explaining.removal import Removal

DARK, LIGHT = "#1f3b57", "#f2a65a"
"""Far apart in black and white, too; hatches and markers say the same."""
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13)}
"""Where a legend is."""


def draw_removal(removal: Removal, path: Path, title: str) -> None:
    """Draw degrees before and after, and kept against removed edges, as PNG or SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    _degrees(left, removal)
    _contrasts(right, removal)
    before, after = removal.before.edges, removal.after.edges
    share = (before - after) / max(before, 1)
    figure.suptitle(
        f"{title}: {before - after:,} of {before:,} edges removed ({share:.0%})",
        parse_math=False,
    )
    save_picture(figure, path)


def _degrees(panel: Any, removal: Removal) -> None:
    """Share of the nodes with at least so many in-edges; degree 0 is in the legend."""
    for side, name, colour, marker in (
        (removal.before, "before", LIGHT, "o"),
        (removal.after, "after", DARK, "s"),
    ):
        nodes = max(int(side.degrees.sum()), 1)
        at_least = side.degrees[::-1].cumsum()[::-1] / nodes
        degree = np.flatnonzero(side.degrees)
        degree = degree[degree > 0]
        none = int(side.degrees[0])
        panel.plot(
            degree,
            at_least[degree],
            color=colour,
            marker=marker,
            markersize=4,
            lw=1.4,
            label=f"{name}: {none:,} of {nodes:,} nodes have no edge into them",
        )
    if any(len(side.degrees) > 1 for side in (removal.before, removal.after)):
        panel.set_xscale("log")
        panel.set_yscale("log")
    panel.set_xlabel("in-degree d")
    panel.set_ylabel("share of the nodes with at least d edges into them")
    panel.legend(frameon=False, **BELOW)
    panel.spines[["top", "right"]].set_visible(False)


def _contrasts(panel: Any, removal: Removal) -> None:
    """A pair of bars per property, each pair on a scale of its own."""
    from matplotlib.patches import Patch

    known = [c for c in removal.contrasts if (c.kept, c.removed) != (None, None)]
    looks: list[dict[str, Any]] = [
        {"facecolor": DARK, "edgecolor": "#222222"},
        {"facecolor": LIGHT, "edgecolor": "#222222", "hatch": "///"},
    ]
    for row, contrast in enumerate(known):
        pair = (contrast.kept, contrast.removed)
        scale = max((abs(value) for value in pair if value is not None), default=0) or 1
        for place, value, look in zip(
            (row - 0.19, row + 0.19), pair, looks, strict=True
        ):
            width = 0.0 if value is None else abs(value) / scale
            text = "none" if value is None else f"{value:.3g}"
            if value is not None:
                panel.barh(place, width, 0.36, **look)
            panel.annotate(text, (width + 0.015, place), va="center", fontsize=8)
    panel.set_yticks(range(len(known)), [_title(contrast) for contrast in known])
    panel.invert_yaxis()
    panel.set_xlim(0, 1.16)
    panel.set_xticks([])
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    names = ("kept edges", "removed edges")
    keys = [Patch(label=name, **look) for name, look in zip(names, looks, strict=True)]
    panel.legend(handles=keys, ncols=2, frameon=False, **BELOW)


def _title(contrast: Any) -> str:
    text = contrast.title.replace(" (", "\n(")
    return f"{text}\n(a sample)" if contrast.is_sampled else text
