import contextlib
import re
from pathlib import Path

import pandas as pd
import pytest
import torch
from support.settings import request_for
from support.small_files import copy_trained, write_small_files

import sgat
from sgat.explaining.removal import removal_of
from sgat.runs.finished_run import open_run
from sgat.runs.folder import RunFolder
from sgat.runs.request import start_run
from sgat.runs.run import run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the small files and `mine`, a run of three epochs on them."""
    folder = tmp_path_factory.mktemp("trained")
    files = write_small_files(folder)
    names = [name.removeprefix("--") for name in files[::2]]
    options = dict(zip(names, files[1::2], strict=True))
    with contextlib.chdir(folder):
        request = request_for({**options, "out": "mine", "epochs": 3})
        run(*start_run(request, overwrite=False))
    return folder


@pytest.fixture
def finished(trained, tmp_path, monkeypatch):
    """A copy of the run, beside copies of its files."""
    copy_trained(trained, tmp_path)
    monkeypatch.chdir(tmp_path)
    return RunFolder(Path("mine"))


def test_a_run_comes_back_with_its_data(finished):
    opened = open_run("mine")
    assert opened.summary["edges"] == opened.graphs[0].graph.num_edges == 30
    (part,) = opened.scored
    assert part.data.classes == ("even", "odd")
    table = pd.read_parquet(finished.edges)
    assert int(table["kept"].sum()) == int(part.edges.kept.sum())
    predicted = pd.read_parquet(finished.nodes)["prediction"]
    assert list(predicted) == [part.data.classes[k] for k in part.prediction]


def test_changed_data_is_refused_where_it_is_needed(finished, tmp_path):
    nodes = (tmp_path / "nodes.csv").read_text()
    (tmp_path / "nodes.csv").write_text(nodes.replace("2.0", "3.0"))
    with pytest.raises(ValueError, match="data has changed since"):
        open_run("mine").scored  # noqa: B018  # it reads the data


def test_a_report_needs_the_folder_alone(finished, tmp_path):
    with_data = open_run("mine")
    assert with_data.scored
    for name in ("edges.csv", "nodes.csv"):
        (tmp_path / name).unlink()
    content = open_run("mine").content()
    assert len(content.history) == 3
    (part,), (whole,) = content.scored, with_data.scored
    assert part.data.x.shape == (30, 0) and part.edges.attention is None
    assert torch.equal(part.edges.log_alpha, whole.edges.log_alpha)
    assert content.removal == removal_of(with_data.scored)
    assert sum(point.is_trained for point in content.curve) == 1


def test_damaged_files_are_named(finished):
    for content in ("{", "[]", '{"curve": []}'):
        finished.removal.write_text(content)
        with pytest.raises(ValueError, match=re.escape("removal.json is damaged")):
            open_run("mine").content()
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


def test_a_loaded_classifier_reads_the_data_of_the_run_where_none_is_given(finished):
    loaded, nodes = sgat.load("mine"), pd.read_parquet(finished.nodes)
    assert loaded.graphs_ == []
    assert list(loaded.predict()) == list(nodes["prediction"])
    probability = nodes[["probability_even", "probability_odd"]].to_numpy()
    assert (sgat.load("mine").predict_proba() == probability).all()
    assert loaded.score(role="test") == open_run("mine").summary["accuracy"]
    assert loaded.sparsify(keep=0.5).graph.num_edges == 15
    assert loaded.graphs_[0].ids[0] == "n00"


def test_a_loaded_classifier_says_where_its_data_is_gone(finished, tmp_path):
    (tmp_path / "edges.csv").rename(tmp_path / "away.csv")
    with pytest.raises(FileNotFoundError) as gone:
        sgat.load("mine").predict()
    path = tmp_path / "edges.csv"
    text = f"{path}, of the data of mine, is gone; give the data to this call."
    assert str(gone.value) == text
    path.write_text("src,dst\nn00,n01\n")
    with pytest.raises(ValueError, match="data has changed since"):
        sgat.load("mine").predict()
    sgat.load("mine").save("saved")
    with pytest.raises(ValueError) as unknown:
        sgat.load("saved").predict()
    assert str(unknown.value).startswith("saved was written by `save` and does not")


def test_a_loaded_classifier_finds_the_named_data_of_its_run(tmp_path):
    request = request_for({"name": "karate", "out": str(tmp_path / "k"), "epochs": 3})
    run(*start_run(request, overwrite=False))
    loaded, nodes = (
        sgat.load(tmp_path / "k"),
        pd.read_parquet(tmp_path / "k/nodes.parquet"),
    )
    assert list(loaded.predict()) == list(nodes["prediction"])
