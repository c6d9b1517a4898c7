"""Request: a run as a user asks for it, and the folder and settings it begins with."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgat.config import Config, DataConfig, TrainConfig, default_config, find_config
from sgat.data.files.atomic import check_place
from sgat.data.files.outputs import check_outputs

# Settings alone, as of `sgat judge`, need no training, which takes a second to load.
if TYPE_CHECKING:
    from sgat.runs.folder import RunFolder

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

    The first four are changes to sections of the settings. Paths in `data` become
    absolute, so that a run can be resumed from any folder.
    """

    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    files: dict[str, Any] = dataclasses.field(default_factory=dict)
    model: dict[str, Any] = dataclasses.field(default_factory=dict)
    train: dict[str, Any] = dataclasses.field(default_factory=dict)
    config: str | None = None  # a config file or the name of a shipped one
    out: Path | None = None  # the run folder
    pruned: Path | None = None  # a file for the smaller graph

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
        """The config file, else what is shipped for the data set, with the changes."""
        if self.config is not None:
            config = find_config(self.config)
        elif self.name is not None:
            config = default_config(self.name)
            if self.model.get("scorer") in ("evidence", "revised", "auto"):
                # The shipped price is of another scorer, and moves no such gates.
                config = config.replace(train={"l0_weight": TrainConfig.l0_weight})
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


def start_run(request: Request, *, overwrite: bool) -> tuple[RunFolder, Config]:
    """The folder and settings of a new run; nothing is written yet.

    Without `out` the folder is runs/NAME, or runs/NAME-2 and so on if that is taken.
    """
    from sgat.runs.folder import RunFolder

    settings = request.settings()
    folder = RunFolder(request.out or _free_folder(settings.data))
    if folder.path.exists() and not folder.path.is_dir():
        raise ValueError(f"`out` must be a folder, got the file {folder.path}.")
    check_place(folder.path, "out")
    folder.check_plain()
    check_paths(folder, settings, request.pruned, overwrite=overwrite)
    if folder.foreign is not None:
        raise ValueError(
            f"`out` must be a new folder or hold a run, got {folder.path}, where"
            f" {folder.foreign.name} is no part of a run and would be replaced."
        )
    if folder.is_started and not overwrite:
        raise ValueError(
            f"{folder.path} holds a run already; choose another `out`, or go on with"
            " `resume`, or replace it with `overwrite`."
        )
    return folder, settings


def continue_run(request: Request) -> tuple[RunFolder, Config]:
    """The folder and settings of an interrupted run, which no change is made to."""
    from sgat.runs.folder import RunFolder

    if request.out is None:
        raise ValueError("`resume` needs `out`, the folder of the run to go on.")
    folder = RunFolder(request.out)
    folder.check_plain()
    # What `SGATClassifier.save` wrote is started, too, but without data to go on with.
    if not (folder.is_under_way or (folder.is_started and folder.is_finished)):
        raise ValueError(f"{folder.path} holds no run to resume.")
    source = folder.draft.config if folder.is_under_way else folder.config
    if request.changes:
        raise ValueError(
            f"`resume` goes on with the settings in {source}; leave"
            f" `{request.changes[0]}` out."
        )
    settings = Config.from_toml(source)
    if request.name is not None and request.name != settings.data.name:
        raise ValueError(
            f"{folder.path} is a run on {settings.data.name!r}, got {request.name!r}."
        )
    check_paths(folder, settings, request.pruned)
    if folder.is_under_way:
        _check_draft(folder)
    return folder, settings


@contextlib.contextmanager
def claimed_run(
    request: Request, *, resume: bool, overwrite: bool
) -> Iterator[tuple[RunFolder, Config]]:
    """The folder and settings of a run that no other process can begin or go on with.

    See `start_run` and `continue_run`.
    """
    find = continue_run if resume else partial(start_run, overwrite=overwrite)
    folder, _ = find(request)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(folder.locked())
        except OSError:
            if not (resume and folder.is_finished):
                raise
            # Nothing is written to it, so it need not be held.
        # Once more: another process may have been at work in it just before.
        yield find(dataclasses.replace(request, out=folder.path))


def check_paths(
    folder: RunFolder, settings: Config, pruned: Path | None, *, overwrite: bool = True
) -> None:
    """Refuse a file that would be read and written in the same run."""
    inputs = {f"`{key}`": path for key, path in settings.data.paths.items()}
    how: dict[str, Any] = {"is_of_run": folder.holds, "overwrite": overwrite}
    check_outputs({"pruned": pruned}, inputs, **how)
    for key, path in settings.data.paths.items():
        if folder.holds(Path(path)):
            raise ValueError(
                f"`{key}` must not be a file of the run folder, which the run"
                f" replaces, got {path}; choose another `out`."
            )


def _check_draft(folder: RunFolder) -> None:
    """Find out before the data is read that a run under way cannot go on."""
    from sgat.training.files import check_format, load_state, read_json

    for path in (folder.path, folder.draft.path):
        check_place(path, "out")
    for path in folder.progress:
        read = load_state if path.suffix == ".safetensors" else read_json
        check_format(read(path).get("format"), path, "use `overwrite` to start anew")


def _free_folder(data: DataConfig) -> Path:
    name = data.name or Path(data.edges or "run").stem
    path, number = Path("runs") / name, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{name}-{number}"
    return path
