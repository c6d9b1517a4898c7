"""What the parts of a Parquet file say they unpack to, before anything is unpacked."""

import mmap
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DAMAGE = (AttributeError, IndexError, RecursionError, TypeError)
"""Errors that a header of other types or without end raises."""
BYTES, STRUCT = 8, 12
WIDTH = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of a Boolean of either value, a byte and a double of Thrift's compact protocol.

All else in the header of a page is bytes, a struct or an integer.
"""


def chunks(path: Path) -> Iterator[tuple[int, str, int, int, int]]:
    """Column, type, values, rows and unpacked bytes of each part of a Parquet file.

    The table of parts is asked of DuckDB: Arrow ends the process where its sizes are
    damaged. Bytes are those of the pages; the sum in the table may be any number.
    """
    if find_spec("duckdb") is None:
        return  # a machine that was not set up by pip: nothing is asked
    import duckdb

    # Letters that stand for others mean themselves in brackets.
    name = re.sub(r"[*?\[{}]", r"[\g<0>]", str(path.absolute()))
    try:
        with duckdb.connect() as database:
            found = database.execute(
                "SELECT column_id, type, num_values, row_group_num_rows,"
                " dictionary_page_offset, data_page_offset FROM parquet_metadata(?)",
                [name],
            ).fetchall()
    except duckdb.Error as error:
        raise OSError(str(error)) from error
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as m:
        for column, kind, values, rows, dictionary, data in found:
            first = dictionary or data
            try:
                # Arrow begins with the earlier one, DuckDB with the dictionary.
                size = max(_unpacked(m, at, values) for at in {first, min(first, data)})
            except DAMAGE as error:
                raise OSError("the header of a page cannot be read") from error
            yield column, kind, values, rows, size


def _unpacked(data: mmap.mmap, place: int, values: int) -> int:
    """Bytes that the pages from a place on unpack to, as far as they have values."""
    size = 0
    while values > 0:
        page, place = _value(data, place, STRUCT)
        if min(page.get(2, -1), page.get(3, -1)) < 0:
            raise IndexError
        size, place = size + page[2], place + page[3]
        values -= (page.get(5) or page.get(8) or {}).get(1, 0)
    return size


def _value(data: mmap.mmap, place: int, kind: int) -> tuple[Any, int]:
    """A value and where it ends; a struct is a dict by the numbers of its fields."""
    if kind in WIDTH:
        return None, place + WIDTH[kind]
    if kind != STRUCT:
        number, place = _varint(data, place)
        return (None, place + number) if kind == BYTES else (_signed(number), place)
    found: dict[int, Any] = {}
    field = 0
    while head := data[place]:
        place, field = place + 1, field + (head >> 4)
        if not head >> 4:
            number, place = _varint(data, place)
            field = _signed(number)
        found[field], place = _value(data, place, head & 15)
    return found, place + 1


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _varint(data: mmap.mmap, place: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte, place = data[place], place + 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
    raise IndexError
