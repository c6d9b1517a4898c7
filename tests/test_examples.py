import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_the_examples_are_found():
    assert len(EXAMPLES) == 4


# torch_geometric.nn scripts a few classes when it is imported.
WARNINGS = ["-W", "error", "-W", "ignore:`torch.jit:DeprecationWarning"]


# A process each, for 7 seconds.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_is_short(path, tmp_path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    done = subprocess.run(
        [sys.executable, *WARNINGS, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout
