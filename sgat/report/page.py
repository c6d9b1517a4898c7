"""The page: what it is made of, in one file that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from string import Template

SIGN = '<meta name="generator" content="sgat report">'
"""Part of the head of every report."""
SCRIPTS = (
    *("data.js", "programs.js", "pace.js", "drawing.js", "panel.js", "controls.js"),
    *("charts.js", "main.js"),
)
"""Our scripts in the order they need each other; they share one scope."""


def asset(name: str) -> str:
    """A file of the page, as text."""
    folder = resources.files("sgat.report") / "assets"
    return (folder / name).read_text(encoding="utf-8")


def assemble(**parts: str) -> str:
    """The whole page from its parts.

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
    page = Template(asset("page.html"))
    return page.substitute(policy=policy, style=style, sign=SIGN, **scripts, **parts)


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
