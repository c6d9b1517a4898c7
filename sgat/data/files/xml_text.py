"""Cells of a table as XML text, for GraphML and GEXF."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

BATCH = 65_536
# XML 1.0 allows no other control characters, not even as character references.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# White space is written as references, since readers normalise it otherwise.
ESCAPES = str.maketrans({mark: f"&#{ord(mark)};" for mark in '&<>"\t\n\r'})


def escaped(text: str) -> str:
    """Text that reads back as it is, as content or within double quotes.

    Raises:
        ValueError: If a character is not allowed in XML.
    """
    found = FORBIDDEN.search(text)
    if found:
        raise ValueError(
            f"XML cannot hold the character {found.group()!r} of {text!r}; choose"
            " another format."
        )
    return text.translate(ESCAPES)


def quoted(text: str) -> str:
    """The text as a quoted attribute value."""
    return f'"{escaped(text)}"'


def type_name(table: Any, column: str) -> str:
    """What GraphML and GEXF call the type of a column."""
    kind = table.schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return "long"
    if pa.types.is_floating(kind):
        return "double"
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise ValueError(f"Column {column!r}: XML cannot hold {kind}; choose parquet.")
    return "string"


def rows(
    table: Any, ends: tuple[str, ...]
) -> Iterator[tuple[int, list[str], list[tuple[int, str]]]]:
    """Each row: its number, its quoted ends, and the (column, text) that are there."""
    others = [
        (number, name)
        for number, name in enumerate(table.column_names)
        if name not in ends
    ]
    row = 0
    for batch in table.to_batches(max_chunksize=BATCH):
        end_cells = zip(*(batch.column(name).to_pylist() for name in ends), strict=True)
        cells = [batch.column(name).to_pylist() for _, name in others]
        for place, found in enumerate(end_cells):
            values = [
                (number, _cell(column[place]))
                for (number, _), column in zip(others, cells, strict=True)
                # NaN, which differs from itself, is a missing value too.
                if column[place] is not None and column[place] == column[place]
            ]
            yield row, [quoted(str(end)) for end in found], values
            row += 1


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return escaped(value if isinstance(value, str) else str(value))
