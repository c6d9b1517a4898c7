import pytest

from sgat.config import Config
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request
from sgat.runs.start import continue_run, start_run


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
