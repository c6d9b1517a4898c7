"""The page: its template and scripts, in one file that fetches nothing; text in it."""

import base64
import hashlib
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

SIGN = '<meta name="generator" content="sgat report">'
"""Part of the head of every report."""
VIEW_SCRIPTS = (
    *("data.js", "programs.js", "pace.js", "drawing.js", "panel.js", "controls.js"),
)
"""Scripts of a page with a graph to look around in."""
SCRIPTS = ("charts.js", "tables.js", "main.js")
"""Scripts of every page, after those of the view; all share one scope."""
SHADES = 7
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


def expected(value: float) -> str:
    """An expected number of things."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def asset(name: str) -> str:
    """A file of the page, as text."""
    folder = resources.files("sgat.report") / "assets"
    return (folder / name).read_text(encoding="utf-8")


def assemble(template: str, *, has_view: bool = False, **parts: Any) -> str:
    """The whole page by a template; text in its parts is escaped.

    Its policy lets no address be asked for anything, and only the scripts and the style
    sheet that are part of the page be run: each is named by its hash.
    """
    names = (*VIEW_SCRIPTS, *SCRIPTS) if has_view else SCRIPTS
    scripts = {
        "head_script": asset("head.js"),
        "library": asset("sigma.bundle.js") if has_view else "",
        "script": "(() => {\n" + "\n".join(map(asset, names)) + "})();\n",
    }
    for name, script in scripts.items():
        assert "</script" not in script.lower(), f"{name} would end its element"
    style = asset("report.css")
    allowed = " ".join(map(_hash, filter(None, scripts.values())))
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    licences = asset("LICENSES.txt") if has_view else ""
    own = {"policy": policy, "style": style, "licences": licences, **scripts}
    return _templates().get_template(template).render(**own, **parts)


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=readable,
        trim_blocks=True,
    )
    found.filters |= {"percent": percent, "number": number, "count": "{:,}".format}
    found.filters["expected"] = expected
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
