"""The page: its template and scripts, in one file that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from sgat.report.markup import number, percent, readable

SIGN = '<meta name="generator" content="sgat report">'
"""Part of the head of every report."""
SCRIPTS = (
    *("data.js", "programs.js", "pace.js", "drawing.js", "panel.js", "controls.js"),
    *("charts.js", "main.js"),
)
"""Our scripts in the order they need each other; they share one scope."""
SHADES = 7


def asset(name: str) -> str:
    """A file of the page, as text."""
    folder = resources.files("sgat.report") / "assets"
    return (folder / name).read_text(encoding="utf-8")


def assemble(**parts: Any) -> str:
    """The whole page; text in its parts is escaped.

    Its policy lets no address be asked for anything, and only the scripts and the style
    sheet that are part of the page be run: each is named by its hash.
    """
    scripts = {
        "head_script": asset("head.js"),
        "library": asset("sigma.bundle.js"),
        "script": "(() => {\n" + "\n".join(map(asset, SCRIPTS)) + "})();\n",
    }
    for name, script in scripts.items():
        assert "</script" not in script.lower(), f"{name} would end its element"
    style = asset("report.css")
    allowed = " ".join(map(_hash, scripts.values()))
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"policy": policy, "style": style, "sign": SIGN, **scripts}
    return _templates().get_template("page.html").render(**own, **parts)


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=readable,
        trim_blocks=True,
    )
    found.filters |= {"percent": percent, "number": number, "count": "{:,}".format}
    found.globals["shade"] = lambda part, whole: round(SHADES * part / max(whole, 1))
    return found


def is_report(path: Path) -> bool:
    """Whether a file begins as a report does."""
    try:
        with path.open("rb") as file:
            return SIGN.encode() in file.read(4000)
    except OSError:
        return False


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
