"""Cases: a graph, clean or with wrong edges, with the split of a seed."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.data.files.atomic import replacing
from sgat.data.node_data import NodeData
from sgat.judging import judge
from sgat_lab.attacks.graphs import CLEAN, noisy_graph
from sgat_lab.unseen.scaling import ScaledFeatures
from sgat_lab.unseen.scores import Metric

GRAPHS: dict[str, int] = {
    **{"cora": 5, "citeseer": 5, "pubmed": 44, "computers": 246, "photo": 119},
    **{"actor": 27, "texas": 1, "wisconsin": 1, "cornell": 1},
    **{"acm": 13, "dblp": 53, "flickr": 240, "minesweeper": 39},
    **{"chameleon_filtered": 9},
}
"""The graphs, and their edges in thousands, each counted once."""
USUAL_SIZE = 50
"""Edges in thousands of a graph that is none of these, for want of a better guess."""
NOISE = (CLEAN, "cross-class")
RATE = 1.0
"""Edges to add, as a share of those there are."""
UNEVEN = ("minesweeper",)
"""Graphs with two uneven classes: ROC AUC, and no edges between classes to add."""


class CaseName(NamedTuple):
    """A graph and its noise."""

    graph: str
    noise: str

    @property
    def metric(self) -> Metric:
        """The score that chooses and that is shown."""
        return "roc_auc" if self.graph in UNEVEN else "accuracy"


def case_names(graphs: list[str], noise: list[str]) -> list[CaseName]:
    """The graphs in each noise that they can have."""
    return [
        CaseName(graph, kind)
        for kind in noise
        for graph in graphs
        if kind == CLEAN or graph not in UNEVEN
    ]


def judged_edges(data: NodeData, *, seed: int) -> Tensor:
    """The edges with P(real) > 0.5, by the labels of training nodes alone, [E] bool."""
    found = judge(data.graph, data.x, data.y, train=data.train, seed=seed)
    return found.probability > 0.5


class Cases:
    """The data of one graph with its noise by seed, forgotten with the next graph.

    Args:
        root: Folder of the data sets.
        device: Where features are put.
        folder: Folder for the verdicts of the judge, so that processes side by side
            judge each graph once; None keeps them in memory. It holds for one version
            of the judge.
    """

    def __init__(
        self,
        *,
        root: str | None = None,
        device: torch.device | str = "cpu",
        folder: Path | None = None,
    ) -> None:
        self.root, self.device, self.folder = root, device, folder
        self._name: CaseName | None = None
        self._data: dict[int, NodeData] = {}
        self._kept: dict[int, Tensor] = {}
        self._features: ScaledFeatures | None = None

    def _turn_to(self, name: CaseName) -> None:
        if name != self._name:
            self._name, self._features = name, None
            self._data, self._kept = {}, {}

    def data(self, name: CaseName, seed: int, *, is_judged: bool = False) -> NodeData:
        """The graph with the split and the noise of a seed, or its judged edges."""
        self._turn_to(name)
        if seed not in self._data:
            graph, kind = name
            rate = 0.0 if kind == CLEAN else RATE
            found = noisy_graph(graph, kind, rate, seed=seed, root=self.root)
            self._data[seed] = found.data
        data = self._data[seed]
        return data.select_edges(self.kept(name, seed)) if is_judged else data

    def features(self, name: CaseName, seed: int) -> ScaledFeatures:
        """The features, the same for every seed."""
        data = self.data(name, seed)
        if self._features is None:
            self._features = ScaledFeatures(data.x, self.device)
        return self._features

    def kept(self, name: CaseName, seed: int) -> Tensor:
        """The edges that the judge keeps, [E] bool."""
        data = self.data(name, seed)
        if seed not in self._kept:
            if self.folder is None:
                self._kept[seed] = judged_edges(data, seed=seed)
            else:
                self._kept[seed] = self._stored(data, name, seed)
        return self._kept[seed]

    def _stored(self, data: NodeData, name: CaseName, seed: int) -> Tensor:
        """The verdict of the file; the first process to ask writes it."""
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name.graph}-{name.noise}-{seed}.npy"
        with (self.folder / f"{path.stem}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                kept = judged_edges(data, seed=seed).numpy()
                with replacing(path) as temporary, temporary.open("wb") as file:
                    np.save(file, kept)
        found = torch.from_numpy(np.load(path))
        if len(found) != data.graph.num_edges:
            raise ValueError(
                f"`judged` must be a folder of verdicts on these graphs, but {path} is"
                f" on {len(found)} edges, not {data.graph.num_edges}."
            )
        return found
