import json

import pytest
from support.attacked import write_graphs

from sgat_lab.cli import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    write_graphs(tmp_path)
    monkeypatch.setenv("SGAT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_cases_are_judged_stored_and_shown_again(place, capsys):
    call = ["attacks", "judge", "plain", "attacked-cora", "--quiet"]
    few = ["--kinds", "clean,random,metattack", "--rates", "0.25"]
    assert main([*call, *few, "--json"]) == 0
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    assert captured.err == ""
    assert [(row["graph"], row["kind"], row["rate"]) for row in rows] == [
        ("plain", "clean", 0.0),
        ("plain", "random", 0.25),
        ("attacked-cora", "clean", 0.0),
        ("attacked-cora", "metattack", 0.25),
    ]
    assert rows[0]["auc"] is None and rows[3]["auc"] > 0.8
    assert len((place / "records/attacks_judge.csv").read_text().splitlines()) == 5
    assert main([*call, "--stored"]) == 0
    shown = capsys.readouterr().out
    assert "metattack 0.25" in shown and f"{rows[3]['auc']:.3f}" in shown


def test_labels_can_be_withheld(place, capsys):
    call = ["attacks", "judge", "attacked-cora", "--kinds", "metattack", "--no-labels"]
    assert main([*call, "--rates", "0.25", "--quiet", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["labels"] == "no"


def test_accuracies_stand_beside_published_ones(place, capsys):
    call = ["attacks", "accuracy", "cora", "--rates", "0.25", "--only", "gcn"]
    assert main([*call, "--runs", "2", "--device", "cpu", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (ours,) = [line for line in lines if line.endswith("trained here")]
    assert ours.startswith("GCN") and "±" in ours
    assert any(line.startswith("Pro-GNN") and "69.7" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", "moon"], "There is no graph 'moon'"),
        (["judge", "--kinds", "hubs"], "`--kinds` must be of clean, random"),
        (["judge", "--rates", "much"], "`--rates` must be numbers with commas"),
        (["judge", "--rates", "-1"], "`--rates` must be 0 or more"),
        (["accuracy", "pubmed"], "must be of cora, citeseer, got 'pubmed'"),
        (["accuracy", "--only", "gin"], "`--only` must be of mlp, gcn, gat-2head"),
        (["accuracy", "cora", "--rates", "0.3"], "`--rates` must be in"),
    ],
)
def test_bad_arguments_are_one_sentence(place, capsys, arguments, message):
    assert main(["attacks", *arguments, "--quiet"]) == 1
    assert message in capsys.readouterr().err.replace("\n", " ")
