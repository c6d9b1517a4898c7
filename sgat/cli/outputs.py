"""Files that a verb is asked to write, checked before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sgat.config import DataConfig
from sgat.data.files.atomic import (
    check_new_file,
    check_new_folder,
    check_place,
    is_same_file,
    overlaps,
)
from sgat.data.files.source import is_folder, suffix_of

if TYPE_CHECKING:
    from sgat.data.files import FileGraph
    from sgat.runs.folder import RunFolder

TABLES = (".csv", ".tsv", ".parquet", ".npz")


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Mapping[str, str | Path | None],
    folder: RunFolder | None = None,
    *,
    overwrite: bool = True,
    folders: Collection[str] = (),
) -> None:
    """Make sure that nothing is lost by writing, and that it can be written.

    A file to write, by the name of its option, must be none that is read, by what it
    is, none of the run and no other output. With `overwrite` it may be there already.
    Those that may be `folders` of Parquet files are, if they have no suffix.
    """
    taken = {Path(path): what for what, path in inputs.items() if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        if option in folders and is_folder(path):
            check_new_folder(path, f"--{option}")
        else:
            check_new_file(path, f"--{option}")
        check_place(path, option)
        if folder is not None and folder.holds(path):
            raise ValueError(
                f"`--{option}` must not be a file of the run, got {path}; choose"
                " another name."
            )
        for other, what in taken.items():
            if is_same_file(other, path):
                raise ValueError(
                    f"`--{option}` must not be the file of {what}, got {path}."
                )
            if (other.is_dir() or path.is_dir()) and overlaps(other, path):
                where = "in the folder" if other.is_dir() else "a folder with the file"
                raise ValueError(
                    f"`--{option}` must not be {where} of {what}, got {path}."
                )
        if path.exists() and not overwrite:
            raise ValueError(
                f"{path} exists already; choose another `--{option}`, or replace it"
                " with `--overwrite`."
            )
        taken[path] = f"`--{option}`"


def show_columns(files: FileGraph | None, *, quiet: bool) -> None:
    """Write what became of the columns of the user's tables, before work begins."""
    if files is not None and not quiet:
        from sgat.data.files.column_roles import role_lines

        print("\n".join(role_lines(files.roles)), file=sys.stderr, flush=True)


def inputs_of(config: DataConfig) -> dict[str, str | None]:
    """The files that a run read, by what they are."""
    return {f"the {what} of the run": path for what, path in config.paths.items()}


def check_suffix(option: str, path: Path | None, suffixes: Collection[str]) -> None:
    """Refuse a file whose suffix is no format that can be written here."""
    if path is not None and suffix_of(path) not in suffixes:
        named = ", ".join(sorted(filter(None, suffixes)))
        raise ValueError(f"`--{option}` must end in {named}, got {path}.")
