"""Docstrings as Sphinx wants them: ours are read in an editor first.

There a formula is an indented block, and code stands between single backticks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAME = re.compile(r"`(sgat\.[\w.]+|[A-Z]\w+(\.\w+)?|[a-z]\w+_[a-z]\w+)`")
"""What may be the name of something that the reference describes."""
ROUTING = re.compile(r"set_\w+_request")
"""Methods that scikit-learn adds to every estimator."""


def indent_of(line: str) -> int:
    """Number of blanks that a line begins with."""
    return len(line) - len(line.lstrip())


def marked_up(text: str) -> str:
    """Code becomes literal, and signs that mean something to Sphinx become signs."""
    parts = re.split(r"(`[^`]+`)", text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = part if NAME.fullmatch(part) else f"`{part}`"
            # Sphinx wants a sign or a blank after code: `gate`s.
            if re.match(r"\w", parts[i + 1]):
                parts[i + 1] = "\\ " + parts[i + 1]
        else:
            part = re.sub(r"(?<=\S)\*|\*(?=\S)", r"\\*", part).replace("|", r"\|")
            parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part)
    return "".join(parts)


def as_sphinx_reads(lines: list[str]) -> list[str]:
    """Mark indented blocks as literal, and the text between them up."""
    made: list[str] = []
    text: list[str] = []
    block: int | None = None

    def flush() -> None:
        made.extend(marked_up("\n".join(text)).split("\n") if text else [])
        text.clear()

    last, was_blank = 0, False
    for line in lines:
        indent = indent_of(line)
        if line.strip():
            if block is not None and indent < block:
                block = None
            if block is None and was_blank and indent > last:
                flush()
                made.extend([" " * last + "::", ""])
                block = indent
            if block is None:
                last = indent
        (text if block is None else made).append(line)
        was_blank = not line.strip()
    flush()
    return made


def adapt(app: Sphinx, what: str, name: str, it: Any, _: Any, lines: list[str]) -> None:
    """Rewrite a docstring before its sections are read."""
    lines[:] = as_sphinx_reads(lines)


def leave_out(
    app: Sphinx, _: str, name: str, it: Any, out: bool, __: Any
) -> bool | None:
    """Whether a member is none of ours: routing of scikit-learn, fields of a tuple."""
    doc = getattr(it, "__doc__", None) or ""
    return bool(ROUTING.fullmatch(name) or doc.startswith("Alias for field")) or None


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # Before Napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", adapt, priority=400)
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True}
