import numpy as np
import pytest

import sgat
import sgat.runs
from sgat.config import Config, DataConfig, default_config
from sgat.run_folder import RunFolder
from sgat.runs import (
    Request,
    _kept_note,
    _weak_note,
    continue_run,
    run,
    start_run,
)


def test_options_are_sorted_into_their_sections(tmp_path):
    request = Request.from_options(
        {"edges": tmp_path / "e.csv", "label": "y", "features": "a,b", "hidden": 3}
        | {"keep": 0.5, "split": "random-20", "split_column": "role", "quiet": True}
    )
    assert request.data == {
        "edges": str(tmp_path / "e.csv"),
        "split": "random-20",
        "options": {"label": "y", "features": ["a", "b"], "split": "role"},
    }
    assert request.model == {"hidden": 3} and request.train == {"keep": 0.5}


def test_file_options_without_files_are_refused():
    request = Request.from_options({"name": "karate", "fill_missing": "zero"})
    with pytest.raises(ValueError, match="`--fill-missing` goes with `--edges`"):
        request.settings()


def test_a_finished_run_resumes_to_what_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request(name="karate", train={"epochs": 3, "snapshots": 0})
    folder, settings = start_run(request, overwrite=False)
    assert folder.path.name == "karate" and not folder.path.exists()
    first = run(folder, settings)
    folder, settings = continue_run(Request(out=folder.path))
    again = run(folder, settings, resume=True)
    assert again.summary["accuracy"] == first.summary["accuracy"]
    assert again.epochs == 3
    assert "was finished already" in again.notes[0]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(ValueError, match="`--out` must be a folder, got the file"):
        start_run(Request(name="karate", out=tmp_path / "f"), overwrite=True)


def test_settings_come_from_the_folder_on_resume(tmp_path):
    folder = RunFolder(tmp_path / "r")
    settings = Config().replace(data={"name": "karate"}, train={"epochs": 7})
    folder.start(settings)
    assert continue_run(Request(out=folder.path))[1] == settings


def test_paths_are_stored_absolute_and_lists_without_spaces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request.from_options(
        {"edges": "e.csv", "split": "s.npz", "features": "", "categorical": "a, b ,"}
    )
    assert request.data == {
        "edges": str(tmp_path / "e.csv"),
        "split": str(tmp_path / "s.npz"),
        "options": {"features": [], "categorical": ["a", "b"]},
    }
    named = Request.from_options({"name": "karate", "data_root": "d"}).settings()
    assert named.data.options == {"root": str(tmp_path / "d")}


def test_files_replace_the_name_of_a_config_and_its_options(tmp_path):
    toml = tmp_path / "c.toml"
    toml.write_text(
        '[data]\nname = "cora"\nsplit = "public"\noptions = { root = "/d" }\n'
    )
    given = {"config": str(toml), "edges": "/e.csv", "nodes": "/n.csv", "label": "y"}
    data = Request.from_options(given).settings().data
    assert data == DataConfig(edges="/e.csv", nodes="/n.csv", options={"label": "y"})


def test_a_name_replaces_the_files_of_a_config(tmp_path):
    toml = tmp_path / "c.toml"
    toml.write_text(
        '[data]\nedges = "/e.csv"\nnodes = "/n.csv"\noptions = { label = "y" }\n'
        "[train]\nepochs = 7\n"
    )
    request = Request.from_options({"config": str(toml), "name": "karate"})
    assert request.settings().data == DataConfig(name="karate")
    assert request.settings().train.epochs == 7
    more = Request.from_options({"config": str(toml), "labels": "a,b"}).settings()
    assert more.data.options == {"labels": ["a", "b"]}
    assert more.data.edges == "/e.csv"


def test_a_run_on_an_undirected_graph_loads_as_it_was(tmp_path):
    settings = Config().replace(
        data={"name": "karate"}, train={"epochs": 3, "device": "cpu"}
    )
    run(RunFolder(tmp_path / "r"), settings)
    loaded = sgat.load(tmp_path / "r")
    (data,) = sgat.data.load("karate")
    again = loaded.score_edges(data)
    assert np.allclose(again["log_alpha"], loaded.edges_["log_alpha"], atol=1e-6)


@pytest.mark.parametrize(
    ("keep", "removed", "edges", "told"),
    [
        (0.3, 0.5, 1000, "50.0% of the edges are kept, not 30.0%: edges whose scores"),
        (0.3, 0.69, 1000, None),
        (0.25, 0.7, 10, None),
        (None, 0.5, 1000, None),
        (0.3, 0.0, 0, None),
    ],
)
def test_a_share_that_is_missed_is_told(keep, removed, edges, told):
    notes = _kept_note({"keep": keep, "removed_share": removed, "edges": edges})
    assert len(notes) == (told is not None)
    assert told is None or notes[0].startswith(told)


@pytest.mark.parametrize(
    ("keep", "gate", "is_told"),
    [(0.3, 0.24, True), (0.3, 0.25, False), (None, 0.1, False), (0.3, None, False)],
)
def test_kept_edges_that_are_hardly_heard_are_told(keep, gate, is_told):
    notes = _weak_note({"keep": keep, "mean_gate": gate})
    assert len(notes) == is_told
    assert not is_told or "mean gate of 0.24 and are hardly heard" in notes[0]


def test_the_mean_gate_is_that_of_the_kept_edges(tmp_path):
    settings = Config().replace(
        data={"name": "karate"}, train={"epochs": 3, "keep": 0.4, "device": "cpu"}
    )
    summary = run(RunFolder(tmp_path / "r"), settings).summary
    edges = sgat.load(tmp_path / "r").edges_
    expected = edges.loc[edges["kept"], "gate"].mean()
    assert summary["mean_gate"] == pytest.approx(expected, abs=1e-6)
    assert 0 < expected < edges["gate"].max()


def test_a_shipped_share_is_no_reason_to_warn(tmp_path, monkeypatch):
    monkeypatch.setattr(sgat.runs, "LEAST_GATE", 2.0)
    for keep, is_told in {0.54: False, 0.4: True}.items():
        shipped = default_config("karate")
        settings = shipped.replace(train={"epochs": 2, "keep": keep, "snapshots": 0})
        notes = run(RunFolder(tmp_path / str(keep)), settings).notes
        assert any("hardly heard" in note for note in notes) == is_told
