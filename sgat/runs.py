"""A run from settings to a folder of results: start, continue, finish."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from sgat import checkpoint
from sgat.atomic import check_place, write_text
from sgat.config import (
    Config,
    DataConfig,
    ModelConfig,
    TrainConfig,
    default_config,
    find_config,
)
from sgat.data.configured import Loaded, load_configured
from sgat.data.files import from_node_data, score_table, write_pruned
from sgat.data.files.source import format_of
from sgat.data.files.write import GRAPH_FORMATS, write_graph
from sgat.data.node_data import NodeData
from sgat.edge_scores import EdgeScores
from sgat.evolution import LARGEST_GRAPH, animate_evolution, draw_evolution
from sgat.finished_run import open_run
from sgat.models import SGAT
from sgat.recommended import MOST_JUDGED, RECOMMENDED, is_large
from sgat.run_folder import RunFolder, missing_folders
from sgat.run_results import write_results
from sgat.tables import edge_scores
from sgat.tensorboard_log import check_tensorboard, log_epochs
from sgat.train import EpochRecord, Result, Training

SECTIONS = {"model": ModelConfig, "train": TrainConfig}
FILE_OPTIONS = (
    *("label", "labels", "features", "categorical", "drop", "id", "src", "dst"),
    *("weight", "undirected", "standardise", "fill_missing", "delimiter"),
)
MOST_MISSED = 0.02
"""Difference of the kept share from the one asked for that is not worth a word."""
LEAST_GATE = 0.25
"""Mean gate of the kept edges below which they are hardly heard."""
LOADER_OPTIONS = ("normalise_features", "largest_component")
NOT_EMPTY = ("out", "split")
LISTS = ("labels", "features", "categorical", "drop")


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user asks of a run; empty entries leave a setting as it is.

    Attributes:
        name: Name of a data set.
        config: A config file or the name of a shipped one.
        data: Changes to `DataConfig`; its options are those of files.
        loader: Options of `sgat.data.load`, for a data set by name.
        model: Changes to `ModelConfig`.
        train: Changes to `TrainConfig`.
        out: The run folder.
        pruned: A file for the smaller graph.
        data_root: Folder of the named data sets.
    """

    name: str | None = None
    config: str | None = None
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    loader: dict[str, Any] = dataclasses.field(default_factory=dict)
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    train: dict[str, Any] = dataclasses.field(default_factory=dict)
    out: Path | None = None
    pruned: Path | None = None
    data_root: str | None = None

    @classmethod
    def from_options(cls, given: dict[str, Any]) -> Request:
        """Sort options given by name into the sections of the settings.

        Paths become absolute, so that a run can be resumed from any folder.
        """
        fields = {
            section: {field.name for field in dataclasses.fields(kind)}
            for section, kind in SECTIONS.items()
        }
        for key in NOT_EMPTY:
            if given.get(key) == "":
                raise ValueError(f"`--{key}` must not be empty.")
        files: dict[str, Any] = {}
        for key in FILE_OPTIONS:
            if key in given:
                is_list = key in LISTS
                files[key] = comma_list(given[key]) if is_list else given[key]
        if "split_column" in given:
            files["split"] = given["split_column"]
        data: dict[str, Any] = {}
        for key in ("edges", "nodes"):
            if key in given:
                data[key] = _absolute(given[key])
        if "split" in given:
            split = given["split"]
            data["split"] = _absolute(split) if split.endswith(".npz") else split
        if files:
            data["options"] = files
        root = given.get("data_root")
        return cls(
            name=given.get("name"),
            config=given.get("config"),
            data=data,
            loader={key: given[key] for key in LOADER_OPTIONS if key in given},
            model={k: v for k, v in given.items() if k in fields["model"]},
            train={k: v for k, v in given.items() if k in fields["train"]},
            out=Path(given["out"]) if "out" in given else None,
            pruned=Path(given["pruned"]) if "pruned" in given else None,
            data_root=None if root is None else _absolute(root),
        )

    def settings(self) -> Config:
        """The config file, else what is shipped for the data set, with the changes.

        Own files without a config file have the recommended settings.
        """
        if self.config is not None:
            config = find_config(self.config)
        elif self.name is not None:
            config = default_config(self.name)
        else:
            config = Config().replace(model=dict(RECOMMENDED))
        changes = {"data": self._data(config.data), "model": self.model}
        return config.replace(train=self.train, **changes)

    def _data(self, data: DataConfig) -> dict[str, Any]:
        """Changes to the data of a config; files replace a name, a name files."""
        asks_files = "edges" in self.data
        if asks_files and self.name is None and data.name is not None:
            data, kept = DataConfig(), {"name": None, "split": None}
        elif self.name is not None and not asks_files and data.edges is not None:
            data, kept = DataConfig(), {"edges": None, "nodes": None, "split": None}
        else:
            kept = {}
        files = self.data.get("options", {})
        loader = {**self.loader}
        if self.data_root is not None:
            loader["root"] = self.data_root
        uses_files = asks_files or data.edges is not None
        if uses_files and loader:
            option = next(iter(loader)).replace("root", "data-root").replace("_", "-")
            raise ValueError(f"`--{option}` goes with the name of a data set.")
        wanted = [key for key in ("nodes",) if key in self.data] + [*files]
        if wanted and not uses_files:
            option = "split-column" if wanted[0] == "split" else wanted[0]
            option = option.replace("_", "-")
            raise ValueError(f"`--{option}` goes with `--edges`, your own files.")
        # One of the two says what the labels are; the later word counts.
        dropped = {"label": "labels", "labels": "label"}
        replaced = {dropped[key] for key in files if key in dropped}
        options = {k: v for k, v in data.options.items() if k not in replaced}
        changes = {**kept, **self.data, "options": {**options, **files, **loader}}
        return changes if self.name is None else {**changes, "name": self.name}


def comma_list(text: str) -> list[str]:
    """The names in "a, b"; none in ""."""
    return [name for part in text.split(",") if (name := part.strip())]


def _absolute(path: str | Path) -> str:
    return str(Path(path).absolute())


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Attributes:
        summary: The numbers of the run; None if it was interrupted.
        epochs: Number of finished epochs.
        files: Names of the files in the folder.
        notes: Choices made for the user, one sentence each.
    """

    summary: dict[str, Any] | None
    epochs: int
    files: list[str]
    notes: tuple[str, ...]


def start_run(request: Request, *, overwrite: bool) -> tuple[RunFolder, Config]:
    """The folder and settings of a new run; nothing is written yet.

    Without `out` the folder is runs/NAME, or runs/NAME-2 and so on if that is taken.

    Raises:
        ValueError: If the folder holds a run, or the settings are bad.
    """
    settings = request.settings()
    if request.out is None:
        folder = RunFolder(_free_folder(settings.data))
    else:
        folder = RunFolder(request.out)
    if folder.path.exists() and not folder.path.is_dir():
        raise ValueError(f"`--out` must be a folder, got the file {folder.path}.")
    check_place(folder.path, "out")
    check_paths(folder, settings, request.pruned)
    if folder.foreign is not None:
        raise ValueError(
            f"`--out` must be a new folder or hold a run, got {folder.path}, where"
            f" {folder.foreign.name} is no part of a run and would be replaced."
        )
    if folder.is_started and not overwrite:
        raise ValueError(
            f"{folder.path} holds a run already; choose another `--out`, or go on with"
            " `--resume`, or replace it with `--overwrite`."
        )
    return folder, settings


def check_paths(folder: RunFolder, settings: Config, pruned: Path | None) -> None:
    """Make sure that no file is read and written in the same run.

    Raises:
        ValueError: If an input or the smaller graph is a file of the run folder, or
            the smaller graph is an input.
    """
    given = {key: Path(path) for key, path in settings.data.files.items()}
    if pruned is not None:
        for key, path in given.items():
            if os.path.realpath(path) == os.path.realpath(pruned) or (
                path.exists() and pruned.exists() and path.samefile(pruned)
            ):
                raise ValueError(
                    f"`--pruned` must not be the file of `--{key}`, got {pruned}."
                )
        given["pruned"] = pruned
    for key, path in given.items():
        if folder.holds(path):
            raise ValueError(
                f"`--{key}` must not be a file of the run folder, which the run"
                f" replaces, got {path}; choose another `--out`."
            )


def continue_run(request: Request) -> tuple[RunFolder, Config]:
    """The folder and settings of an interrupted run.

    Raises:
        ValueError: If there is none, it cannot go on here, or settings are given that
            would change it.
    """
    if request.out is None:
        raise ValueError("`--resume` needs `--out`, the folder of the run to go on.")
    folder = RunFolder(request.out)
    # What `SGATClassifier.save` wrote is started, too, but without data to go on with.
    if not (folder.is_under_way or (folder.is_started and folder.is_finished)):
        raise ValueError(f"{folder.path} holds no run to resume.")
    source = folder.draft.config if folder.is_under_way else folder.config
    changes = {**request.data, **request.loader, **request.model, **request.train}
    if "options" in changes:
        changes |= changes.pop("options")
    if request.config is not None:
        changes["config"] = request.config
    if changes:
        option = next(iter(changes)).replace("_", "-")
        raise ValueError(
            f"`--resume` goes on with the settings in {source}; leave `--{option}` out."
        )
    settings = Config.from_toml(source)
    if request.name is not None and request.name != settings.data.name:
        raise ValueError(
            f"{folder.path} is a run on {settings.data.name!r}, got {request.name!r}."
        )
    check_paths(folder, settings, request.pruned)
    if folder.is_under_way:
        _check_draft(folder, settings)
    return folder, settings


def _check_draft(folder: RunFolder, settings: Config) -> None:
    """Find out before the data is read that a run under way cannot go on."""
    for path in (folder.path, folder.draft.path):
        check_place(path, "out")
    if folder.checkpoint.exists():
        # Files from before there was a number have none.
        written = checkpoint.load_state(folder.checkpoint).get("format", 1)
        scorer, advice = settings.model.scorer, "use `--overwrite` to start anew"
        checkpoint.check_format(written, scorer, folder.checkpoint, advice)


def run(
    folder: RunFolder,
    settings: Config,
    *,
    resume: bool = False,
    root: str | None = None,
    loaded: Loaded | None = None,
    pruned: Path | None = None,
    tensorboard: bool = False,
    on_epoch: Callable[[EpochRecord], None] | None = None,
) -> Outcome:
    """Train as the settings say and write the folder.

    All checks of data and settings come before the first file is written. Results of
    an earlier run in the folder are replaced when the new ones are complete; until
    then, and after an error, they are as they were. An error before the first
    checkpoint leaves nothing behind.

    Args:
        folder: Where results go.
        settings: What to train on, and how.
        resume: Go on from the checkpoint in the folder, if there is one.
        root: Folder of the named data sets; None takes that of the settings.
        loaded: The data, where it has been loaded; None loads it.
        pruned: A file for the smaller graph, in the format of its suffix.
        tensorboard: Write the epochs for TensorBoard, too; a run that began so goes on
            so.
        on_epoch: Called with the record of each epoch.

    Raises:
        ValueError: If data or settings are bad.
    """
    if resume and folder.is_finished and pruned is None:
        return _finished_before(folder, "nothing was done")
    if loaded is None:
        loaded = load_configured(settings.data, root=root, seed=settings.train.seed)
    if pruned is not None:
        check_pruned_path(pruned, loaded)
    if resume and folder.is_finished:
        assert pruned is not None
        _prune_finished(folder, root, pruned)
        return _finished_before(folder, f"only {pruned} was written")
    if settings.model.method != "sgat":
        raise ValueError(
            f"`method` must be sgat for a run with scores of edges, got"
            f" {settings.model.method!r}; `sgat reproduce` trains the others."
        )
    tensorboard = tensorboard or (resume and folder.draft.tensorboard.is_dir())
    if tensorboard:
        check_tensorboard(folder)
    training = Training(loaded.graphs, settings.model, settings.train)
    notes = loaded.notes + _scorer_note(settings.model, loaded.graphs)
    notes += _readout_note(settings.model, training.model_config)
    # The weights mean nothing without it, so it is written down.
    settings = dataclasses.replace(settings, model=training.model_config)
    made = missing_folders(folder.path)
    try:
        if not resume:
            folder.start(settings)
        with log_epochs(folder.draft, settings, on_epoch, wanted=tensorboard) as tell:
            result = training.run(
                checkpoint_path=folder.checkpoint, resume=resume, on_epoch=tell
            )
    except BaseException:
        if not folder.checkpoint.exists():
            folder.drop_draft(made)
        raise
    if result.interrupted:
        return Outcome(None, len(result.records), [], notes)
    if pruned is not None:
        _write_pruned(loaded, _scores(loaded.graphs[0], result.sgat), pruned)
    if loaded.files is not None:
        write_text(folder.draft.encoding, loaded.files.encoding.to_json() + "\n")
    notes += _draw(folder.draft, loaded, result)
    tables = _tables(loaded, result)
    summary = write_results(folder, settings, loaded.graphs, result, tables)
    notes += _kept_note(summary)
    name = settings.data.name
    if name is None or default_config(name).train.keep != settings.train.keep:
        # A shipped share is part of a result that is known.
        notes += _weak_note(summary)
    return Outcome(summary, len(result.records), _files(folder), notes)


def _finished_before(folder: RunFolder, what: str) -> Outcome:
    summary = json.loads(folder.summary.read_text(encoding="utf-8"))
    note = f"{folder.path} was finished already; {what}"
    return Outcome(summary, summary["epochs"], _files(folder), (note,))


def _prune_finished(folder: RunFolder, root: str | None, pruned: Path) -> None:
    run = open_run(folder.path, root=root)
    _write_pruned(run.loaded, run.scores[0], pruned)


def _write_pruned(loaded: Loaded, scores: EdgeScores, path: Path) -> None:
    write_pruned(loaded.files or from_node_data(loaded.graphs[0]), scores, path)


def check_pruned_path(path: Path, loaded: Loaded) -> None:
    """Find out before training whether the smaller graph can be written.

    The whole graph is written under another name in the same folder and removed again:
    its columns, its values and the room it takes are those of the smaller one, or more.

    Raises:
        ValueError: If there are several graphs, the suffix is of no known format, the
            folder does not exist, or the format cannot hold a column.
        OSError: If the folder cannot be written to.
    """
    if len(loaded.graphs) > 1:
        raise ValueError(
            f"`--pruned` writes one graph, got {len(loaded.graphs)}; their kept edges"
            " are in edges.parquet."
        )
    if path.is_dir():
        raise ValueError(f"`--pruned` must be a file, got the folder {path}.")
    format = format_of(path, None, GRAPH_FORMATS)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`--pruned` must be in a folder that exists, got {path}.")
    open_ = torch.ones(loaded.graphs[0].graph.num_edges)
    scores = EdgeScores(open_, open_, open_, open_.bool())
    trial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.trial")
    graph = loaded.files or from_node_data(loaded.graphs[0])
    try:
        with _silent(logging.getLogger(write_graph.__module__)):
            write_pruned(graph, scores, trial, format)
    except (ValueError, OSError) as error:
        if isinstance(error, OSError):
            error.filename = str(path)
            raise
        raise ValueError(str(error).replace(str(trial), str(path))) from None
    finally:
        trial.unlink(missing_ok=True)


@contextlib.contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Keep a warning from being told twice."""
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _tables(loaded: Loaded, result: Result) -> list[Any] | None:
    if loaded.files is None:
        return None
    return [score_table(loaded.files, _scores(loaded.files.data, result.sgat))]


def _scores(data: NodeData, model: SGAT) -> EdgeScores:
    device = next(model.parameters()).device
    return edge_scores(model, [data.to(device)])[0]


def _draw(folder: RunFolder, loaded: Loaded, result: Result) -> tuple[str, ...]:
    data = loaded.graphs[0]
    if not result.snapshots:
        return ()
    if data.is_multilabel:
        return ("no drawing of the graph: a node with several labels has no colour",)
    if data.num_nodes > LARGEST_GRAPH:
        return (
            f"no drawing of the graph: it has {data.num_nodes} nodes, more than"
            f" {LARGEST_GRAPH} cannot be read",
        )
    gates = result.sgat.gating.gates
    picture = folder.path / "evolution.png"
    draw_evolution(data, result.snapshots, gates, picture)
    if len(result.snapshots) > 1:
        animation = folder.path / "evolution.gif"
        animate_evolution(data, result.snapshots, gates, animation)
    return ()


def _scorer_note(model: ModelConfig, graphs: Sequence[NodeData]) -> tuple[str, ...]:
    """Tell that a graph is too large for the recommended gates."""
    is_asked = model.scorer == "auto" and model.gate_mode == "inductive"
    if not (is_asked and is_large(graphs)):
        return ()
    number = sum(data.graph.num_edges for data in graphs)
    return (
        f"gates are additive, the paper's: evidence is sought for up to"
        f" {MOST_JUDGED:,} edges, and there are {number:,}; `--scorer evidence` seeks"
        " it nevertheless, in memory",
    )


def _readout_note(asked: ModelConfig, made: ModelConfig) -> tuple[str, ...]:
    """Tell that no neighbour is heard."""
    if asked.readout != "auto" or made.layers > 0:
        return ()
    return (
        "edges say nothing of the classes of the nodes they join, so that every node is"
        " judged by its own features alone; `--readout attention` listens nevertheless",
    )


def _kept_note(summary: dict[str, Any]) -> tuple[str, ...]:
    """Tell that the share asked for was missed, by more than rounding to an edge."""
    keep, edges = summary["keep"], summary["edges"]
    if keep is None or not edges:
        return ()
    kept = 1 - summary["removed_share"]
    if abs(kept - keep) <= max(MOST_MISSED, 1 / edges):
        return ()
    return (
        f"{kept:.1%} of the edges are kept, not {keep:.1%}: edges whose scores tie are"
        " kept or removed together",
    )


def _weak_note(summary: dict[str, Any]) -> tuple[str, ...]:
    """Tell that a share was met by gates that are all but closed."""
    keep, gate = summary["keep"], summary["mean_gate"]
    if keep is None or gate is None or gate >= LEAST_GATE:
        return ()
    return (
        f"the kept edges have a mean gate of {gate:.2f} and are hardly heard: their"
        " scores are close together; the choice of edges may be good all the same, so"
        " train on them anew, or leave `--keep` out",
    )


def _free_folder(data: DataConfig) -> Path:
    name = data.name or Path(data.edges or "run").stem
    path, number = Path("runs") / name, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{name}-{number}"
    return path


def _files(folder: RunFolder) -> list[str]:
    return sorted({file.relative_to(folder.path).parts[0] for file in folder.files})
