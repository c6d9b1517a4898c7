"""Request: a run as a user asks for it, from changes of settings to settings."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from sgat.config import Config, DataConfig, default_config, find_config

OF_NAMED = ("normalise_features", "largest_component", "root")
"""Settings that go with the name of a data set."""
OTHER_LABELS: dict[str, dict[str, Any]] = {
    "label": {"labels": ()},
    "labels": {"label": None},
}
"""One of the two says what the labels are; a given one replaces that of a config."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A run as a user asks for it; settings that are not given stay as they are.

    Attributes:
        data: Changes to `DataConfig`. Paths become absolute, so that a run can be
            resumed from any folder.
        files: Changes to `FileOptions`.
        model: Changes to `ModelConfig`.
        train: Changes to `TrainConfig`.
        config: A config file or the name of a shipped one.
        out: The run folder.
        pruned: A file for the smaller graph.
    """

    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    files: dict[str, Any] = dataclasses.field(default_factory=dict)
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    train: dict[str, Any] = dataclasses.field(default_factory=dict)
    config: str | None = None
    out: Path | None = None
    pruned: Path | None = None

    @property
    def name(self) -> str | None:
        """Name of a data set."""
        return self.data.get("name")

    @property
    def root(self) -> str | None:
        """Folder of the named data sets."""
        root: str | None = _absolute("root", self.data.get("root"))
        return root

    @property
    def changes(self) -> list[str]:
        """Names of what is given and would make it another run."""
        names = [*self.data, *self.files, *self.model, *self.train]
        names += [] if self.config is None else ["config"]
        return [name for name in names if name not in ("name", "root")]

    def settings(self) -> Config:
        """The config file, else what is shipped for the data set, with the changes.

        Raises:
            ValueError: If a setting is bad, or does not go with the data.
        """
        if self.config is not None:
            config = find_config(self.config)
        elif self.name is not None:
            config = default_config(self.name)
        else:
            config = Config()
        config = config.replace(model=self.model, train=self.train)
        return dataclasses.replace(config, data=self._data(config.data))

    def _data(self, data: DataConfig) -> DataConfig:
        """The data of a config with the changes; files replace a name, a name files."""
        given = {key: _absolute(key, value) for key, value in self.data.items()}
        replaced = data.name if "edges" in given else data.edges
        if replaced is not None and ("edges" in given) != ("name" in given):
            data = DataConfig()
        has_files = "edges" in given or data.edges is not None
        for key in OF_NAMED:
            if has_files and key in given:
                raise ValueError(f"`{key}` goes with the name of a data set.")
        for key in (*(key for key in given if key == "nodes"), *self.files):
            if not has_files:
                raise ValueError(f"`{key}` goes with `edges`, your own files.")
        files: dict[str, Any] = {}
        for key in self.files:
            files |= OTHER_LABELS.get(key, {})
        files |= self.files
        return dataclasses.replace(
            data, **given, files=dataclasses.replace(data.files, **files)
        )


def _absolute(key: str, value: Any) -> Any:
    """A value, as an absolute path if it is one."""
    is_path = key in ("edges", "nodes", "root")
    is_path |= key == "split" and str(value).endswith(".npz")
    return str(Path(value).absolute()) if is_path and value is not None else value
