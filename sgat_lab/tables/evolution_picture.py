"""The graph over the epochs of training, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sgat.data.node_data import NodeData
from sgat.explaining.pictures import COLOURS, DASHES, edge_key, node_key, save_picture
from sgat.gates import Gates
from sgat.training.result import Snapshot


def draw_evolution(
    data: NodeData, snapshots: Sequence[Snapshot], gates: Gates, path: Path
) -> None:
    """Draw the graph at up to six epochs side by side, as PNG.

    A line has a half for each direction: the half at node i is the message that reaches
    i, solid while it is kept and dashed once it is removed. A node has the colour of
    the class the model predicts at that epoch; squares are the nodes whose label is
    known to it, a red ring marks a wrong prediction.
    """
    from matplotlib.figure import Figure

    places = np.linspace(0, len(snapshots) - 1, min(len(snapshots), 6)).round()
    chosen = [snapshots[place] for place in places.astype(int)]
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.6 * rows + 0.5), layout="constrained")
    scene = _Scene(data, gates)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels:
        panel.set_axis_off()
    for panel, snapshot in zip(panels, chosen, strict=False):
        scene.draw(panel, snapshot)
    figure.legend(
        handles=_legend(data), loc="outside lower center", ncols=6, frameon=False
    )
    save_picture(figure, path)


class _Scene:
    """What stays the same in every panel: positions, lines, shapes of the nodes."""

    def __init__(self, data: NodeData, gates: Gates) -> None:
        import networkx as nx

        self.data, self.gates = data, gates
        drawing = nx.Graph()
        drawing.add_nodes_from(range(data.num_nodes))
        drawing.add_edges_from(data.graph.edge_index.T.tolist())
        layout = nx.kamada_kawai_layout(drawing)
        self.position = np.array([layout[node] for node in range(data.num_nodes)])
        target = self.position[data.graph.dst.numpy()]
        middle = (target + self.position[data.graph.src.numpy()]) / 2
        self.halves = np.stack([middle, target], axis=1)  # [E, 2, 2]
        self.labelled = data.train.numpy()

    def draw(self, panel: Any, snapshot: Snapshot) -> None:
        """Draw one epoch."""
        from matplotlib.collections import LineCollection

        kept = self.gates.is_kept(snapshot.log_alpha).numpy()
        panel.add_collection(
            LineCollection(
                self.halves[~kept],
                colors="#9a9a9a",
                linestyles=[DASHES],
                linewidths=0.8,
            )
        )
        panel.add_collection(
            LineCollection(self.halves[kept], colors="#222222", linewidths=1.3)
        )
        predicted = snapshot.logits.argmax(dim=1).numpy()
        truth = self.data.y.numpy()
        wrong = (predicted != truth) & (truth >= 0)
        colour = np.array(COLOURS)[predicted % len(COLOURS)]
        for shown, marker, size in (
            (~self.labelled, "o", 90),
            (self.labelled, "s", 150),
        ):
            panel.scatter(
                *self.position[shown].T,
                s=size,
                marker=marker,
                c=colour[shown],
                edgecolors=np.where(wrong[shown], "#d62728", "#ffffff"),
                linewidths=np.where(wrong[shown], 2.4, 0.8),
                zorder=2,
            )
        if self.data.num_nodes <= 60:
            for node, place in enumerate(self.position):
                panel.annotate(
                    str(node), place, ha="center", va="center", fontsize=6.5, zorder=3
                )
        removed = 1 - kept.mean() if len(kept) else 0.0
        others = ~self.labelled & (truth >= 0)
        right = int((~wrong)[others].sum())
        panel.set_title(
            f"epoch {snapshot.epoch}: {removed:.0%} of edges removed,"
            f" {right}/{int(others.sum())} right",
            fontsize=10,
        )
        panel.margins(0.06)


def _legend(data: NodeData) -> list[Any]:
    named = zip(data.classes, COLOURS, strict=False)
    ring = {"markeredgecolor": "#d62728", "markeredgewidth": 2}
    return [
        *(node_key(str(name), marker="o", color=colour) for name, colour in named),
        node_key("label given", marker="s", color="#777777"),
        node_key("wrong", marker="o", color="#ffffff", **ring),
        edge_key("kept", "#333333"),
        edge_key("removed", "#9a9a9a", linestyle=DASHES),
    ]
