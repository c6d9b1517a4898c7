import json

import pytest
from support.attacked import write_graphs

from sgat.estimator import SGATClassifier
from sgat_lab.attacks import cost, ourselves
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
    assert row["labels"] == "no" and "auc_auto_encoder" not in row


def test_an_auto_encoder_can_be_compared_with(place, capsys):
    call = ["attacks", "judge", "attacked-cora", "--kinds", "metattack"]
    call += ["--rates", "0.25", "--quiet"]
    assert main([*call, "--auto-encoder", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert 0.5 < row["auc_auto_encoder"] <= 1
    assert main(call) == 1
    assert "has other columns; choose another file" in capsys.readouterr().err


def test_accuracies_stand_beside_published_ones(place, capsys):
    call = ["attacks", "accuracy", "cora", "--rates", "0.25", "--only", "gcn"]
    assert main([*call, "--runs", "2", "--device", "cpu", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (ours,) = [line for line in lines if line.endswith("trained here")]
    assert ours.startswith("GCN") and "±" in ours
    assert any(line.startswith("Pro-GNN") and "69.7" in line for line in lines)


def test_an_attack_on_ourselves_stands_beside_others(place, capsys, monkeypatch):
    def few_epochs(seed, device, fast=True):
        return SGATClassifier(seed=seed, device=device, epochs=15, fast=True)

    for module in (cost, ourselves):
        monkeypatch.setattr(module, "SGATClassifier", few_epochs)
    monkeypatch.setattr(cost, "baseline_score", lambda *given, **settings: 0.5)
    monkeypatch.setattr(ourselves, "ROUNDS", 1)
    call = ["attacks", "ourselves", "cora", "--quiet"]
    assert main([*call, "--rates", "0.25", "--json"]) == 0
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    assert captured.err == ""
    kinds = ["clean", "metattack", "cross-class", "ourselves"]
    assert [row["kind"] for row in rows] == kinds
    assert rows[0]["removed"] is None and rows[2]["removed"] > rows[3]["removed"]
    assert rows[3]["sgat"].count(".") == 2, "the version, apart from our accuracy"
    assert len((place / "records/attacks_ourselves.csv").read_text().splitlines()) == 5
    assert main([*call, "--stored"]) == 0
    shown = capsys.readouterr().out
    assert "ourselves 0.25" in shown and f"{100 * rows[3]['ours']:.1f}" in shown


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
        (["ourselves", "pubmed"], "must be of cora, citeseer, got 'pubmed'"),
        (["ourselves", "cora", "--rates", "0"], "`--rates` must be above 0, got '0'"),
        (["ourselves", "cora", "--rates", "a"], "`--rates` must be numbers with"),
        (["ourselves", "citeseer"], "There is no graph 'citeseer'"),
    ],
)
def test_bad_arguments_are_one_sentence(place, capsys, arguments, message):
    assert main(["attacks", *arguments, "--quiet"]) == 1
    assert message in capsys.readouterr().err.replace("\n", " ")
