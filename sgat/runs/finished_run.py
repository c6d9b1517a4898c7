"""FinishedRun: a run folder with its data at hand, for all that is done after `fit`."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from sgat.config import Config
from sgat.data.configured import Loaded, load_configured
from sgat.data.node_data import NodeData, fingerprint
from sgat.models import SGAT
from sgat.runs.folder import RunFolder
from sgat.runs.saved_model import load
from sgat.scored import EdgeScores, edge_scores

if TYPE_CHECKING:
    from sgat.estimator import SGATClassifier


@dataclasses.dataclass(frozen=True, eq=False)
class FinishedRun:
    """A run of `sgat fit` that came to its end, and the data it was trained on.

    Attributes:
        folder: Its files.
        config: Its settings.
        model: The trained network, in evaluation mode, on the CPU.
        classes: Names of the classes.
        summary: The numbers of the run.
        loaded: The data, read again from where the run had it.
    """

    folder: RunFolder
    config: Config
    model: SGAT
    classes: tuple[Any, ...]
    summary: dict[str, Any]
    loaded: Loaded

    @property
    def graphs(self) -> list[NodeData]:
        """One graph, or several in the inductive setting."""
        return self.loaded.graphs

    @functools.cached_property
    def scores(self) -> list[EdgeScores]:
        """What the model says about the edges of each graph."""
        return edge_scores(self.model, self.graphs)

    @functools.cached_property
    def logits(self) -> list[Tensor]:
        """Class scores of the nodes of each graph, [N, C]."""
        with torch.no_grad():
            return [self.model(data.x, data.graph) for data in self.graphs]


def open_run(path: str | Path, *, root: str | None = None) -> FinishedRun:
    """Read a run and the data it was trained on.

    Args:
        path: The run folder.
        root: Folder of the named data sets; None takes that of the run.

    Raises:
        ValueError: If there is no finished run, or its data is gone or has changed.
    """
    folder, classifier = open_model(path)
    summary = _read_summary(folder.summary)
    config = classifier.config_
    loaded = load_configured(config.data, root=root, seed=config.train.seed)
    if fingerprint(loaded.graphs) != summary.get("data_sha256"):
        raise ValueError(
            f"The data has changed since {folder.summary} was written; start a new run."
        )
    classes = tuple(classifier.header_["classes"])
    model = classifier.model_
    return FinishedRun(folder, config, model, classes, summary, loaded)


def open_model(path: str | Path) -> tuple[RunFolder, SGATClassifier]:
    """Read what a run has learned; the data it was trained on need not be there.

    Raises:
        ValueError: If there is no finished run of `sgat fit`.
    """
    folder = RunFolder(Path(path))
    if not folder.path.is_dir():
        raise ValueError(f"There is no run folder {path}; make one with `sgat fit`.")
    if folder.is_under_way:
        raise ValueError(
            f"The run in {path} is not finished; go on with it by"
            f" `sgat fit --resume --out {path}`."
        )
    classifier = load(folder.path)
    if not folder.is_finished:
        raise ValueError(
            f"{path} was written by `SGATClassifier.save` and does not say where its"
            " data is; use `sgat.load` in Python, or train with `sgat fit`."
        )
    return folder, classifier


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    if not isinstance(summary, dict):
        raise ValueError(f"{path} is damaged: it holds no table.")
    return summary
