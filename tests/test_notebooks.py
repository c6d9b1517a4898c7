"""The notebooks run, and hold what their cells show."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(scope="module")
def runner():
    """`docs/site/run_notebooks.py`, which is in no package."""
    path = ROOT / "docs" / "site" / "run_notebooks.py"
    spec = importlib.util.spec_from_file_location("run_notebooks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebooks_are_found_and_were_run():
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text("utf-8"))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        numbers = [cell["execution_count"] for cell in code]
        assert numbers == list(range(1, len(code) + 1))
        kinds = [
            kind
            for cell in code
            for out in cell["outputs"]
            for kind in out.get("data", ())
        ]
        assert kinds.count("image/png") and kinds.count("text/html")
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(ids) == len(set(ids))


def test_a_cell_shows_what_jupyter_shows(runner):
    run_cell = runner.run_cell
    names = {}
    (printed,) = run_cell("x = 2\nprint(x)", names, 1)
    assert printed["text"] == ["2\n"]
    (value,) = run_cell("x + 1", names, 2)
    assert value["data"]["text/plain"] == ["3"]
    assert run_cell("x + 1;", names, 3) == []
    drawn = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('A line');"
    (figure,) = run_cell(drawn, names, 4)
    assert figure["data"]["text/plain"] == "A line" and figure["data"]["image/png"]
    with pytest.raises(NameError, match="unknown"):
        run_cell("unknown", names, 5)


# Trainings and drawings: 20 seconds.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_and_show_what_is_stored(path, runner):
    def kinds(notebook):
        return [
            sorted(out.get("data", {"text": 0}))
            for cell in notebook["cells"]
            for out in cell.get("outputs", ())
        ]

    stored = json.loads(path.read_text("utf-8"))
    assert kinds(runner.run(path)) == kinds(stored)
