"""Pages made of other texts: the index of the README, and the help of the commands."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAVIGATION = {
    "Use": [
        "docs/guide",
        "examples/which_links_are_wrong",
        "examples/learn_without_them",
        "docs/files",
        "docs/datasets",
    ],
    "Reference": ["docs/site/api", "docs/site/commands"],
    "Method": ["docs/method", "docs/synthetic", "docs/scaling", "docs/kernels"],
    "Measured": [
        "docs/measurements",
        "docs/unseen",
        "docs/attacks",
        "docs/compare",
        "docs/baselines",
        "docs/transfer",
        "docs/reproduction",
    ],
    "Project": ["docs/trust", "SECURITY", "CONTRIBUTING", "CHANGELOG", "docs/log"],
}
"""The documents of the site under their titles."""
LEFT_OUT = re.compile(r"^## The tree\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
WIDTH = 104
"""Characters of a line of help."""
BLOCK = "```{{code-block}} text\n:class: help\n\n{}\n```\n"


def navigation() -> str:
    """The navigation as directives, which the theme shows beside every page."""
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n"
        + "".join(f"/{name}\n" for name in names)
        + "```\n"
        for title, names in NAVIGATION.items()
    )


def help_of_commands() -> str:
    """A section for each command of `sgat`, with its help as a terminal shows it."""
    import typer.rich_utils
    from typer.main import get_command
    from typer.testing import CliRunner

    from sgat.cli import VERBS, app

    for verb in VERBS:
        import_module(f"sgat.cli.{verb}")
    typer.rich_utils.MAX_WIDTH = WIDTH
    runner, made = CliRunner(), []

    def describe(words: list[str], command: Any) -> None:
        shown = runner.invoke(app, [*words, "--help"], prog_name="sgat")
        text = "\n".join(line.rstrip() for line in shown.output.splitlines())
        title = " ".join(["sgat", *words])
        made.append(f"## {title}\n\n{BLOCK.format(text.strip())}")
        for name, inner in getattr(command, "commands", {}).items():
            describe([*words, name], inner)

    describe([], get_command(app))
    return "\n".join(made)


def adapt(app: Sphinx, name: str, source: list[str]) -> None:
    """Make the index of the README, and add the help to the page of the commands."""
    if name == app.config.root_doc:
        source[0] = LEFT_OUT.sub("", source[0]) + navigation()
    elif name == "docs/site/commands":
        source[0] += "\n" + help_of_commands()


def finish(app: Sphinx, failed: Exception | None) -> None:
    """Give the index the name that browsers and servers look for."""
    if failed is None and app.builder.name == "html":
        made = Path(app.outdir)
        shutil.copyfile(made / f"{app.config.root_doc}.html", made / "index.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", adapt)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True}
