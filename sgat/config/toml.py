"""Settings as TOML, which Python reads but does not write."""

from __future__ import annotations

import json
import math
from typing import Any

from sgat.config.checked import Settings


def toml_table(name: str, section: Settings) -> str:
    """A section as a table, with the tables in it.

    None is left out, and so are empty tables and those that hold only defaults.
    """
    lines, tables = [f"[{name}]\n"], []
    for key, value in vars(section).items():
        if isinstance(value, Settings):
            if value != type(value)():
                tables.append("\n" + toml_table(f"{name}.{key}", value))
        elif value is not None and value != {}:
            lines.append(f"{key} = {toml_value(value)}\n")
    return "".join([*lines, *tables])


def toml_value(value: Any) -> str:
    """A string, number, truth value, list or table in one line of TOML."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return repr(value) if isinstance(value, int | float) else _string(str(value))


def _string(text: str) -> str:
    # JSON and TOML basic strings agree except that TOML has no surrogate escapes
    # and wants DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
