"""FinishedRun: a run folder, opened for all that is done after `fit`."""

import dataclasses
import functools
from pathlib import Path
from typing import Any, cast

from sgat.config import Config
from sgat.data.configured import Loaded, load_configured
from sgat.data.files import Encoding
from sgat.data.node_data import NodeData, fingerprint
from sgat.explaining.removal import Removal, RemovalPoint
from sgat.models import SGAT
from sgat.report.content import Content
from sgat.runs.folder import RunFolder
from sgat.runs.stored_graph import StoredGraph
from sgat.runs.summary import read_summary
from sgat.scored import ScoredGraph, score_graphs
from sgat.training import files
from sgat.training.files import damage, parsed, read_json, read_parquet
from sgat.training.saved_model import SavedModel, read_model


@dataclasses.dataclass(frozen=True, eq=False)
class FinishedRun:
    """A run of `sgat fit` that came to its end; large parts are read when asked for."""

    folder: RunFolder
    saved: SavedModel  # its model and settings
    summary: dict[str, Any]  # its numbers
    root: str | Path | None = None  # of the named data sets; None: that of the run
    given: Loaded | None = None  # its data, where it has been read; None reads it

    @property
    def config(self) -> Config:
        """Its settings."""
        return self.saved.config

    @property
    def model(self) -> SGAT:
        """The trained network, in evaluation mode, on the CPU."""
        return self.saved.model

    @functools.cached_property
    def loaded(self) -> Loaded:
        """The data it was trained on, read again; an error if it has changed."""
        config, loaded = self.config, self.given
        if loaded is None:
            seed = config.train.seed
            loaded = load_configured(config.data, root=self.root, seed=seed)
        if fingerprint(loaded.graphs) != self.summary.get("data_sha256"):
            raise ValueError(
                f"The data has changed since {self.folder.summary} was written; start a"
                " new run."
            )
        return loaded

    @property
    def graphs(self) -> list[NodeData]:
        """One graph, or several in the inductive setting."""
        return self.loaded.graphs

    @functools.cached_property
    def scored(self) -> list[ScoredGraph]:
        """The data with its scores, which are read where the folder has them."""
        graphs = self.graphs
        if not self._stored.is_complete:
            return score_graphs(self.model, graphs)
        with damage(self.folder.nodes):
            return self._stored.read_onto(graphs)

    def stored(self) -> list[ScoredGraph]:
        """The graphs with their scores from the folder alone: without features.

        See `StoredGraph.read`; where the folder does not have all scores, `scored`.
        """
        if not self._stored.is_complete:
            return self.scored
        with damage(self.folder.nodes):
            return self._stored.read()

    @property
    def nodes(self) -> Any:
        """The table of its nodes, a `pyarrow.Table`."""
        return self._stored.nodes

    @property
    def edges(self) -> Any:
        """The table of its edges with their scores."""
        files.check_scores(self.folder.edges)
        return read_parquet(self.folder.edges)

    def content(self) -> Content:
        """All that a report is made of, from the folder alone."""
        path, snapshots = self.folder.removal, self.folder.snapshots
        stored = read_json(path)
        return Content(
            config=self.config,
            summary=self.summary,
            history=files.read_records(self.folder.metrics),
            scored=self.stored(),
            removal=parsed(stored, Removal, path),
            curve=parsed(stored.get("curve"), list[RemovalPoint], path),
            snapshots=snapshots if snapshots.exists() else None,
        )

    @property
    def _stored(self) -> StoredGraph:
        return StoredGraph(self.folder, self.saved, self.summary)


def open_run(
    path: str | Path, *, root: str | Path | None = None, loaded: Loaded | None = None
) -> FinishedRun:
    """Open a finished run of `sgat fit`; data that is not `loaded` is read if needed.

    `root` is the folder of the named data sets; None takes that of the run.
    """
    folder = finished_folder(path)
    saved, summary = read_model(folder.path), read_summary(folder)
    return FinishedRun(folder, saved, summary, root, loaded)


def scored_again(path: Path) -> list[ScoredGraph]:
    """The data of a run folder, read again for a caller who may give data instead."""
    instead = "give the data to this call."
    if not RunFolder(path).is_finished:
        raise ValueError(
            f"{path} was written by `save` and does not hold its training data;"
            f" {instead}"
        )
    try:
        return open_run(path).scored
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error.filename}, of the data of {path}, is gone; {instead}"
        ) from None


def stored_encoding(folder: RunFolder) -> Encoding:
    """How the columns of the user's files became features."""
    path = folder.encoding
    return cast(Encoding, parsed(read_json(path), Encoding, path))


def finished_folder(path: str | Path) -> RunFolder:
    """The folder of a finished run of `sgat fit`; nothing in it is read."""
    folder = RunFolder(Path(path))
    if not folder.path.is_dir():
        raise ValueError(f"There is no run folder {path}; make one with `sgat fit`.")
    folder.check_plain()
    if folder.is_under_way:
        raise ValueError(
            f"The run in {path} is not finished; go on with it by"
            f" `sgat fit --resume --out {path}`."
        )
    if not folder.is_finished:
        read_model(folder.path)  # says what is missing in a folder of something else
        raise ValueError(
            f"{path} was written by `SGATClassifier.save` and does not say where its"
            " data is; use `sgat.load` in Python, or train with `sgat fit`."
        )
    return folder
