from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.counting import count_scorings
from support.settings import request_for
from support.small_data import block_graph, several_graphs

import sgat
from sgat.cli import main
from sgat.config import Config, default_config
from sgat.data.configured import Loaded
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request, continue_run, start_run
from sgat.runs.run import check_pruned_path, run, write_pruned_file
from sgat.scored import EdgeScores
from sgat.training.loop import Training


def test_a_finished_run_resumes_to_what_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = Request({"name": "karate"}, train={"epochs": 3, "snapshots": 0})
    folder, settings = start_run(request, overwrite=False)
    assert folder.path.name == "karate" and not folder.path.exists()
    first = run(folder, settings)
    folder, settings = continue_run(Request(out=folder.path))
    again = run(folder, settings, resume=True)
    assert again.summary["accuracy"] == first.summary["accuracy"]
    assert again.epochs == 3
    assert "was finished already" in again.notes[0]


def test_a_run_on_an_undirected_graph_loads_as_it_was(tmp_path):
    settings = Config().replace(
        data={"name": "karate"}, train={"epochs": 3, "device": "cpu"}
    )
    run(RunFolder(tmp_path / "r"), settings)
    loaded = sgat.load(tmp_path / "r")
    (data,) = sgat.data.load("karate")
    again = loaded.score_edges(data)
    assert np.allclose(again["log_alpha"], loaded.edges_["log_alpha"], atol=1e-6)


def test_the_mean_gate_is_that_of_the_kept_edges(tmp_path):
    settings = Config().replace(
        data={"name": "karate"}, train={"epochs": 3, "keep": 0.4, "device": "cpu"}
    )
    summary = run(RunFolder(tmp_path / "r"), settings).summary
    edges = sgat.load(tmp_path / "r").edges_
    expected = edges.loc[edges["kept"], "gate"].mean()
    assert summary["mean_gate"] == pytest.approx(expected, abs=1e-6)
    assert 0 < expected < edges["gate"].max()


def test_a_shipped_share_is_no_reason_to_warn(tmp_path, monkeypatch):
    monkeypatch.setattr("sgat.runs.notes.LEAST_GATE", 2.0)
    for keep, is_told in {0.54: False, 0.4: True}.items():
        shipped = default_config("karate")
        settings = shipped.replace(train={"epochs": 2, "keep": keep, "snapshots": 0})
        notes = run(RunFolder(tmp_path / str(keep)), settings).notes
        assert any("nearly closed" in note for note in notes) == is_told


def test_after_training_each_edge_is_scored_once(tmp_path, csv_files, monkeypatch):
    """And what was scored is read by all that comes later."""
    monkeypatch.chdir(tmp_path)
    names = [name.removeprefix("--") for name in csv_files[::2]]
    options = dict(zip(names, csv_files[1::2], strict=True))
    options |= {"out": "mine", "epochs": 3, "snapshots": 2, "pruned": "small.csv"}
    request = request_for(options)
    train = Training.run
    with count_scorings() as count:
        before = {}

        def trained(self, **arguments):
            result = train(self, **arguments)
            before.update(count())
            return result

        monkeypatch.setattr(Training, "run", trained)
        run(*start_run(request, overwrite=False), pruned=request.pruned)
        # Each of the 30 edges of the ring; they were judged once, before training.
        assert before[30] > 0 and before["judged"] == 1
        assert count() == {30: before[30] + 1, "judged": 1}
    with count_scorings() as count:
        for arguments in (
            ["report", "mine"],
            ["explain", "mine"],
            ["explain", "mine", "n03"],
            ["predict", "mine", "--out", "p.csv", "--scores", "s.csv"],
        ):
            assert main([*arguments, "--quiet"]) == 0
        resumed = continue_run(Request(out=Path("mine")))
        run(*resumed, resume=True, pruned=Path("again.csv"))
        assert count() == {}
    assert Path("again.csv").read_text() == Path("small.csv").read_text()


def test_trying_to_write_leaves_nothing_and_touches_nothing(tmp_path):
    path = tmp_path / "small.csv"
    check_pruned_path(path, Loaded([block_graph()]))
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_pruned_path(path, Loaded([block_graph()]))
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "`pruned` must be a file, got the folder"),
        ("no/small.csv", "`pruned` must be in a folder that exists, got"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        check_pruned_path(tmp_path / name, Loaded([block_graph()]))
    assert list(tmp_path.iterdir()) == []


def test_several_graphs_are_no_file(tmp_path):
    with pytest.raises(ValueError, match="`pruned` writes one graph, got 5; their"):
        check_pruned_path(tmp_path / "small.csv", Loaded(several_graphs()))


def test_the_kept_edges_are_written(tmp_path):
    data = block_graph()
    number = torch.arange(data.graph.num_edges)
    gate = (number % 3 == 0) * 0.5
    scores = EdgeScores(gate, gate, gate, gate > 0)
    write_pruned_file(Loaded([data]), scores, tmp_path / "small.csv")
    table = pd.read_csv(tmp_path / "small.csv")
    assert table["src"].tolist() == data.graph.src[::3].tolist()
    assert table["dst"].tolist() == data.graph.dst[::3].tolist()
    assert set(table["weight"]) == {0.5}


@pytest.mark.parametrize(("fast", "is_told"), [(False, True), (True, False)])
def test_without_validation_nodes_nothing_is_searched_and_that_is_told(
    fast, is_told, tmp_path
):
    train = {"epochs": 2, "device": "cpu", "fast": fast}
    settings = Config().replace(data={"name": "karate"}, train=train)
    outcome = run(RunFolder(tmp_path / "r"), settings)
    assert outcome.summary["tried"] == []
    found = [note for note in outcome.notes if "without validation nodes" in note]
    assert len(found) == is_told
