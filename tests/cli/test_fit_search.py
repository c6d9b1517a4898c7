import json
import os
import signal
import time

import pandas as pd
import pytest
from support.processes import started

import sgat
from sgat.cli import main
from sgat.committee import Committee
from sgat.config import Config
from sgat.training import choosing

SHORT = ["--epochs", "10", "--hidden", "3", "--snapshots", "0", "--out", "r"]
RESULTS = ("model.safetensors", "edges.parquet", "nodes.parquet", "config.toml")


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_says_what_was_tried_and_why_this_one(csv_files, tmp_path, capsys):
    assert main(["fit", *csv_files, *SHORT]) == 0
    shown = capsys.readouterr()
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    names = [trial["name"] for trial in summary["tried"]]
    # The first round may leave out the two of many layers.
    assert len(names) >= 14 + 4 + 2
    assert set(summary["chosen"]["names"]) <= set(names)
    keys = {"name", "settings", "rung", "epochs", "score", "loss", "seconds"}
    assert all(trial.keys() == keys for trial in summary["tried"])
    taken = " + ".join(summary["chosen"]["names"])
    assert f"chosen              {taken}: {summary['chosen']['why']}\n" in shown.out
    assert "round 1 of 3, candidate 16 of 18: " in shown.err
    assert shown.err.count("round 3 of 3") == shown.err.count("validation") == 2
    # The settings are those that were taken: to train again is to search no more.
    config = Config.from_toml(tmp_path / "r" / "config.toml")
    assert config.model.readout != "auto" and config.train.epochs == 10
    assert main(["fit", "--config", "r/config.toml", "--out", "s", "--quiet"]) == 0
    again = json.loads((tmp_path / "s" / "summary.json").read_text())
    assert again["tried"] == [] and again["chosen"]["why"] == "the read-out was given"
    assert main(["report", "r"]) == 0
    page = (tmp_path / "r" / "report.html").read_text("utf-8")
    assert "What was tried" in page and summary["chosen"]["why"] in page
    assert page.count(f'<th scope="row">{names[0]}</th>') >= 1
    assert not (tmp_path / "r" / "checkpoint").exists()


def test_fast_trains_one_candidate(csv_files, tmp_path, capsys):
    assert main(["fit", *csv_files, *SHORT, "--fast"]) == 0
    shown = capsys.readouterr()
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["tried"] == [] and len(summary["chosen"]["names"]) == 1
    assert "round" not in shown.err and "chosen" not in shown.out
    assert main(["report", "r"]) == 0
    assert "What was tried" not in (tmp_path / "r" / "report.html").read_text("utf-8")


def test_a_mean_is_written_and_used_by_every_verb(csv_files, tmp_path, monkeypatch):
    def mean_of_two(results, candidates):
        members = [each.sgat for each in results]
        return Committee(members, is_multilabel=False).eval(), 2, "it was forced", []

    with monkeypatch.context() as patch:
        patch.setattr(choosing, "best_or_mean", mean_of_two)
        assert main(["fit", *csv_files, *SHORT, "--quiet", "--pruned", "p.csv"]) == 0
    loaded = sgat.load("r")
    assert isinstance(loaded.model_, Committee) and len(loaded.model_.members) == 2
    stored = pd.read_parquet("r/nodes.parquet")
    files = csv_files[:4]
    for verb, more in {
        "predict": [*files, "--out", "predicted.csv"],
        "prune": [*files, "--out", "small.csv", "--measure", "--json"],
        "explain": ["n03"],
        "report": [],
    }.items():
        assert main([verb, "r", *more]) == 0, verb
    found = pd.read_csv("predicted.csv")
    assert (found["prediction"] == stored["prediction"]).all()
    column = next(name for name in found if name.startswith("probability"))
    assert found[column].to_numpy() == pytest.approx(
        stored[column].to_numpy(), abs=1e-6
    )


# Two searches, one of them in a process of its own.
@pytest.mark.judged_anew
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("in_full", [False, True])
def test_a_killed_search_resumes_to_the_same_bits(in_full, csv_files, tmp_path):
    """Kill the process at a moment nobody chose, in a round or in the last."""
    options = [*csv_files, *SHORT[:-2], "--epochs", "60", "--checkpoint-every", "3"]
    assert main(["fit", *options, "--out", "whole", "--quiet"]) == 0
    place = tmp_path / "killed" / "checkpoint"
    ready = place / ("state-*.safetensors" if in_full else "search.json")
    with started(["fit", *options, "--out", "killed", "--quiet"], ready):
        time.sleep(time.time() % 0.5)
    assert main(["fit", "--resume", "--out", "killed", "--quiet"]) == 0
    for file in RESULTS:
        one, two = (tmp_path / each / file for each in ("whole", "killed"))
        assert one.read_bytes() == two.read_bytes(), file
    assert not place.exists()


@pytest.mark.promise
@pytest.mark.slow
def test_ctrl_c_in_a_round_says_how_to_go_on(csv_files, tmp_path):
    command = ["fit", *csv_files, "--epochs", "100000", "--out", "r"]
    ledger = tmp_path / "r" / "checkpoint" / "search.json"
    with started(command, ledger.with_name("config.toml")) as process:
        time.sleep(3)
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; go on with: sgat fit --resume --out r" in errors
    assert "Traceback" not in errors
    assert ledger.exists() and not (tmp_path / "r" / "summary.json").exists()
    settings = ledger.with_name("config.toml")
    settings.write_text(settings.read_text().replace("100000", "4"))
    assert main(["fit", "--resume", "--out", "r", "--quiet"]) == 0
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["tried"][-1]["rung"] == 3


def test_another_format_is_refused_before_the_data_is_read(csv_files, tmp_path, capsys):
    folder = tmp_path / "r" / "checkpoint"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[model]\n[train]\n[data]\nname='cora'\n")
    (folder / "search.json").write_text('{"format": 1}')
    assert main(["fit", "--resume", "--out", "r"]) == 1
    assert "search.json was written by another version" in capsys.readouterr().err
