"""Text of the user in HTML: escaped, shortened, never anything but text."""

from __future__ import annotations

import html
import json
import re
from typing import Any

LONGEST = 28
"""Characters of a name that are shown; the rest is in its tooltip."""
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def escape(text: Any) -> str:
    """Text for HTML, also within quotes; what HTML cannot hold becomes U+FFFD."""
    return html.escape(_UNSEEN.sub("\ufffd", str(text)), quote=True)


def name(text: Any, longest: int = LONGEST) -> str:
    """A name given by the user, kept apart from the direction of the text around it.

    A long one is cut off and has its whole text in a tooltip.
    """
    whole = str(text)
    short = whole if len(whole) <= longest else whole[: longest - 1] + "…"
    title = "" if short == whole else f' title="{escape(whole)}"'
    return f"<bdi{title}>{escape(short)}</bdi>"


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
