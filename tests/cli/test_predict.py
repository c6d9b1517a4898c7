import contextlib
import json

import pandas as pd
import pytest
from support.small_files import copy_trained, write_small_files

from sgat.cli import main


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the small files and a run of three epochs on them."""
    folder = tmp_path_factory.mktemp("trained")
    files = write_small_files(folder)
    options = [
        "--fast",
        "--epochs",
        "3",
        "--out",
        "mine",
        "--snapshots",
        "0",
        "--quiet",
    ]
    with contextlib.chdir(folder):
        assert main(["fit", *files, *options]) == 0
    return folder


@pytest.fixture
def mine(trained, tmp_path, monkeypatch):
    """A copy of the run, beside copies of its files."""
    copy_trained(trained, tmp_path)
    monkeypatch.chdir(tmp_path)
    return "mine"


NEW = ["--edges", "edges.csv", "--nodes", "nodes.csv"]


def test_predictions_and_scores_are_written(mine, tmp_path, capsys):
    capsys.readouterr()
    arguments = ["--out", "p.csv", "--scores", "s.parquet"]
    assert main(["predict", mine, *NEW, *arguments]) == 0
    shown = capsys.readouterr().out
    assert "nodes               30" in shown
    assert "written to          p.csv, s.parquet" in shown
    wanted = pd.read_parquet("mine/nodes.parquet")
    table = pd.read_csv("p.csv")
    assert list(table["prediction"]) == list(wanted["prediction"])
    right = (wanted["prediction"] == wanted["label"]).mean()
    assert f"accuracy            {right:.2%} on 30 nodes" in shown
    edges = pd.read_parquet("s.parquet")
    pd.testing.assert_frame_equal(edges, pd.read_parquet("mine/edges.parquet"))


def test_without_files_the_run_predicts_on_its_own_data(mine, capsys):
    capsys.readouterr()
    assert main(["predict", mine, "--out", "p.parquet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written"] == ["p.parquet"] and found["scored_nodes"] == 6
    pd.testing.assert_frame_equal(
        pd.read_parquet("p.parquet"), pd.read_parquet("mine/nodes.parquet")
    )


def test_files_that_are_there_are_replaced_only_when_asked(mine, capsys):
    for name in ("p.csv", "s.parquet"):
        with open(name, "w") as file:
            file.write("mine")
        option = "--out" if name == "p.csv" else "--scores"
        assert main(["predict", mine, *NEW, option, name]) == 1
        error = capsys.readouterr().err
        assert f"{name} exists already; choose another `{option}`, or" in error
        with open(name) as file:
            assert file.read() == "mine"
        assert main(["predict", mine, *NEW, option, name, "--overwrite"]) == 0
    assert len(pd.read_csv("p.csv")) == 30


def test_rows_are_counted_as_they_are_written(mine, capsys):
    edges = pd.read_csv("edges.csv")
    pd.concat([edges, edges[:7]]).to_csv("more.csv", index=False)
    files = ["--edges", "more.csv", "--nodes", "nodes.csv"]
    capsys.readouterr()
    outputs = ["--out", "p.csv", "--scores", "s.csv"]
    assert main(["predict", mine, *files, *outputs]) == 0
    count = f"{pd.read_csv('s.csv')['kept'].sum():,} of {len(edges) + 7:,}"
    assert f"rows kept           {count} (" in capsys.readouterr().out


def test_no_edges_have_no_share(mine, capsys):
    pd.read_csv("edges.csv")[:0].to_csv("none.csv", index=False)
    capsys.readouterr()
    files = ["--edges", "none.csv", "--nodes", "nodes.csv"]
    assert main(["predict", mine, *files, "--out", "p.csv"]) == 0
    assert "rows kept           0 of 0\n" in capsys.readouterr().out


def test_columns_may_have_other_names(mine):
    edges = pd.read_csv("edges.csv").rename(columns={"src": "from", "dst": "to"})
    edges.to_csv("e.tsv", index=False, sep=";")
    nodes = pd.read_csv("nodes.csv").rename(columns={"id": "name", "y": "kind"})
    nodes.to_csv("n.tsv", index=False, sep=";")
    names = ["--src", "from", "--dst", "to", "--id", "name", "--label", "kind"]
    files = ["--edges", "e.tsv", "--nodes", "n.tsv", "--delimiter", ";"]
    assert main(["predict", mine, *files, *names, "--out", "p.csv"]) == 0
    wanted = pd.read_parquet("mine/nodes.parquet")
    assert list(pd.read_csv("p.csv")["label"]) == list(wanted["label"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (NEW, "Say where the predictions go: `--out FILE`."),
        ([*NEW, "--out", "p.txt"], "`--out` must end in .csv, .npz, .parquet, .tsv"),
        ([*NEW, "--out", "nodes.csv"], "must not be the file of"),
        ([*NEW, "--out", "./mine/nodes.parquet"], "must not be a file of the run"),
        ([*NEW, "--out", "p.csv", "--scores", "p.csv"], "the file of `--out`"),
        (["--nodes", "nodes.csv", "--out", "p.csv"], "`--nodes` goes with `--edges`"),
        (["--unknown-category", "zero", "--out", "p.csv"], "`--unknown-category` goes"),
        (["--edges", "edges.csv", "--out", "p.csv"], "`--edges` needs `--nodes`"),
        (
            ["--edges", "no.csv", "--nodes", "n.csv", "--out", "p.csv"],
            "no.csv: No such",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    mine, tmp_path, capsys, arguments, message
):
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    capsys.readouterr()
    assert main(["predict", mine, *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert message in error
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_a_named_data_set_has_no_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = [
        "--fast",
        "--epochs",
        "2",
        "--snapshots",
        "0",
        "--out",
        "club",
        "--quiet",
    ]
    assert main(["fit", "karate", *options]) == 0
    assert main(["predict", "club", "--out", "p.csv"]) == 0
    assert len(pd.read_csv("p.csv")) == 34
    capsys.readouterr()
    assert main(["predict", "club", *NEW, "--out", "q.csv"]) == 1
    error = capsys.readouterr().err
    assert "was trained on the data set 'karate' and does not say how" in error


def test_help_has_examples(capsys):
    assert main(["predict", "--help"]) == 0
    assert "sgat predict runs/mine --out predictions.csv" in capsys.readouterr().out
