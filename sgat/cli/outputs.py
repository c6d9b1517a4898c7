"""Files that a verb is asked to write, checked before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from sgat.config import DataConfig
from sgat.data.files.source import suffix_of

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

TABLES = (".csv", ".tsv", ".parquet", ".npz")


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
