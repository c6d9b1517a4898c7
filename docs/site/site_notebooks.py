"""Notebooks as pages: text, code, and the outputs that are stored in the file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from myst_parser.parsers.sphinx_ import MystParser

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def fenced(kind: str, text: str) -> str:
    """A block of MyST; the fence is longer than any in the text."""
    fence = "`" * (2 + max([1, *map(len, re.findall("`+", text))]))
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}\n"


def shown(output: dict[str, Any]) -> str:
    """One output of a cell: a picture, a table, or text."""
    if output["output_type"] == "stream":
        return fenced("{code-block} text\n:class: output\n", "".join(output["text"]))
    data = {kind: "".join(value) for kind, value in output["data"].items()}
    if "image/png" in data:
        said = data.get("text/plain", "")
        picture = data["image/png"].replace("\n", "")
        html = (
            f'<img class="output" alt="{said}" src="data:image/png;base64,{picture}">'
        )
        return fenced("{raw} html\n", html)
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        table = re.sub(r"\n\s*\n", "\n", table)
        return fenced("{raw} html\n", f'<div class="output">{table}</div>')
    return fenced("{code-block} text\n:class: output\n", data["text/plain"])


def to_markdown(notebook: str) -> str:
    """The cells of a notebook, one after the other."""
    made = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            made.append(fenced("python", source))
            made += [shown(output) for output in cell["outputs"]]
        else:
            made.append(source + "\n")
    return "\n".join(made)


class NotebookParser(MystParser):
    """Reads a notebook as if its cells stood in a Markdown file."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the text of a notebook file."""
        super().parse(to_markdown(inputstring), document)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
