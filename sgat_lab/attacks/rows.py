"""Rows of numbers in a CSV file: appended with their circumstances, read again."""

from __future__ import annotations

import csv
import fcntl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sgat.runs.provenance import device_name, versions
from sgat_lab.trials.trial import source_commit


def circumstances(device: str) -> dict[str, str]:
    """Device, versions, date and commit of a measurement."""
    return {
        "device": device_name(device),
        **versions(),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": source_commit(),
    }


def append(path: Path, row: dict[str, Any]) -> None:
    """Append a row; a new file begins with the names of its columns.

    Several processes may append to one file.

    Raises:
        ValueError: If the file has other columns.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = {
        name: f"{value:.6g}" if isinstance(value, float) else value
        for name, value in row.items()
    }
    with path.open("a+", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        columns = next(csv.reader(file), None)
        if columns not in (None, list(row)):
            raise ValueError(f"{path} has other columns; choose another file.")
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if columns is None:
            writer.writeheader()
        writer.writerow(shown)


def read(path: Path, case: tuple[str, ...]) -> list[dict[str, Any]]:
    """The last row of each case, numbers as numbers.

    Args:
        path: The file.
        case: Columns that name a case.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            row = {name: _value(value) for name, value in line.items()}
            found[tuple(row[name] for name in case)] = row
    return list(found.values())


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
