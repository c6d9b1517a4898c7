"""Dates and times as numbers: days since 1970, and the place in year, week and day."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgat.data.files.columns import decoded, is_string, words
from sgat.data.files.source import Source

Days = np.ndarray[Any, np.dtype[np.float64]]

PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""Length of each period in days."""
YEARS = (-62_135_596_800, 253_402_300_799)
"""First and last second of the years 1 to 9999, from 1970 on."""
# Arrow wants every group to have a name.
YEAR_LAST = r"^(?P<a>[0-9]{1,2})(?P<sign>[-/.])(?P<b>[0-9]{1,2})[-/.](?P<year>[0-9]{4})"
ORDERS = {"day first": r"\4-\3-\1", "month first": r"\4-\1-\3"}
"""The parts of `YEAR_LAST` with the year first."""
AS_ISO = (
    (r"^([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})", r"\1-0\2-0\3"),
    (r"^([0-9]{4})-0?([0-9]{2})-0?([0-9]{2})", r"\1-\2-\3"),
    (r"^([0-9]):", r"0\1:"),
    (r"^([0-9]{2}:)", r"1970-01-01 \1"),
)
"""What makes a date of ISO 8601 of one with the year first, or of a time alone."""


def date_order(source: Source, name: str) -> str:
    """A key of `ORDERS` where years are last, else "".

    Numbers above 12 and points between them say whether days or months are first.
    """
    column = decoded(source.table.column(name))
    if not is_string(column.type):
        return ""
    text = words(column)
    parts = pc.extract_regex(text, YEAR_LAST)
    if parts.null_count == len(parts):
        return ""
    a, b, sign = (pc.struct_field(parts, name) for name in ("a", "b", "sign"))
    first, second = (pc.max(pc.cast(part, pa.int64())).as_py() for part in (a, b))
    if first > 12 or pc.any(pc.equal(sign, ".")).as_py():
        return "day first"
    if second > 12:
        return "month first"
    problem = "{} may begin with the day or with the month; write 2024-01-31, or leave"
    problem += " the column out with `drop`."
    source.refuse(pc.is_valid(parts), name, problem)
    raise AssertionError("a date was there")


def days(source: Source, name: str, order: str) -> Days:
    """The days since 1970-01-01 of each row, NaN where there is no date, [M].

    A time alone is the part of a day. Times without a zone count as UTC.
    """
    column = decoded(source.table.column(name))
    if is_string(column.type):
        column = _parsed(source, name, words(column), order)
    elif pa.types.is_time(column.type):
        column = column.cast(pa.time64("us"))
    elif pa.types.is_temporal(column.type):
        column = column.cast(pa.timestamp("us"), safe=False)
    else:
        raise source.fault(f"must hold dates, got {column.type}.", name)
    micros = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(micros.to_numpy(zero_copy_only=False)) / 86_400e6


def check_years(source: Source) -> None:
    """Refuse dates outside the years 1 to 9999, which Python cannot show."""
    for place, name in enumerate(source.table.column_names):
        column = decoded(source.table.column(place))
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            seconds = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
            is_out = pc.or_(pc.less(seconds, YEARS[0]), pc.greater(seconds, YEARS[1]))
            if (row := pc.index(is_out, True).as_py()) >= 0:
                raise source.fault("must be in the years 1 to 9999.", name, row)


def turns(value: Days, periods: tuple[str, ...]) -> list[Days]:
    """Sine and cosine of the place in each period, [M] each."""
    angle = [2 * np.pi * value / PERIODS[period] for period in periods]
    return [wave(each) for each in angle for wave in (np.sin, np.cos)]


def _parsed(source: Source, name: str, text: Any, order: str) -> Any:
    import pandas as pd

    iso = text
    year_first = ((YEAR_LAST, ORDERS[order]),) if order else ()
    for pattern, replacement in (*year_first, *AS_ISO):
        iso = pc.replace_substring_regex(iso, pattern, replacement)
    found = pd.to_datetime(iso.to_pandas(), format="ISO8601", utc=True, errors="coerce")
    moment = pa.chunked_array([pa.array(found.dt.as_unit("us"))])
    bad = pc.and_(pc.is_valid(text), pc.is_null(moment))
    problem = "must be a date such as 2024-01-31 or 2024-01-31 18:30, got {}."
    source.refuse(bad, name, problem)
    return moment
