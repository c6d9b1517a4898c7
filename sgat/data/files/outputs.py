"""Files that somebody asks to be written, checked before any work is done."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from sgat.data.files.atomic import (
    check_new_file,
    check_new_folder,
    check_place,
    is_same_file,
    overlaps,
)
from sgat.data.files.source import is_folder


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Mapping[str, str | Path | None],
    *,
    is_of_run: Callable[[Path], bool] = lambda path: False,
    overwrite: bool = True,
    folders: Collection[str] = (),
) -> None:
    """Make sure that nothing is lost by writing, and that it can be written.

    A file to write, by the name of its argument, must be none that is read, by what it
    is, none of the run and no other output. With `overwrite` it may be there already.
    Those that may be `folders` of Parquet files are, if they have no suffix.
    """
    taken = {Path(path): what for what, path in inputs.items() if path is not None}
    for argument, path in outputs.items():
        if path is None:
            continue
        may_be_folder = argument in folders and is_folder(path)
        if not may_be_folder:
            check_new_file(path, argument)
        check_place(path, argument)
        if is_of_run(path):
            raise ValueError(
                f"`{argument}` must not be a file of the run folder, got {path}; choose"
                " another name."
            )
        for other, what in taken.items():
            if is_same_file(other, path):
                raise ValueError(
                    f"`{argument}` must not be the file of {what}, got {path}."
                )
            if (other.is_dir() or path.is_dir()) and overlaps(other, path):
                where = "in the folder" if other.is_dir() else "a folder with the file"
                raise ValueError(
                    f"`{argument}` must not be {where} of {what}, got {path}."
                )
        if path.exists() and not overwrite:
            raise ValueError(
                f"{path} exists already; choose another `{argument}`, or replace it"
                " with `overwrite`."
            )
        if may_be_folder:
            check_new_folder(path, argument)
        taken[path] = f"`{argument}`"
