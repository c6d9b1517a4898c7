"""Pictures of a node and its neighbours."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from sgat.data.files.atomic import replacing
from sgat.explaining.node_explanation import NodeExplanation

COLOURS = (
    *("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#eeca3b"),
    *("#72b7b2", "#e45756", "#9d755d", "#bab0ac", "#ff9da6"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "h", "<")
"""Shapes of the classes, so that nobody needs the colours."""
DASHES = (0, (3, 3))
SHORT, LONGEST = 4, 18
"""Characters of an id that fit into a node, and beside one."""
MOST_DRAWN = 24
"""Most kept, and most removed, neighbours in a picture."""
MOST_LEVEL = 14
"""Neighbours whose ids can be written without turning them."""


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


def draw_node(explanation: NodeExplanation, figure: Any) -> Any:
    """Draw a node with the kept and removed edges into it; returns the axes.

    Neighbours stand clockwise from the top, the kept first, by attention, then the
    removed, further out, by log α. A line is as wide as the attention, and on it stands
    the probability of the edge. Shape and colour show the predicted class, a heavy ring
    a wrong prediction.
    """
    table = explanation.table
    table = table.assign(share=table.get("attention", table["gate"]))
    kept, removed = table[table["kept"]], table[~table["kept"]]
    shown = [kept.head(MOST_DRAWN), removed.head(MOST_DRAWN)]
    style = _Style(explanation)
    figure.set(size_inches=(8, 7.4), layout_engine="constrained")
    panel = figure.subplots()
    panel.set_axis_off()
    panel.set_aspect("equal")
    count = len(shown[0]) + len(shown[1])
    angles = np.pi / 2 - 2 * np.pi * np.arange(count) / max(count, 1)
    radius = np.repeat([1.0, 1.25], [len(shown[0]), len(shown[1])])
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) * radius[:, None]
    rows = [*shown[0].itertuples(), *shown[1].itertuples()]
    largest = max((row.share for row in rows), default=0.0) or 1.0
    # Lines that meet in the middle must leave room for each other.
    scale = float(np.clip(60 / max(count, 1), 1.5, 5)) / largest
    turns, names = count > MOST_LEVEL, [short(row.neighbour) for row in rows]
    for row, place, angle, name in zip(rows, places, angles, names, strict=True):
        _line(panel, place, row, scale)
        style.point(panel, place, row.prediction, row.label, 110)
        _name(panel, place, angle, name, turns=turns)
    verdict = explanation.verdict
    style.point(panel, (0, 0), verdict.prediction, explanation.label, 420)
    box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}
    text: dict[str, Any] = {"fontsize": 9, "weight": "bold", "parse_math": False}
    text |= {"ha": "center", "va": "center", "zorder": 4, "bbox": box}
    own = short(explanation.node)
    # A long name would hide its node.
    below = (0, -19 if len(own) > SHORT else 0)
    panel.annotate(own, (0, 0), below, textcoords="offset points", **text)
    # A letter is a twentieth of the way to a neighbour wide.
    room = radius.max(initial=1.0) + 0.15 + max(map(len, names), default=0) / 20
    height = max(room if turns else room / 1.1, 1.6)
    panel.set_xlim(-1.1 * height, 1.1 * height)
    panel.set_ylim(-height, height)
    panel.set_title(_title(explanation, shown), fontsize=11, parse_math=False)
    how = {"loc": "outside lower center", "ncols": 4, "frameon": False}
    how["title"] = "on each line: the probability of the edge"
    figure.legend(handles=style.legend(), **how)
    return panel


class _Style:
    """Shape and colour of each predicted class."""

    def __init__(self, explanation: NodeExplanation) -> None:
        self.is_multilabel = isinstance(explanation.verdict.prediction, list)
        # Sets of labels are too many for shapes: they all look the same.
        names = [] if self.is_multilabel else list(explanation.verdict.probabilities)
        self.number = {name: number for number, name in enumerate(names)}
        self.seen: set[int] = set()
        self.kept = "kept, wider is more" if explanation.reach else "kept, not used"

    def look(self, number: int) -> dict[str, Any]:
        """Shape and colour of a class by its number."""
        shape, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
        return {"marker": shape, "color": colour}

    def point(
        self, panel: Any, place: Any, prediction: Any, label: Any, size: float
    ) -> None:
        number = 0 if self.is_multilabel else self.number[prediction]
        self.seen.add(number)
        wrong = not self.is_multilabel and label is not None and label != prediction
        ring = {"edgecolors": "#000000", "linewidths": 3.0 if wrong else 0.8}
        panel.scatter(*place, s=size, **self.look(number), **ring, zorder=3)

    def legend(self) -> list[Any]:
        named = {number: name for name, number in self.number.items()}
        keys = [
            node_key(
                f"predicted {short(named[number])}".replace("$", r"\$"),
                markeredgecolor="#000",
                **self.look(number),
            )
            for number in sorted(self.seen & named.keys())
        ]
        if not self.is_multilabel:
            ring = {"markeredgecolor": "#000", "markeredgewidth": 3}
            keys.append(node_key("wrong", marker="o", markerfacecolor="#fff", **ring))
        removed = edge_key("removed", "#888888", ls=DASHES)
        return [*keys, edge_key(self.kept, "#222222", lw=3), removed]


def _line(panel: Any, place: Any, row: Any, scale: float) -> None:
    """The message from a neighbour to the node in the middle."""
    drawn: dict[str, Any] = {"color": "#888888", "lw": 1.0, "ls": DASHES}
    if row.kept:
        drawn = {"color": "#222222", "lw": 0.6 + scale * row.share}
    panel.plot([place[0], 0], [place[1], 0], zorder=1, **drawn)
    slope = np.degrees(np.arctan(place[1] / (place[0] or 1e-9)))
    text = {"fontsize": 7, "ha": "center", "va": "center", "rotation": slope}
    box = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    panel.annotate(f"{row.probability:.0%}", 0.75 * place, bbox=box, zorder=2, **text)


def _name(panel: Any, place: Any, angle: float, text: str, *, turns: bool) -> None:
    """The id, outwards of its node and readable from the left."""
    is_left = np.cos(angle) < -1e-9
    is_upright = not turns and abs(np.cos(angle)) < 0.3
    degrees = np.degrees(angle) + (180 if is_left else 0)
    side = "right" if is_left else "left"
    above = "bottom" if np.sin(angle) > 0 else "top"
    panel.annotate(
        text,
        place * (1 + 0.085 / np.linalg.norm(place)),
        rotation=degrees if turns else 0,
        rotation_mode="anchor",
        ha="center" if is_upright else side,
        va=above if is_upright else "center",
        fontsize=8 if turns else 10,
        parse_math=False,
    )


def _title(explanation: NodeExplanation, shown: list[Any]) -> str:
    kept = explanation.num_kept
    numbers = {"kept": kept, "removed": len(explanation.table) - kept}
    counts = []
    for (what, number), drawn in zip(numbers.items(), map(len, shown), strict=True):
        part = f", {drawn} drawn" if drawn < number else ""
        counts.append(f"{number} {what}{part}")
    if not explanation.reach:
        counts.append("uses no edges")
    elif explanation.own_share is not None:
        counts.append(f"own share {explanation.own_share:.0%}")
    verdict = explanation.verdict
    said = verdict.prediction
    if isinstance(said, list):
        said = ", ".join(map(str, said)) or "no label"
    share = "" if verdict.confidence is None else f" ({verdict.confidence:.0%})"
    return (
        f"{short(explanation.node, 40)}: predicted {short(said, 60)}{share}\n"
        f"{'; '.join(counts)}"
    )
