"""Settings as TOML, which Python reads but does not write."""

from __future__ import annotations

import json
import math
from typing import Any


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
