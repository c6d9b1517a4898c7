import pytest

from sgat.config import Config, DataConfig, FileOptions, TrainConfig
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request, continue_run, start_run


def test_settings_are_the_defaults_with_the_changes():
    request = Request(model={"hidden": 3}, train={"keep": 0.5})
    assert request.settings() == Config().replace(
        model={"hidden": 3}, train={"keep": 0.5}
    )
    with pytest.raises(ValueError, match="`hidden` must be from 1 to 1048576, got 0"):
        Request(model={"hidden": 0}).settings()


def test_a_shipped_config_holds_unless_another_is_named():
    assert Request({"name": "karate"}).settings().train.keep == 0.54
    config = Request({"name": "cora"}, config="paper/cora").settings()
    assert config.model.temperature == 0.66 and config.data.name == "cora"


@pytest.mark.parametrize("scorer", ["evidence", "revised", "auto"])
def test_the_price_that_is_shipped_for_another_scorer_does_not_hold(scorer):
    texas, model = {"name": "texas"}, {"scorer": scorer}
    assert Request(texas).settings().train.l0_weight > 0
    found = Request(texas, model=model).settings().train
    assert found.l0_weight == TrainConfig.l0_weight
    found = Request(texas, model=model, train={"l0_weight": 0.3}).settings().train
    assert found.l0_weight == 0.3


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            Request({"name": "karate"}, {"fill_missing": "zero"}),
            "`fill_missing` goes with `edges`, your own files.",
        ),
        (
            Request({"name": "karate", "nodes": "n.csv"}),
            "`nodes` goes with `edges`, your own files.",
        ),
        (
            Request({"edges": "e.csv", "largest_component": True}),
            "`largest_component` goes with the name of a data set.",
        ),
        (
            Request({"edges": "e.csv", "root": "d"}),
            "`root` goes with the name of a data set.",
        ),
        (
            Request({"edges": "e.csv"}, {"label": "y", "labels": ("a", "b")}),
            "`label` and `labels` exclude each other, got 'y' and ['a', 'b'].",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(request_, message):
    with pytest.raises(ValueError) as error:
        request_.settings()
    assert str(error.value) == message


def test_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request({"edges": "e.csv", "nodes": "n.csv", "split": "s.npz"})
    data = request.settings().data
    places = {"edges": "e.csv", "nodes": "n.csv", "split": "s.npz"}
    assert data.paths == {what: str(tmp_path / name) for what, name in places.items()}
    named = Request({"name": "karate", "root": "d", "split": "random-20"})
    assert named.root == named.settings().data.root == str(tmp_path / "d")
    assert named.settings().data.split == "random-20" and Request().root is None


def test_files_replace_the_name_of_a_config_and_what_goes_with_it(tmp_path):
    toml = tmp_path / "c.toml"
    toml.write_text('[data]\nname = "cora"\nsplit = "public"\nroot = "/d"\n')
    given = {"edges": "/e.csv", "nodes": "/n.csv"}
    data = Request(given, {"label": "y"}, config=str(toml)).settings().data
    assert data == DataConfig(**given, files=FileOptions(label="y"))


def test_a_name_replaces_the_files_of_a_config(tmp_path):
    toml = tmp_path / "c.toml"
    toml.write_text(
        '[data]\nedges = "/e.csv"\nnodes = "/n.csv"\n[data.files]\nlabel = "y"\n'
        "[train]\nepochs = 7\n"
    )
    named = Request({"name": "karate"}, config=str(toml)).settings()
    assert named.data == DataConfig(name="karate") and named.train.epochs == 7
    more = Request(files={"labels": ("a", "b")}, config=str(toml)).settings()
    assert more.data.files == FileOptions(labels=("a", "b"))
    assert more.data.edges == "/e.csv"


def test_where_a_data_set_lies_is_no_change_of_a_run():
    assert Request({"name": "cora", "root": "d"}).changes == []
    request = Request({"split": "s"}, {"id": "n"}, {"hidden": 1}, {"lr": 1.0}, "c.toml")
    assert request.changes == ["split", "id", "hidden", "lr", "config"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(ValueError, match="`out` must be a folder, got the file"):
        start_run(Request({"name": "karate"}, out=tmp_path / "f"), overwrite=True)


def test_settings_come_from_the_folder_on_resume(tmp_path):
    folder = RunFolder(tmp_path / "r")
    settings = Config().replace(data={"name": "karate"}, train={"epochs": 7})
    folder.start(settings)
    assert continue_run(Request(out=folder.path))[1] == settings


def test_without_a_place_a_run_takes_the_first_free_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("karate", "karate-2", "karate-3"):
        folder, settings = start_run(Request({"name": "karate"}), overwrite=False)
        assert folder.path.as_posix() == f"runs/{name}" and not folder.path.exists()
        folder.start(settings)
