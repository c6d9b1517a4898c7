import pytest

from sgat.config import DataConfig
from sgat.runs.request import Request


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
