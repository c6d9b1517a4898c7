"""Edge columns of files: fit, resume, predict, prune, explain and verify with them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.edge_tables import write_trades

import sgat
from sgat.cli import main
from sgat.data.files import FileOptions, read_graph
from sgat.runs.finished_run import open_run
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request, continue_run, start_run
from sgat.runs.run import run
from sgat.training.files import load_state

COLUMNS = "amount,kind,when"
FILES = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
HOW = ["--scorer", "additive", "--readout", "linear", "--hidden", "5", "--device"]
FIT = ["fit", *FILES, *HOW, "cpu", "--epochs", "6", "--quiet"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with files to train on, and new ones."""
    monkeypatch.chdir(tmp_path)
    write_trades(tmp_path, "", 0)
    write_trades(tmp_path, "new_", 1)
    return tmp_path


def fit(*options: str) -> None:
    assert main([*FIT, "--edge-columns", COLUMNS, "--out", "mine", *options]) == 0


def scores_of(path: str) -> pd.DataFrame:
    return pd.read_csv(path).set_index(["src", "dst"])["log_alpha"]


def test_a_run_reads_other_files_as_its_own(place, capsys):
    fit()
    saved = sgat.load("mine")
    weight = saved.model_.gating.attr_weight
    assert len(weight) == 1 + 2 + 5 and bool(weight.any())
    files = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
    out = ["--out", "p.csv", "--quiet"]
    assert main(["predict", "mine", *files, *out, "--scores", "own.csv"]) == 0
    # The rows of the run have the same scores when they are read as new ones.
    stored = pd.read_parquet("mine/edges.parquet").set_index(["src", "dst"])
    np.testing.assert_allclose(scores_of("own.csv"), stored["log_alpha"], atol=1e-5)
    files = ["--edges", "new_edges.csv", "--nodes", "new_nodes.csv"]
    out = ["--out", "new.csv", "--quiet"]
    assert main(["predict", "mine", *files, *out, "--scores", "s.csv"]) == 0
    scores = pd.read_csv("s.csv")
    options = FileOptions(label="y", edge_columns=tuple(COLUMNS.split(",")))
    first = read_graph("edges.csv", "nodes.csv", options=options)
    later = read_graph(*files[1::2], options=options, encoding=first.encoding)
    expected = saved.score_edges(later.data).set_index(["src", "dst"])["log_alpha"]
    found = scores.set_index(["src", "dst"])["log_alpha"]
    pd.testing.assert_series_equal(
        found.sort_index(), expected.sort_index(), check_dtype=False, atol=1e-5
    )
    # Without a run, its table is pruned by what it says.
    capsys.readouterr()
    pruning = ["--edges", "s.csv", "--out", "few.csv", "--keep", "0.4", "--quiet"]
    assert main(["prune", *pruning, "--json"]) == 0
    few = pd.read_csv("few.csv")
    assert len(few) == round(0.4 * len(scores))
    assert set(few.columns) == set(scores.columns)
    assert few["log_alpha"].min() >= scores["log_alpha"].sort_values().iloc[-len(few)]


@pytest.mark.parametrize("is_undirected", [False, True])
def test_all_that_follows_a_run_works(place, capsys, is_undirected):
    fit(*(["--undirected"] if is_undirected else []), "--pruned", "kept.csv")
    stored = pd.read_parquet("mine/edges.parquet")
    assert {"amount", "kind", "when", "noise", "log_alpha"} <= set(stored.columns)
    assert len(pd.read_csv("kept.csv")) == stored["kept"].sum()
    assert (
        main(["prune", "mine", "--out", "small.csv", "--keep", "0.5", "--quiet"]) == 0
    )
    small = pd.read_csv("small.csv")
    assert len(small) == pytest.approx(len(stored) / 2, abs=2)
    assert main(["report", "mine"]) == 0
    assert main(["explain", "mine", "7", "--json", "--quiet"]) == 0
    assert main(["verify", "mine", "--quiet"]) == 0
    pair = stored.groupby(["src", "dst"])["log_alpha"]
    assert (pair.max() == pair.min()).all()


def test_a_run_that_was_cut_off_ends_the_same(place):
    files = {"label": "y", "edge_columns": ("kind", "amount")}
    data = {"edges": "edges.csv", "nodes": "nodes.csv"}
    model = {"scorer": "revised", "readout": "linear", "hidden": 5}
    train = {"epochs": 6, "checkpoint_every": 2, "device": "cpu"}

    def request(out: str) -> Request:
        return Request(data, files, model, train, out=Path(out))

    def stop(record) -> None:
        if record.epoch == 3:
            raise ZeroDivisionError

    run(*start_run(request("whole"), overwrite=False))
    with pytest.raises(ZeroDivisionError):
        run(*start_run(request("cut"), overwrite=False), on_epoch=stop)
    run(*continue_run(Request(out=Path("cut"))), resume=True)
    both = [
        (Path(name) / "model.safetensors").read_bytes() for name in ("whole", "cut")
    ]
    assert both[0] == both[1]
    assert (
        load_state(Path("cut/model.safetensors"))["edge_columns"][0]["name"] == "kind"
    )


def test_other_values_in_a_column_are_other_data(place):
    fit()
    table = pd.read_csv("edges.csv")
    table.loc[3, "amount"] += 1
    table.to_csv("edges.csv", index=False)
    with pytest.raises(ValueError, match="The data has changed since"):
        open_run("mine").loaded  # noqa: B018


def test_what_does_not_work_is_one_sentence(place, capsys):
    fit()
    capsys.readouterr()
    table = pd.read_csv("new_edges.csv")
    files = ["--nodes", "new_nodes.csv", "--out", "p.csv", "--quiet"]
    table.drop(columns="kind").to_csv("less.csv", index=False)
    table.assign(kind="theft").to_csv("other.csv", index=False)
    for edges, options, sentence in (
        (
            "less.csv",
            [],
            "less.csv: no column 'kind' for the judge and gates (`edge_columns`)",
        ),
        (
            "other.csv",
            [],
            "other.csv, line 2, column 'kind': 'theft' is not among the 2",
        ),
        ("other.csv", ["--unknown-category", "zero"], ""),
    ):
        code = main(["predict", "mine", "--edges", edges, *files, *options])
        error = capsys.readouterr().err
        assert code == (1 if sentence else 0), error
        assert sentence in error
    advice = "score the rows with `sgat predict`, and prune its table without a run."
    new = ["--edges", "new_edges.csv", "--nodes", "new_nodes.csv"]
    for options in (new, ["--measure"]):
        assert main(["prune", "mine", "--out", "x.csv", "--quiet", *options]) == 1
        assert f"mine needs its `edge_columns`, which are not read here; {advice}" in (
            capsys.readouterr().err
        )
        assert not Path("x.csv").exists()


def test_the_judge_of_a_run_reads_new_files_as_its_own(place, capsys):
    fit("--scorer", "evidence")
    assert load_state(RunFolder(Path("mine")).model)["edge_columns"]
    files = ["--edges", "new_edges.csv", "--nodes", "new_nodes.csv", "--out", "p.csv"]
    assert main(["predict", "mine", *files, "--quiet"]) == 0
    assert main(["verify", "mine", "--quiet"]) == 0
    assert main(["prune", "mine", "--out", "own.csv", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["prune", "mine", *files[:4], "--out", "x.csv", "--quiet"]) == 1
    assert "mine needs its `edge_columns`, which are not" in capsys.readouterr().err
    bare = pd.read_csv("new_edges.csv")[["src", "dst"]]
    bare.to_csv("bare.csv", index=False)
    files[1] = "bare.csv"
    assert main(["predict", "mine", *files, "--quiet", "--overwrite"]) == 1
    assert "bare.csv: no column 'amount' for the judge" in capsys.readouterr().err


def test_data_info_lists_what_they_become(place, capsys):
    files = ["--edges", "edges.csv", "--edge-columns", "kind", "--json"]
    assert main(["data", "info", *files]) == 0
    roles = json.loads(capsys.readouterr().out)["columns"]
    (kind,) = [role for role in roles if role["column"] == "kind"]
    assert kind["becomes"] == "2 categories: gift, sale" and kind["features"] == 2


@pytest.mark.parametrize("value", ["x", [{"name": 3, "kind": "number"}], [{}]])
def test_a_damaged_header_is_refused(place, value):
    from sgat.training.files import load_tensors, save_tensors

    fit()
    path = Path("mine/model.safetensors")
    tensors, state = load_tensors(path)
    save_tensors(path, tensors, {**state, "edge_columns": value})
    with pytest.raises(ValueError, match="is damaged or was not written by sgat"):
        sgat.load("mine")
