"""Draw step time against open edges from the rows of `benchmarks.sweep`.

python -m benchmarks.plot [--results benchmarks/results/sweep.csv]
    [--out docs/images/step_time.png]

One panel per kind of device, one line of SGAT per size of graph, and each peer as a
level mark over the same graph: its time does not depend on the gates. On a GPU the line
is the step replayed as a CUDA graph, and a dotted one the step launched from Python, as
the peers are. Of rows with the same setting the last is drawn. What ran out of memory
has no mark.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.measure import RESULTS

ROOT = Path(__file__).parents[1]
# Those of Okabe and Ito that stand out from white; the colour-blind tell them apart.
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#CC79A7", "#000000")
PEERS = {
    "GATv2Conv": ("^", "PyG GATv2Conv"),
    "GATConv": ("s", "PyG GATConv"),
    "GCNConv": ("D", "PyG GCNConv"),
    "torch CSR matmul": ("x", "torch CSR products"),
}

LINE = {"marker": "o", "markersize": 4, "linewidth": 2}
LAUNCHED = {**LINE, "markerfacecolor": "white", "linewidth": 1.2, "linestyle": ":"}


def last_rows(path: Path) -> pd.DataFrame:
    """Rows that were timed, the last of each setting.

    Raises:
        ValueError: If there is no such file or no such row.
    """
    if not path.exists():
        raise ValueError(f"No rows at {path.name}; run `python -m benchmarks.sweep`.")
    rows = pd.read_csv(path)
    rows = rows[rows["status"] == "ok"]
    if rows.empty:
        raise ValueError(f"{path.name} has no row that was timed; run the sweep again.")
    setting = ["device", "name", "edges", "open", "captured"]
    return rows.drop_duplicates(setting, keep="last")


def power(number: float) -> str:
    """1.1 · 10⁸ and the like, in mathematical text."""
    exponent = len(str(int(number))) - 1
    factor = number / 10**exponent
    if f"{factor:.1f}" == "10.0":
        factor, exponent = 1.0, exponent + 1
    text = f"10^{exponent}"
    return f"${text}$" if f"{factor:.1f}" == "1.0" else f"${factor:.1f}·{text}$"


def draw_panel(axes: Any, rows: pd.DataFrame, title: str) -> None:
    """Lines of SGAT and marks of the peers on one device."""
    for colour, (edges, part) in zip(COLOURS, rows.groupby("edges"), strict=False):
        ours = part[part["name"] == "SGAT"].sort_values("open_edges")
        has_replay = bool(ours["captured"].any())
        for is_replay, line in ours.groupby("captured"):
            is_main = is_replay == has_replay
            axes.plot(
                line["open_edges"],
                line["ms"],
                color=colour,
                label=power(edges) if is_main else None,
                zorder=3,
                **(LINE if is_main else LAUNCHED),
            )
        left = ours["open_edges"].min() if len(ours) else edges / 20
        for name, (marker, _) in PEERS.items():
            for level in part.loc[part["name"] == name, "ms"]:
                axes.plot(
                    [left, edges],
                    [level, level],
                    color=colour,
                    marker=marker,
                    markevery=[1],
                    markersize=4.5,
                    linewidth=0.8,
                    alpha=0.75,
                )
    axes.set(xscale="log", yscale="log", title=title, xlabel="open edges")
    axes.grid(True, which="major", color="0.9", linewidth=0.6)
    axes.legend(title="SGAT, edges of the graph", loc="upper left")


def draw(rows: pd.DataFrame, out: Path) -> None:
    """Write the figure, about 1,400 pixels wide."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    small = {"legend.fontsize": 7, "legend.title_fontsize": 7, "font.size": 8}
    devices = sorted(rows["device"].unique())  # a number of CPU threads comes first
    with plt.rc_context({**small, "axes.titlesize": 9, "legend.framealpha": 0.85}):
        figure, panels = plt.subplots(
            1, len(devices), figsize=(7, 4.2), squeeze=False, layout="constrained"
        )
        for axes, device in zip(panels[0], devices, strict=True):
            draw_panel(axes, rows[rows["device"] == device], device)
        panels[0][0].set_ylabel("training step, ms")
        marks = [
            Line2D([], [], color="0.3", marker=marker, linewidth=0.8, label=label)
            for marker, label in PEERS.values()
        ]
        if rows["captured"].any():
            label = "SGAT launched from Python"
            marks.insert(0, Line2D([], [], color="0.3", label=label, **LAUNCHED))
        figure.legend(
            handles=marks,
            loc="outside lower center",
            ncols=len(marks),
            frameon=False,
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        # Without the version of matplotlib the same rows give the same file.
        figure.savefig(out, dpi=200, metadata={"Software": None})
        plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS / "sweep.csv")
    out = ROOT / "docs" / "images" / "step_time.png"
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args(arguments)
    try:
        draw(last_rows(options.results), options.out)
    except ValueError as error:
        parser.error(str(error))
    print("drew", options.out.name)


if __name__ == "__main__":
    main()
