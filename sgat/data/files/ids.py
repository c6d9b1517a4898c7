"""Node ids: integers or strings, the same kind in all columns that name nodes."""

import contextlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgat.data.files.columns import CANONICAL_INTEGER, decoded, first, is_string
from sgat.data.files.source import Source

Place = tuple[Source, str]
"""A table and the name of its column."""


def common_ids(places: list[Place]) -> list[Any]:
    """The id columns as int64 if all are integers, as strings if all are strings.

    Text files have no types: their ids are integers only if every one of them is
    written as an integer is (no leading zeros, no plus sign) and the other columns are
    integers too. Integers beyond 64 bits are kept as strings.
    """
    columns = [checked_ids(place) for place in places]
    typed = [
        (place, is_string(column.type))
        for place, column in zip(places, columns, strict=True)
        if len(column) and place[1] not in place[0].text_columns
    ]
    strings = next((place for place, string in typed if string), None)
    integers = next((place for place, string in typed if not string), None)
    if strings is not None and integers is not None:
        raise strings[0].fault(
            f"holds strings, but the ids of {integers[0].name}, column"
            f" {integers[1]!r} are integers; store both the same way.",
            strings[1],
        )
    if strings is None:
        columns = _without_points(columns)
        bad = [_first_no_integer(column) for column in columns]
        for (source, name), column, row in zip(places, columns, bad, strict=True):
            if row >= 0 and integers is not None:
                problem = f"must be an integer like the ids of {integers[0].name}, got"
                raise source.fault(f"{problem} {column[row].as_py()!r}.", name, row)
        if max(bad, default=-1) < 0:
            with contextlib.suppress(pa.ArrowInvalid):
                return [column.cast(pa.int64()) for column in columns]
    return [column.cast(pa.string()) for column in columns]


def are_integers(place: Place) -> bool:
    """Whether the type of a column says that its ids are integers of 64 bits."""
    kind = place[0].column(place[1], "the node ids (`id`)").type
    return bool(pa.types.is_integer(kind) and kind != pa.uint64())


def sorted_unique(columns: list[Any]) -> Any:
    """Every id that occurs, once, in ascending order."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    found = pc.unique(pa.chunked_array(chunks, columns[0].type))
    return found.take(pc.sort_indices(found))


def positions(column: Any, ids: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where each value stands among `ids`, -1 if nowhere."""
    if column.type != ids.type:
        column = decoded(column).cast(ids.type)
    found = pc.fill_null(pc.index_in(column, value_set=ids), -1)
    return np.asarray(found.to_numpy(), dtype=np.int64)


def to_numpy(ids: Any) -> np.ndarray[Any, Any]:
    """The ids as int64 or as objects of type `str`."""
    return np.asarray(ids.to_numpy(zero_copy_only=False))


def check_different(place: Place, ids: Any) -> None:
    """Refuse ids of nodes that occur more than once; `place` is where they stand."""
    if pc.count_distinct(ids).as_py() < len(ids):
        row = int(ids.to_pandas().duplicated().argmax())
        problem = f"the id {ids[row].as_py()!r} occurs more than once."
        raise place[0].fault(problem, place[1], row)


def checked_ids(place: Place) -> Any:
    """The column of a table, of a type that ids can have, and no id missing."""
    source, name = place
    column = decoded(source.table.column(name))
    if column.null_count == len(column) and pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        source.refuse(pc.is_null(column), name, "the id is missing, got nothing.")
        # pandas makes such numbers of integers when it joins tables.
        with contextlib.suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())
    if not (is_string(column.type) or pa.types.is_integer(column.type)):
        # No value: a date can be out of the range of Python.
        raise source.fault(f"ids must be integers or strings, got {column.type}.", name)
    source.refuse(pc.is_null(column), name, "the id is missing, got nothing.")
    if is_string(column.type):
        source.refuse(pc.equal(column, ""), name, "the id is missing, got nothing.")
    return column


def _without_points(columns: list[Any]) -> list[Any]:
    """The columns with 1 for 1.0 where a column of integers stands beside them."""
    rest = [k for k, column in enumerate(columns) if _first_no_integer(column) >= 0]
    if not 0 < len(rest) < len(columns):
        return columns
    shorter = {k: pc.replace_substring_regex(columns[k], r"\.0+$", "") for k in rest}
    if max(map(_first_no_integer, shorter.values())) >= 0:
        return columns
    return [shorter.get(k, column) for k, column in enumerate(columns)]


def _first_no_integer(column: Any) -> int:
    if pa.types.is_integer(column.type):
        return -1
    return first(pc.invert(pc.match_substring_regex(column, CANONICAL_INTEGER)))
