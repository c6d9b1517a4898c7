"""Request: what a user asks of a run, from options to settings."""

from __future__ import annotations

import dataclasses
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

SECTIONS = {"model": ModelConfig, "train": TrainConfig}
FILE_OPTIONS = (
    *("label", "labels", "features", "categorical", "drop", "id", "src", "dst"),
    *("weight", "undirected", "standardise", "fill_missing", "delimiter"),
)
LOADER_OPTIONS = ("normalise_features", "largest_component")
NOT_EMPTY = ("out", "split")
LISTS = ("labels", "features", "categorical", "drop")


def comma_list(text: str) -> list[str]:
    """The names in "a, b"; none in ""."""
    return [name for part in text.split(",") if (name := part.strip())]


def _absolute(path: str | Path) -> str:
    return str(Path(path).absolute())


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
        """The config file, else what is shipped for the data set, with the changes."""
        if self.config is not None:
            config = find_config(self.config)
        elif self.name is not None:
            config = default_config(self.name)
        else:
            config = Config()
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
