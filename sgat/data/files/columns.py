"""Columns as numbers or as categories, with the row of any value that is neither."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sgat.data.files.source import Source

CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]*)$"
CANONICAL_DECIMAL = (
    r"^-?(0|[1-9][0-9]{0,16})(\.0|\.[0-9]{0,17}[1-9])?([eE][+-]?[0-9]{1,3})?$"
)
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf(inity)?)$"
THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(SIGN[0-9]{3})+"
"""A whole number whose thousands are set apart by a sign."""
IN_DOTS, IN_COMMAS = (THOUSANDS.replace("SIGN", sign) for sign in ("[.]", ","))
COMMA = rf"^([+-]?[0-9]*|{IN_DOTS}),[0-9]+([eE][+-]?[0-9]+)?$"
"""A number whose sign for decimals, or for thousands, is a comma."""
DATE = (
    r"^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
    r"([T ].*)?$|^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?$"
)
MISSING_WORDS = ["", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"]
"""Words for a missing value in a text column of numbers."""


def is_string(kind: Any) -> bool:
    """Whether an Arrow type holds strings."""
    tests = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(test(kind) for test in tests)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    return any(test(kind) for test in tests)


def decoded(column: Any) -> Any:
    """The column without dictionary codes, in a type that all functions of Arrow take.

    Views of strings become strings, and numbers of 16 bits those of 32.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    plain = {pa.string_view(): pa.string(), pa.float16(): pa.float32()}.get(column.type)
    return column if plain is None else column.cast(plain)


def with_nulls(column: Any) -> Any:
    """The column with null in place of NaN and of the empty string."""
    column = decoded(column)
    if pa.types.is_floating(column.type):
        is_missing = pc.is_nan(column)
    elif is_string(column.type):
        is_missing = pc.equal(column, "")
    else:
        return column
    return pc.if_else(is_missing, pa.scalar(None, column.type), column)


def first(mask: Any) -> int:
    """Row of the first true entry of a boolean column, -1 without any."""
    return int(pc.index(mask, True).as_py())


def looks_numeric(source: Source, name: str) -> bool:
    """Whether a column holds numbers, by its type or, in a text file, by its values."""
    column = decoded(source.table.column(name))
    if name not in source.text_columns:
        return is_number(column.type)
    text = _numeric_text(source, name)
    is_numeric = pc.match_substring_regex(text, NUMBER)
    has_comma = pc.match_substring_regex(text, COMMA)
    if first(pc.invert(pc.or_(is_numeric, has_comma))) < 0:
        problem = "{} has a comma; `decimal` can be ',' if it is the decimal sign, and"
        problem += " `categorical` names columns of categories."
        source.refuse(has_comma, name, problem)
    if not pc.any(is_numeric).as_py():
        # A text column without a single value is a column of missing numbers.
        return bool(text.null_count == len(text) > 0)
    problem = "must be a number like other values of the column, got {};"
    problem += " or name the column in `categorical`."
    source.refuse(pc.invert(is_numeric), name, problem)
    return True


def holds_dates(column: Any) -> bool:
    """Whether a column holds dates, by its type or, for text, by all its values."""
    if not is_string(column.type):
        tests = pa.types.is_date, pa.types.is_time, pa.types.is_timestamp
        return any(test(column.type) for test in tests)
    is_date = pc.match_substring_regex(words(column), DATE)
    return first(is_date) >= 0 and first(pc.invert(is_date)) < 0


def numbers(source: Source, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column as float64, missing values as NaN; other words are refused."""
    column = decoded(source.table.column(name))
    if is_string(column.type):
        column = _numeric_text(source, name)
        other = pc.invert(pc.match_substring_regex(column, NUMBER))
        has_comma = pc.match_substring_regex(column, COMMA)
        problem = "must be a number, got {}; `decimal` can be ',', the decimal sign."
        source.refuse(pc.and_(other, has_comma), name, problem)
        source.refuse(other, name, "must be a number, got {}.")
    elif not (is_number(column.type) or pa.types.is_boolean(column.type)):
        raise source.fault(f"must hold numbers, got {column.type}.", name)
    column = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(column.to_numpy(), dtype=np.float64)


class TextKind:
    """What the cells of a text column are, as far as it was looked at."""

    def __init__(self) -> None:
        self._has_value, self._sure = False, False
        # What each pattern of all cells so far makes of them, the first one counts.
        self._kinds = {CANONICAL_INTEGER: pa.int64(), CANONICAL_DECIMAL: pa.float64()}
        self._has_comma, self._has_numbers = False, True

    def look(self, column: Any) -> None:
        """Look at more cells."""
        self._has_value |= column.null_count < len(column)
        for pattern in tuple(self._kinds):
            if first(pc.invert(pc.match_substring_regex(column, pattern))) >= 0:
                del self._kinds[pattern]
        if CANONICAL_INTEGER in self._kinds:
            try:
                column.cast(pa.int64())
            except pa.ArrowInvalid:
                self._kinds[CANONICAL_INTEGER] = None

    def look_for_commas(self, column: Any) -> None:
        """Look at more cells for the decimal sign."""
        self._has_comma |= first(pc.match_substring(column, ",")) >= 0
        text = words(column)
        has_comma = pc.match_substring_regex(text, COMMA)
        whole = rf"{CANONICAL_INTEGER}|^{IN_DOTS}$"
        is_number = pc.or_(has_comma, pc.match_substring_regex(text, whole))
        is_grouped = pc.match_substring_regex(text, f"^{IN_COMMAS}$")
        self._has_numbers &= first(pc.invert(is_number)) < 0
        self._sure |= first(pc.and_not(has_comma, is_grouped)) >= 0

    @property
    def type(self) -> Any:
        """Integers or decimals where nothing is lost by it, else None.

        Zeros that a number would not have keep it text: `007` and `1.10`.
        """
        return next(iter(self._kinds.values()), None) if self._has_value else None

    @property
    def has_decimal_commas(self) -> bool:
        """Whether a comma is the decimal sign without a doubt."""
        return self._has_comma and self._has_numbers and self._sure


def typed_text(column: Any) -> Any:
    """A text column in the `type` that its cells have."""
    kind = TextKind()
    kind.look(column)
    return column if kind.type is None else column.cast(kind.type)


def typed_table(source: Source, known: dict[str, Any]) -> Any:
    """The table with its text columns given types, those in `known` or the likely."""
    names, columns = source.table.column_names, source.table.columns
    for place, name in enumerate(names):
        if name in source.text_columns:
            given = known[name] if name in known else typed_text(columns[place])
            columns[place] = given
    return pa.table(columns, names=names)


def flat_table(table: Any) -> Any:
    """The table with each column of vectors spread over `x_0`, `x_1` and so on."""
    columns, taken = {}, set(table.column_names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_fixed_size_list(column.type):
            columns[name] = column
            continue
        for entry in range(column.type.list_size):
            part = f"{name}_{entry}"
            if part in taken:
                what = f"Column {name!r} cannot be spread over columns, since"
                raise ValueError(f"{what} {part!r} is taken.")
            columns[part] = pc.list_element(column, entry)
    return pa.table(columns)


def words(column: Any) -> Any:
    """Text without space around it, and null where a word says that it is missing."""
    text = pc.utf8_trim_whitespace(column)
    is_missing = pc.is_in(text, pa.array(MISSING_WORDS, text.type))
    return pc.if_else(is_missing, pa.scalar(None, text.type), text)


def decimal_sign(table: Any) -> str | None:
    """A comma where a column of text leaves no doubt that it is the decimal sign."""
    for column in table.columns:
        kind = TextKind()
        kind.look_for_commas(column)
        if kind.has_decimal_commas:
            return ","
    return None


def _numeric_text(source: Source, name: str) -> Any:
    """Text as numbers are written, null where a number is missing.

    Signs that set thousands apart go: where all numbers of the column that have such a
    sign have it there, and one of them leaves no doubt, as `1.100,5` and `1.100.000`.
    """
    text, is_comma = words(decoded(source.table.column(name))), source.decimal == ","
    sign, grouped, point = (".", IN_DOTS, ",") if is_comma else (",", IN_COMMAS, "[.]")
    has_sign = pc.match_substring(text, sign)
    is_grouped = pc.match_substring_regex(text, f"^{grouped}({point}[0-9]*)?$")
    if first(has_sign) >= 0 and first(pc.and_not(has_sign, is_grouped)) < 0:
        is_sure = pc.match_substring_regex(text, "[.,].*[.,]")
        if first(is_sure) >= 0:
            text = pc.replace_substring(text, sign, "")
        elif is_comma:
            problem = "{} may have a dot for thousands or for decimals; leave it out."
            source.refuse(has_sign, name, problem)
    return pc.replace_substring(text, ",", ".") if is_comma else text
