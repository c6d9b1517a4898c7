"""What the pictures share: colours, shapes, legends, names, and the file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from sgat.data.files.atomic import replacing

COLOURS = (
    *("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#eeca3b"),
    *("#72b7b2", "#e45756", "#9d755d", "#bab0ac", "#ff9da6"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "h", "<")
"""Shapes of the classes, so that nobody needs the colours."""
DASHES = (0, (3, 3))
LONGEST = 18
"""Characters of an id that fit beside a node."""


def node_key(label: str, **style: Any) -> Any:
    """A node in a legend; `style` is that of `Line2D`."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", markersize=9, label=label, **style)


def edge_key(label: str, color: str, **style: Any) -> Any:
    """An edge in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, label=label, **style)


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure as PNG or SVG, by its suffix, in full or not at all."""
    format = path.suffix.lower().removeprefix(".")
    with replacing(path) as temporary, warnings.catch_warnings():
        # A letter the font does not have is drawn as a box, and that is all.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(temporary, format=format, dpi=150)


def short(value: Any, longest: int = LONGEST) -> str:
    """An id as one line of printable text, cut if it is long."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"
