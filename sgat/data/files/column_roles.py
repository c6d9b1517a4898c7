"""ColumnRole: what became of each column of the user's tables, to look at first."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from sgat.data.files.encoding import FeatureColumn
from sgat.data.files.source import Source

MOST_SHOWN = 3
"""Columns, or categories, that are named one by one where many are alike."""


class ColumnRole(NamedTuple):
    """What became of one column."""

    table: str  # as the user named it
    column: str
    becomes: str
    features: int = 0  # how many


def column_roles(
    source: Source, known: dict[Any, str], features: Sequence[FeatureColumn]
) -> list[ColumnRole]:
    """What became of the columns of a table, in its order."""
    rest = "not used; stays in what is written"
    found = {name: (known.get(name, rest), 0) for name in source.table.column_names}
    found |= {each.name: (each.words, each.width) for each in features}
    return [ColumnRole(source.name, name, *role) for name, role in found.items()]


def role_lines(roles: Sequence[ColumnRole]) -> list[str]:
    """The roles as text, a line for each column; many alike in a row share one."""
    lines = []
    for table, columns in groupby(roles, lambda role: role.table):
        own = list(columns)
        width = sum(role.features for role in own)
        total = f" become {width:,} feature{'s' * (width > 1)}" if width else ""
        number = f"{len(own)} column{'s' * (len(own) > 1)}"
        lines.append(f"{Path(table).name}: {number}{total}")
        for becomes, alike in groupby(own, lambda role: role.becomes):
            run = [role.column for role in alike]
            if len(run) > MOST_SHOWN:
                run = [f"{run[0]} … {run[-1]} ({len(run):,} columns)"]
            lines += [f"  {name:<16} {becomes}" for name in run]
    return lines
