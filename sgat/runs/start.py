"""Where a run begins: its folder and settings, new or as they were left."""

from __future__ import annotations

import os
from pathlib import Path

from sgat.config import Config, DataConfig
from sgat.data.files.atomic import check_place
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request
from sgat.training import checkpoint


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
        raise ValueError(f"`out` must be a folder, got the file {folder.path}.")
    check_place(folder.path, "out")
    check_paths(folder, settings, request.pruned)
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
    """The folder and settings of an interrupted run.

    Raises:
        ValueError: If there is none, it cannot go on here, or settings are given that
            would change it.
    """
    if request.out is None:
        raise ValueError("`resume` needs `out`, the folder of the run to go on.")
    folder = RunFolder(request.out)
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


def check_paths(folder: RunFolder, settings: Config, pruned: Path | None) -> None:
    """Make sure that no file is read and written in the same run.

    Raises:
        ValueError: If an input or the smaller graph is a file of the run folder, or
            the smaller graph is an input.
    """
    given = {key: Path(path) for key, path in settings.data.paths.items()}
    if pruned is not None:
        for key, path in given.items():
            if os.path.realpath(path) == os.path.realpath(pruned) or (
                path.exists() and pruned.exists() and path.samefile(pruned)
            ):
                raise ValueError(
                    f"`pruned` must not be the file of `{key}`, got {pruned}."
                )
        given["pruned"] = pruned
    for key, path in given.items():
        if folder.holds(path):
            raise ValueError(
                f"`{key}` must not be a file of the run folder, which the run"
                f" replaces, got {path}; choose another `out`."
            )


def _check_draft(folder: RunFolder) -> None:
    """Find out before the data is read that a run under way cannot go on."""
    for path in (folder.path, folder.draft.path):
        check_place(path, "out")
    if folder.checkpoint.exists():
        written = checkpoint.load_state(folder.checkpoint).get("format")
        advice = "use `overwrite` to start anew"
        checkpoint.check_format(written, folder.checkpoint, advice)


def _free_folder(data: DataConfig) -> Path:
    name = data.name or Path(data.edges or "run").stem
    path, number = Path("runs") / name, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{name}-{number}"
    return path
