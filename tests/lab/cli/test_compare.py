import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from sgat_lab.cli import main
from sgat_lab.cli.compare import parse_budgets, parse_methods
from sgat_lab.compare import inference
from sgat_lab.trials.trial import Trials

SMALL = ["--budgets", "0.5", "--epochs", "2", "--device", "cpu", "--quiet"]


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(inference, "ROUNDS", 5)


def compare(folder: Path, *arguments: str) -> int:
    return main(["compare", *arguments, *SMALL, "--out", str(folder / "out")])


def outcome(capsys, folder: Path, *arguments: str) -> dict:
    assert compare(folder, *arguments, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_a_data_set_is_compared_and_drawn(tmp_path, capsys):
    assert compare(tmp_path, "karate", "--runs", "2") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "GCN, retrained on" in captured.out and "SGAT itself" in captured.out
    assert "Learning which edges to keep was" in captured.out.replace("\n", " ")
    assert (tmp_path / "out/compare.png").read_bytes()[:4] == b"\x89PNG"
    with (tmp_path / "out/compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    # 7 methods at one budget with 2 models, all edges with 2, MLP, both SGATs
    # themselves, and the recommended one without a budget.
    assert len(rows) == 7 * 2 + 2 + 1 + 2 + 1
    assert sum(row["links"] == "39" for row in rows if row["budget"] == "0.5") >= 16
    assert all(row["runs"] == "2" for row in rows)


@pytest.mark.gpu
def test_a_data_set_is_compared_on_a_gpu(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out"), "--device", "cuda", "--json", "--quiet"]
    few = ["--budgets", "0.5", "--epochs", "2", "--runs", "1", "--only", "sgat,random"]
    assert main(["compare", "karate", *few, *out]) == 0
    assert capsys.readouterr().err == ""
    measured = json.loads((tmp_path / "out/inference.json").read_text())["costs"]
    assert len(measured) == 2 + 2 * 2
    for entry in measured:
        # Weights, features and workspaces are left out: kilobytes, no megabytes.
        assert 1_000 < entry["bytes"] < 2_000_000
        assert 1e-6 < entry["seconds"] < 1


def test_the_same_command_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    only = ["karate", "--runs", "1", "--only", "sgat,random"]
    run, done = Trials.run, []

    def stops(trials, task):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(task.key)
        return run(trials, task)

    monkeypatch.setattr(Trials, "run", stops)
    assert compare(tmp_path, *only) == 130
    assert "interrupted; what is finished is in" in capsys.readouterr().err
    assert not (tmp_path / "out/compare.csv").exists()

    def counted(trials, task):
        done.append(task.key)
        return run(trials, task)

    monkeypatch.setattr(Trials, "run", counted)
    first = outcome(capsys, tmp_path, *only)
    # All edges twice, SGAT, and two models on the edges of either method.
    assert len(done) == len(set(done)) == 2 + 1 + 2 * 2
    monkeypatch.setattr(Trials, "run", None)
    assert outcome(capsys, tmp_path, *only) == first


@pytest.mark.judged_anew
def test_the_same_seed_gives_the_same_numbers(tmp_path, capsys):
    only = ["karate", "--runs", "1", "--seed", "5", "--only", "sgat,k-neighbor"]
    first = outcome(capsys, tmp_path / "one", *only)
    second = outcome(capsys, tmp_path / "two", *only)
    assert first["runs"] == second["runs"] and first["seeds"] == [5]


def test_files_are_compared(tmp_path, csv_files, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ["--runs", "2", "--only", "sgat-recommended,random"]
    assert main(["compare", *csv_files, *SMALL, *few, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["links"] == 30 and content["splits_vary"] is True
    assert content["files"]["picture"] == "runs/compare-edges/compare.png"
    assert Path("runs/compare-edges/compare.png").exists()
    smaller = {row["links"] for row in content["rows"] if row["budget"] == 0.5}
    assert smaller == {15}
    before = {run["seed"]: run["test"] for run in content["runs"]}
    assert set(before) == {0, 1}


def test_changed_files_are_trained_on_anew(tmp_path, csv_files, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = ["compare", *csv_files, *SMALL, "--only", "random", "--runs", "1"]
    assert main(call) == 0
    records = Path("runs/compare-edges/records")
    assert len(list(records.glob("*.json"))) == 4
    nodes = pd.read_csv("nodes.csv")
    nodes["size"] = -nodes["size"]
    nodes.to_csv("nodes.csv", index=False)
    assert main(call) == 0
    assert len(list(records.glob("*.json"))) == 8


def test_a_drawn_split_is_told_for_all_runs(tmp_path, csv_files, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loud = [part for part in SMALL if part != "--quiet"]
    assert main(["compare", *csv_files, *loud, "--only", "random", "--runs", "2"]) == 0
    error = capsys.readouterr().err
    assert "at random anew in every run (seeds 0 to 1)" in error
    assert "compare: 0 of 8 trainings" in error
    assert "compare: 8 of 8 trainings" in error
    assert "written to runs/compare-edges/compare.png and" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["karate", "--budgets", "90"], "between 0 and 1 with commas between, such as"),
        (["karate", "--budgets", "0.5,nan"], "got 'nan'; the full graph is always"),
        (["karate", "--budgets", "0.5,"], "got ''"),
        (["karate", "--budgets", "half"], "got 'half'"),
        (["karate", "--budgets", "1"], "got '1'"),
        (["karate", "--only", "sgta"], "`--only` must name methods, got 'sgta'; known"),
        (["karate", "--device", "tpu"], "`--device` must be one that works here"),
        (["karate", "--picture", "x.jpg"], "`--picture` must end in .png, got x.jpg."),
        (
            ["karate", "--picture", "no/x.png"],
            "must be in a folder that exists, got no",
        ),
        (["karate", "--csv", "."], "`--csv` must be a file, but . is a folder."),
        (["karate", "--edges", "edges.csv", "--label", "y"], "not both"),
        (["--edges", "edges.csv", "--csv", "edges.csv"], "the file of `--edges`"),
        (["--edges", "e.csv", "--nodes", "n.csv", "--csv", "n.csv"], "of `--nodes`"),
        (["karate", "--split", "s.npz", "--csv", "s.npz"], "the file of `--split`"),
        (["karate", "--csv", "x.png", "--picture", "./x.png"], "must be two files"),
        (["karata"], "Unknown data set 'karata'"),
        ([], "Name a data set (see `sgat data list`) or give an edge file"),
        (["--edges", "edges.csv"], "Say which column of the node file is the label"),
        (["karate", "--label", "y"], "`--label` goes with `--edges`, your own files."),
        (["karate", "--split", "random-100-0-0"], "has no test nodes to judge by"),
        (["karate", "--out", "edges.csv"], "`--out` must be a folder, but edges.csv"),
        (["karate", "--out", ""], "`--out` must not be empty."),
    ],
)
def test_bad_input_is_told_before_any_training(
    tmp_path, csv_files, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["compare", *arguments]) == 1
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_graph_without_edges_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("src,dst\n")
    rows = "".join(f"n{i},{i},{i % 2}\n" for i in range(20))
    Path("nodes.csv").write_text(f"id,size,y\n{rows}")
    files = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
    assert main(["compare", *files]) == 1
    assert "the edge table has no rows" in capsys.readouterr().err


def test_the_folder_of_a_run_is_not_written_to(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/config.toml").write_text("")
    assert compare(tmp_path, "karate") == 1
    assert "must not be the folder of a run of `sgat fit`" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["config.toml"]


def test_budgets_are_sorted_and_each_is_there_once():
    assert parse_budgets("0.1, 0.9,0.5,.9") == (0.9, 0.5, 0.1)


def test_methods_keep_the_order_of_the_table():
    assert parse_methods("mlp, sgat,random") == ("random", "sgat", "mlp")
    assert len(parse_methods("")) == 8


@pytest.mark.promise
@pytest.mark.slow
def test_several_processes_and_a_kill_lose_nothing(tmp_path):
    call = [sys.executable, "-m", "sgat_lab", "compare", "karate", "--runs", "2"]
    call += ["--budgets", "0.5", "--epochs", "5", "--device", "cpu", "--json"]
    call += ["--processes", "2"]
    whole = subprocess.run(
        [*call, "--out", "whole", "--quiet"], cwd=tmp_path, capture_output=True
    )
    assert whole.returncode == 0
    broken = subprocess.Popen([*call, "--out", "parts"], cwd=tmp_path)
    records = tmp_path / "parts/records"
    while len(list(records.glob("*.json"))) < 5:
        assert broken.poll() is None, "it was to be stopped on its way"
        time.sleep(0.1)
    os.kill(broken.pid, signal.SIGKILL)
    broken.wait()
    again = subprocess.run(
        [*call, "--out", "parts", "--quiet"], cwd=tmp_path, capture_output=True
    )
    assert again.returncode == 0
    one, two = (json.loads(done.stdout) for done in (whole, again))
    # All edges with two models and none with the MLP; both SGATs at the budget, one of
    # them without; and seven ways to choose edges for two models.
    assert one["runs"] == two["runs"]
    assert len(one["runs"]) == 2 * (3 + 2 + 1 + 7 * 2)
