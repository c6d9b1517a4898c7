import re

import pandas as pd
import pytest
import torch

import sgat
from sgat.runs.finished_run import open_run
from sgat.runs.request import Request
from sgat.runs.run import run
from sgat.runs.start import start_run


@pytest.fixture
def finished(csv_files, tmp_path, monkeypatch):
    """A run of three epochs on the small files, in the folder `mine`."""
    monkeypatch.chdir(tmp_path)
    names = [name.removeprefix("--") for name in csv_files[::2]]
    options = dict(zip(names, csv_files[1::2], strict=True))
    request = Request.from_options({**options, "out": "mine", "epochs": 3})
    folder, settings = start_run(request, overwrite=False)
    run(folder, settings)
    return folder


def test_a_run_comes_back_with_its_data(finished):
    opened = open_run("mine")
    assert opened.summary["edges"] == opened.graphs[0].graph.num_edges == 30
    assert opened.classes == ("even", "odd")
    table = pd.read_parquet(finished.edges)
    kept = torch.tensor(table["kept"].to_numpy())
    assert int(kept.sum()) == int(opened.scores[0].kept.sum())
    predicted = pd.read_parquet(finished.nodes)["prediction"]
    found = [opened.classes[k] for k in opened.logits[0].argmax(dim=1)]
    assert list(predicted) == found


def test_changed_data_is_refused(finished, tmp_path):
    nodes = (tmp_path / "nodes.csv").read_text()
    (tmp_path / "nodes.csv").write_text(nodes.replace("2.0", "3.0"))
    with pytest.raises(ValueError, match="data has changed since"):
        open_run("mine")


def test_a_damaged_summary_is_named(finished):
    for content in ("{", "[]"):
        finished.summary.write_text(content)
        with pytest.raises(ValueError, match=re.escape("summary.json is damaged")):
            open_run("mine")


def test_what_is_no_finished_run_is_refused(finished, tmp_path):
    with pytest.raises(ValueError, match="no run folder nowhere"):
        open_run("nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="not a finished run"):
        open_run("empty")
    sgat.load("mine").save("saved")
    with pytest.raises(ValueError, match="does not say where its data is"):
        open_run("saved")
    finished.start(open_run("mine").config)
    with pytest.raises(ValueError, match="sgat fit --resume --out mine"):
        open_run("mine")
