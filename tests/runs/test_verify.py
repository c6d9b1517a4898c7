import numpy as np
import pandas as pd
import pytest
from support.small_files import write_small_files

from sgat.cli import main
from sgat.runs.finished_run import open_run
from sgat.runs.verify import verify_run
from sgat.training.files import load_tensors, save_tensors


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    files = write_small_files(folder)
    files = [str(folder / f) if f.endswith(".csv") else f for f in files]
    quick = ["--epochs", "3", "--fast", "--quiet", "--device", "cpu"]
    assert main(["fit", *files, *quick, "--out", str(folder / "r")]) == 0
    return folder / "r"


def differing(path):
    return [check.name for check in verify_run(open_run(path)) if not check.same]


def test_a_run_is_what_its_model_and_data_give(trained):
    checks = verify_run(open_run(trained))
    assert all(check.same for check in checks)
    number = len(open_run(trained).folder.files)
    assert checks[0].found.startswith(f"{number - 1} of {number - 1} are as they")


def test_what_was_changed_is_named(trained):
    run = open_run(trained)
    files = {path: path.read_bytes() for path in trained.iterdir()}

    def undo():
        for path, content in files.items():
            path.write_bytes(content)

    edges = pd.read_parquet(run.folder.edges)
    edges["log_alpha"] += np.float32(0.1)
    edges.to_parquet(run.folder.edges)
    assert differing(trained) == ["files", "edges.parquet"]
    undo()
    text = run.folder.summary.read_text()
    line = next(line for line in text.splitlines() if '"training"' in line)
    run.folder.summary.write_text(text.replace(line, '  "training": 0.123,'))
    assert differing(trained) == ["training"]
    undo()
    tensors, state = load_tensors(run.folder.model)
    tensors = {n: t * 1.1 if t.is_floating_point() else t for n, t in tensors.items()}
    save_tensors(run.folder.model, tensors, state)
    assert {"files", "nodes.parquet"} <= set(differing(trained))
    undo()
    assert differing(trained) == []
