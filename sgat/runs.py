"""A run from settings to a folder of results: start, continue, finish."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
from sgat.data.files.write import GRAPH_FORMATS
from sgat.data.node_data import NodeData
from sgat.edge_scores import EdgeScores
from sgat.evolution import LARGEST_GRAPH, animate_evolution, draw_evolution
from sgat.run_folder import RunFolder, write_text
from sgat.tables import edge_scores
from sgat.train import EpochRecord, Result, Training

SECTIONS = {"model": ModelConfig, "train": TrainConfig}
FILE_OPTIONS = (
    *("label", "labels", "features", "id", "src", "dst", "weight"),
    *("undirected", "standardise", "fill_missing"),
)
LISTS = ("labels", "features")


@dataclasses.dataclass(frozen=True)
class Request:
    """What a user asks of a run; empty entries leave a setting as it is.

    Attributes:
        name: Name of a data set.
        config: A config file or the name of a shipped one.
        data: Changes to `DataConfig`.
        model: Changes to `ModelConfig`.
        train: Changes to `TrainConfig`.
        out: The run folder.
        pruned: A file for the smaller graph.
        data_root: Folder of the named data sets.
    """

    name: str | None = None
    config: str | None = None
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    train: dict[str, Any] = dataclasses.field(default_factory=dict)
    out: Path | None = None
    pruned: Path | None = None
    data_root: str | None = None

    @classmethod
    def from_options(cls, given: dict[str, Any]) -> Request:
        """Sort options given by name into the sections of the settings."""
        fields = {
            section: {field.name for field in dataclasses.fields(kind)}
            for section, kind in SECTIONS.items()
        }
        files: dict[str, Any] = {}
        for key in FILE_OPTIONS:
            if key in given:
                is_list = key in LISTS
                files[key] = given[key].split(",") if is_list else given[key]
        if "split_column" in given:
            files["split"] = given["split_column"]
        data: dict[str, Any] = {}
        for key in ("edges", "nodes"):
            if key in given:
                data[key] = str(Path(given[key]).absolute())
        if "split" in given:
            data["split"] = given["split"]
        if files:
            data["options"] = files
        return cls(
            name=given.get("name"),
            config=given.get("config"),
            data=data,
            model={k: v for k, v in given.items() if k in fields["model"]},
            train={k: v for k, v in given.items() if k in fields["train"]},
            out=given.get("out"),
            pruned=given.get("pruned"),
            data_root=None if "data_root" not in given else str(given["data_root"]),
        )

    def settings(self) -> Config:
        """The config file, else what is shipped for the data set, with the changes."""
        if self.config is not None:
            config = find_config(self.config)
        elif self.name is not None:
            config = default_config(self.name)
        else:
            config = Config()
        data = dict(self.data)
        if self.name is not None:
            data["name"] = self.name
        if "options" in data and "edges" in {**data, **_given(config.data)}:
            data["options"] = {**config.data.options, **data["options"]}
        elif "options" in data:
            option = next(iter(data["options"])).replace("_", "-")
            raise ValueError(f"`--{option}` goes with `--edges`, your own files.")
        return config.replace(data=data, model=self.model, train=self.train)


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
        return RunFolder(_free_folder(settings.data)), settings
    folder = RunFolder(request.out)
    if folder.path.exists() and not folder.path.is_dir():
        raise ValueError(f"`--out` must be a folder, got the file {folder.path}.")
    if folder.is_started and not overwrite:
        raise ValueError(
            f"{folder.path} holds a run already; choose another `--out`, or go on with"
            " `--resume`, or replace it with `--overwrite`."
        )
    return folder, settings


def continue_run(request: Request) -> tuple[RunFolder, Config]:
    """The folder and settings of an interrupted run.

    Raises:
        ValueError: If there is none, or settings are given that would change it.
    """
    if request.out is None:
        raise ValueError("`--resume` needs `--out`, the folder of the run to go on.")
    folder = RunFolder(request.out)
    if not folder.is_started:
        raise ValueError(f"{folder.path} holds no run to resume.")
    changes = {**request.data, **request.model, **request.train}
    if request.config is not None:
        changes["config"] = request.config
    if changes:
        option = next(iter(changes)).replace("_", "-")
        raise ValueError(
            f"`--resume` goes on with the settings in {folder.config};"
            f" leave `--{option}` out."
        )
    settings = Config.from_toml(folder.config)
    if request.name is not None and request.name != settings.data.name:
        raise ValueError(
            f"{folder.path} is a run on {settings.data.name!r}, got {request.name!r}."
        )
    return folder, settings


def run(
    folder: RunFolder,
    settings: Config,
    *,
    resume: bool = False,
    root: str | None = None,
    pruned: Path | None = None,
    on_epoch: Callable[[EpochRecord], None] | None = None,
) -> Outcome:
    """Train as the settings say and write the folder.

    All checks of data and settings come before the first file is written.

    Args:
        folder: Where results go.
        settings: What to train on, and how.
        resume: Go on from the checkpoint in the folder, if there is one.
        root: Folder of the named data sets.
        pruned: A file for the smaller graph, in the format of its suffix.
        on_epoch: Called with the record of each epoch.

    Raises:
        ValueError: If data or settings are bad.
    """
    if resume and folder.is_finished:
        summary = json.loads(folder.summary.read_text(encoding="utf-8"))
        note = f"{folder.path} was finished already; nothing was done"
        return Outcome(summary, summary["epochs"], _files(folder), (note,))
    loaded = load_configured(settings.data, root=root, seed=settings.train.seed)
    training = Training(loaded.graphs, settings.model, settings.train)
    if pruned is not None:
        check_pruned_path(pruned, loaded.graphs)
    if not resume:
        folder.clear()
        folder.start(settings)
    result = training.run(
        checkpoint_path=folder.checkpoint, resume=resume, on_epoch=on_epoch
    )
    if result.interrupted:
        return Outcome(None, len(result.records), [], loaded.notes)
    if loaded.files is not None:
        write_text(folder.encoding, loaded.files.encoding.to_json() + "\n")
    summary = folder.finish(settings, loaded.graphs, result, _tables(loaded, result))
    if pruned is not None:
        files = loaded.files or from_node_data(loaded.graphs[0])
        write_pruned(files, _scores(loaded.graphs[0], result), pruned)
    notes = loaded.notes + _draw(folder, settings, loaded, result)
    return Outcome(summary, len(result.records), _files(folder), notes)


def check_pruned_path(path: Path, graphs: Sequence[NodeData]) -> None:
    """Find out before training whether the smaller graph can be written.

    Raises:
        ValueError: If there are several graphs, the suffix is of no known format, or
            the folder does not exist.
    """
    if len(graphs) > 1:
        raise ValueError(
            f"`--pruned` writes one graph, got {len(graphs)}; their kept edges are in"
            " edges.parquet."
        )
    format_of(path, None, GRAPH_FORMATS)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`--pruned` must be in a folder that exists, got {path}.")


def _tables(loaded: Loaded, result: Result) -> list[Any] | None:
    if loaded.files is None:
        return None
    return [score_table(loaded.files, _scores(loaded.files.data, result))]


def _scores(data: NodeData, result: Result) -> EdgeScores:
    device = next(result.model.parameters()).device
    return edge_scores(result.model, [data.to(device)])[0]


def _draw(
    folder: RunFolder, settings: Config, loaded: Loaded, result: Result
) -> tuple[str, ...]:
    data = loaded.graphs[0]
    if not result.snapshots:
        return ()
    if data.num_nodes > LARGEST_GRAPH or data.is_multilabel:
        return (
            f"no drawing of the graph: it has {data.num_nodes} nodes, more than"
            f" {LARGEST_GRAPH} cannot be read",
        )
    gates = result.model.gating.gates
    picture = folder.path / "evolution.png"
    draw_evolution(data, result.snapshots, gates, picture)
    if len(result.snapshots) > 1:
        animation = folder.path / "evolution.gif"
        animate_evolution(data, result.snapshots, gates, animation)
    return ()


def _free_folder(data: DataConfig) -> Path:
    name = data.name or Path(data.edges or "run").stem
    path, number = Path("runs") / name, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{name}-{number}"
    return path


def _files(folder: RunFolder) -> list[str]:
    return sorted(file.name for file in folder.path.iterdir() if file.is_file())


def _given(section: Any) -> dict[str, Any]:
    fields = dataclasses.fields(section)
    pairs = {field.name: getattr(section, field.name) for field in fields}
    return {key: value for key, value in pairs.items() if value is not None}
