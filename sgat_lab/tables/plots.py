"""The look of the figures: one style, readable in black and white.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgat.data.files.atomic import replacing

STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#1f4e79", "marker": "o", "linestyle": "-"},
    {"color": "#c55a11", "marker": "s", "linestyle": "--"},
    {"color": "#548235", "marker": "^", "linestyle": ":"},
    {"color": "#7f6000", "marker": "D", "linestyle": "-."},
    {"color": "#6f3d86", "marker": "v", "linestyle": (0, (4, 1, 1, 1))},
    {"color": "#404040", "marker": "x", "linestyle": (0, (1, 1))},
    {"color": "#a61c3c", "marker": "P", "linestyle": (0, (6, 2))},
    {"color": "#0b7a75", "marker": "<", "linestyle": (0, (8, 2, 2, 2))},
    {"color": "#000000", "marker": "*", "linestyle": (0, (12, 1))},
    {"color": "#c71585", "marker": "h", "linestyle": (0, (2, 2))},
)
"""A colour, a marker and a dash pattern each, told apart by any of the three."""


@contextmanager
def panels(path: Path, titles: Sequence[str], *, height: float = 3.3) -> Iterator[Any]:
    """Panels side by side, written as PNG at the end of the block.

    Args:
        path: The file.
        titles: One title per panel.
        height: Of the figure, in inches.
    """
    from matplotlib.figure import Figure

    number = max(len(titles), 1)
    figure = Figure(figsize=(4.0 * number, height), layout="constrained")
    axes = figure.subplots(1, number, squeeze=False)[0]
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=11)
        axis.grid(True, color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    yield axes
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def legend_below(axes: Sequence[Any]) -> None:
    """One legend for all panels, below them, where it hides no line."""
    lines = axes[0].get_legend_handles_labels()
    axes[0].figure.legend(
        *lines,
        loc="outside lower center",
        ncols=2 * len(axes),
        frameon=False,
        fontsize=8,
    )


def band(
    axis: Any,
    x: Sequence[float],
    runs: Sequence[Sequence[float]],
    style: int,
    label: str,
    *,
    marks: bool = True,
) -> None:
    """The mean over runs as a line, one standard deviation around it as a band.

    Args:
        axis: Where to draw.
        x: Positions.
        runs: One sequence of values per run.
        style: Number of the style.
        label: For the legend.
        marks: Draw a marker at every position.
    """
    import numpy as np

    values = np.asarray(runs, dtype=float)
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=min(len(values) - 1, 1))
    look = dict(STYLES[style % len(STYLES)])
    if not marks:
        look["marker"] = ""
    axis.plot(x, mean, label=label, linewidth=1.6, markersize=4.5, **look)
    axis.fill_between(
        x, mean - spread, mean + spread, color=look["color"], alpha=0.15, linewidth=0
    )
