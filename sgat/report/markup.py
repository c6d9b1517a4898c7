"""Text of the user in HTML: escaped, never anything but text; numbers for people."""

from __future__ import annotations

import html
import json
import re
from typing import Any

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def readable(value: Any) -> Any:
    """Text in which U+FFFD stands for what HTML cannot hold; other values as given."""
    # A plain string alone: markup that templates made is clean.
    return _UNSEEN.sub("\ufffd", value) if type(value) is str else value


def escape(text: Any) -> str:
    """Text for HTML, also within quotes."""
    return html.escape(readable(str(text)), quote=True)


def json_block(identifier: str, value: Any) -> str:
    """Data for the scripts of the page; nothing in it can end its element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{identifier}">{text}</script>'


def percent(value: float | None, digits: int = 1) -> str:
    """A share as people read it, in one piece; a dash for none."""
    return "–" if value is None else f"{100 * value:.{digits}f}\u00a0%"


def number(value: float | None) -> str:
    """A number with at most four digits that matter; a dash for none."""
    if value is None:
        return "–"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15):
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.4g}".replace("-", "−")
