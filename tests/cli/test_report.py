import json
import shutil
import webbrowser

import pytest

from sgat.cli import main
from sgat.report.page import is_report

QUICK = ["--fast", "--epochs", "2", "--snapshots", "0", "--quiet"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    assert main(["fit", "karate", *QUICK, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(trained, tmp_path / "run")


def test_the_report_lies_in_the_run_folder(run, capsys):
    capsys.readouterr()
    assert main(["report", "run"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("run/report.html: 0.3 MB, all 156 edges drawn")
    assert is_report(run / "report.html")
    before = (run / "report.html").read_bytes()
    assert main(["report", "run", "--quiet"]) == 0
    assert (run / "report.html").read_bytes() == before


def test_numbers_for_machines(run, capsys):
    capsys.readouterr()
    assert main(["report", "run", "--out", "x.html", "--json", "--quiet"]) == 0
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert found["path"] == "x.html"
    assert found["edges"] == found["edges_in_page"] == 156
    assert found["removal"]["before"]["edges"] == 156
    assert found["curve"][0]["removed"] == 0
    assert output.err == ""


def test_open_shows_the_page(run, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: opened.append(uri) or True)
    assert main(["report", "run", "--open", "--quiet"]) == 0
    assert opened == [(run / "report.html").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda uri: False)
    assert main(["report", "run", "--open", "--quiet"]) == 0
    assert "no browser could be started" in capsys.readouterr().err


def test_a_file_that_is_no_report_is_replaced_only_on_request(run, tmp_path, capsys):
    (tmp_path / "mine.html").write_text("mine")
    assert main(["report", "run", "--out", "mine.html"]) == 1
    assert "mine.html is no report of sgat" in capsys.readouterr().err
    assert (tmp_path / "mine.html").read_text() == "mine"
    assert main(["report", "run", "--out", "mine.html", "--overwrite", "--quiet"]) == 0
    assert is_report(tmp_path / "mine.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nowhere"], "There is no run folder nowhere"),
        (["run", "--out", "run/edges.parquet", "--overwrite"], "file of the run"),
        (["run", "--out", "no/x.html"], "folder that exists"),
        (["run", "--out", "run"], "must be a file"),
        (["run", "--graph", "other"], "`--graph` must be one of karate, got 'other'"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_sentence(
    run, options, message, capsys
):
    before = sorted(file.name for file in run.iterdir())
    capsys.readouterr()
    assert main(["report", *options]) == 1
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ") and message in error
    assert len(error.splitlines()) == 1
    assert sorted(file.name for file in run.iterdir()) == before


def test_a_report_never_replaces_the_data_it_is_of(csv_files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", *csv_files, *QUICK, "--out", "run"]) == 0
    before = (tmp_path / "nodes.csv").read_bytes()
    options = ["--out", "nodes.csv", "--overwrite"]
    assert main(["report", "run", *options]) == 1
    assert (tmp_path / "nodes.csv").read_bytes() == before


def test_a_new_run_takes_the_report_of_the_old_one_away(run, tmp_path):
    assert main(["report", "run", "--quiet"]) == 0
    assert main(["fit", "karate", *QUICK, "--out", "run", "--overwrite"]) == 0
    assert not (run / "report.html").exists()
    (run / "report.html").write_text("mine")
    assert main(["fit", "karate", *QUICK, "--out", "run", "--overwrite"]) == 0
    assert (run / "report.html").read_text() == "mine"


def test_help_ends_with_examples(capsys):
    assert main(["report", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--open" in text and "sgat report runs/karate --open" in text
