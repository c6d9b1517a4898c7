"""Run notebooks and store what their cells show, without Jupyter.

    python docs/site/run_notebooks.py examples/*.ipynb

A cell shows what it prints, the figures that it leaves open and the value of its last
line unless a semicolon ends it, as in Jupyter. An error ends the run, and the file
stays as it was.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def show_figures() -> list[dict[str, Any]]:
    """The open figures of matplotlib as outputs; they are closed."""
    import matplotlib.pyplot as plt

    made = []
    for number in plt.get_fignums():
        figure, file = plt.figure(number), io.BytesIO()
        # Without the version of matplotlib the same picture is the same file.
        figure.savefig(file, dpi=110, bbox_inches="tight", metadata={"Software": None})
        title = figure.axes[0].get_title() if figure.axes else ""
        data = {
            "image/png": base64.b64encode(file.getvalue()).decode() + "\n",
            "text/plain": title or "figure",
        }
        made.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return made


def run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Execute a cell in a namespace and return its outputs."""
    tree = ast.parse(source, f"cell {number}")
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = eval(compile(last, f"cell {number}", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    outputs += show_figures()
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": number}
        outputs.append({**result, "data": data, "metadata": {}})
    return outputs


def run(path: Path) -> dict[str, Any]:
    """The notebook of a file with new outputs."""
    import matplotlib

    matplotlib.use("Agg")
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        cell["outputs"] = run_cell("".join(cell["source"]), names, number)
        cell["execution_count"] = number
    return notebook


def main() -> None:
    """Run the notebooks that are named and write them."""
    for name in sys.argv[1:]:
        path = Path(name)
        # In the order that Jupyter and ruff write.
        how: dict[str, Any] = {"indent": 1, "ensure_ascii": False, "sort_keys": True}
        text = json.dumps(run(path), **how) + "\n"
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
