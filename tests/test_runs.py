import pytest

from sgat.config import Config
from sgat.run_folder import RunFolder
from sgat.runs import Request, continue_run, run, start_run


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
