import json
import os
from datetime import date

import numpy as np
import pandas as pd
import pytest
from small_data import block_graph, several_graphs

import sgat
from sgat import checkpoint
from sgat.config import Config, ModelConfig, TrainConfig
from sgat.run_folder import RunFolder, read_records
from sgat.train import fit


def finished(path, graphs, **train):
    config = Config(
        model=ModelConfig(hidden=5), train=TrainConfig(epochs=4, device="cpu", **train)
    )
    folder = RunFolder(path)
    folder.start(config)
    result = fit(graphs, config.model, config.train)
    return folder, config, result, folder.finish(config, graphs, result)


def test_the_summary_counts_what_the_tables_hold(tmp_path):
    data = block_graph()
    folder, _, _, summary = finished(tmp_path / "r", [data], keep=0.25)
    edges, nodes = pd.read_parquet(folder.edges), pd.read_parquet(folder.nodes)
    assert summary == json.loads(folder.summary.read_text())
    assert summary["edges"] == len(edges) == data.graph.num_edges
    assert summary["edges_removed"] == int((~edges["kept"]).sum())
    assert summary["edges_with_loops"] == len(edges) + len(nodes)
    tested = nodes[nodes["split"] == "test"]
    right = (tested["label"] == tested["prediction"]).mean()
    assert summary["accuracy"] == pytest.approx(right)
    probabilities = nodes.filter(like="probability_").to_numpy()
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert len(read_records(folder.metrics)) == summary["epochs"] == 4


def test_several_graphs_share_the_tables(tmp_path):
    graphs = several_graphs()
    folder, _, _, summary = finished(tmp_path / "r", graphs)
    assert summary["edges"] == sum(data.graph.num_edges for data in graphs)
    assert 0 <= summary["micro_f1"] <= 1
    nodes = pd.read_parquet(folder.nodes)
    assert nodes.columns[0] == "graph"
    assert len(nodes) == sum(data.num_nodes for data in graphs)


def test_nothing_of_an_earlier_run_is_left_and_nothing_else_is_touched(tmp_path):
    folder, *_ = finished(tmp_path / "r", [block_graph()], snapshots=2)
    notes = folder.path / "my-notes.txt"
    notes.write_text("mine")
    folder.start(Config())
    folder.checkpoint.write_text("state")
    folder.drop_draft()
    folder.clear()
    assert [file.name for file in folder.path.iterdir()] == ["my-notes.txt"]


def test_a_damaged_model_is_refused_with_a_sentence(tmp_path):
    folder, *_ = finished(tmp_path / "r", [block_graph()])
    folder.model.write_bytes(folder.model.read_bytes()[:100])
    with pytest.raises(ValueError, match="is damaged or was not written by sgat"):
        sgat.load(folder.path)


def test_an_unfinished_run_is_not_loaded(tmp_path):
    folder = RunFolder(tmp_path / "r")
    folder.start(Config())
    with pytest.raises(ValueError, match="is not a finished run"):
        sgat.load(folder.path)


@pytest.mark.parametrize("name", ["edges.parquet", "metrics.jsonl"])
def test_a_table_that_was_cut_off_is_named(tmp_path, name):
    folder, *_ = finished(tmp_path / "r", [block_graph()])
    file = folder.path / name
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError) as error:
        sgat.load(folder.path)
    assert str(error.value).startswith(f"{file} is damaged or was not written by sgat:")
    assert len(str(error.value).splitlines()) == 1


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_publishing_that_is_cut_off_can_be_resumed(tmp_path, monkeypatch):
    folder, config, result, _ = finished(tmp_path / "r", [block_graph()], snapshots=1)
    folder.start(config)
    os_replace = os.replace

    def replace(source, target):
        if target == folder.edges:
            raise OSError(5, "Input/output error", str(target))
        os_replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("sgat.run_folder.os.replace", replace)
        with pytest.raises(OSError, match="Input/output error"):
            folder.finish(config, [block_graph()], result)
    assert folder.is_under_way and not folder.is_finished
    folder.finish(config, [block_graph()], result)
    assert folder.is_finished
    assert {"summary.json", "edges.parquet", "config.toml"} <= content(
        folder.path
    ).keys()


@pytest.fixture
def classifier():
    return sgat.SGATClassifier(hidden=3, epochs=2, device="cpu").fit([block_graph()])


def test_saving_twice_replaces_what_was_saved(classifier, tmp_path):
    classifier.save(tmp_path / "s")
    first = content(tmp_path / "s")
    assert sorted(first) == [
        *("config.toml", "edges.parquet", "metrics.jsonl", "model.safetensors")
    ]
    classifier.save(tmp_path / "s")
    assert content(tmp_path / "s") == first


def test_a_run_is_not_mixed_with_what_is_saved(classifier, tmp_path):
    folder, *_ = finished(tmp_path / "r", [block_graph()])
    before = content(folder.path)
    with pytest.raises(ValueError, match="r holds a run of `sgat fit`; choose another"):
        classifier.save(folder.path)
    assert content(folder.path) == before
    folder = RunFolder(tmp_path / "u")
    folder.start(Config())
    with pytest.raises(ValueError, match="u holds an unfinished run; choose another"):
        classifier.save(folder.path)


def test_files_of_others_are_not_saved_over(classifier, tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("mine")
    with pytest.raises(ValueError, match="`path` must be a folder, got the file"):
        classifier.save(file)
    (tmp_path / "edges.parquet").write_text("mine")
    with pytest.raises(ValueError, match=r"edges\.parquet was not written by `save`"):
        classifier.save(tmp_path)
    assert len(content(tmp_path)) == 2 and file.read_text() == "mine"


def test_classes_that_no_file_holds_are_refused_and_nothing_is_written(
    classifier, tmp_path
):
    classifier.header_ = {
        **classifier.header_,
        "classes": [date(2020, 1, 1), date(2021, 1, 1)],
    }
    with pytest.raises(ValueError) as error:
        classifier.save(tmp_path / "a" / "s")
    assert str(error.value) == (
        "Classes must be strings, numbers or booleans to be saved, got"
        " datetime.date(2020, 1, 1); name them otherwise before `fit`."
    )
    assert list(tmp_path.iterdir()) == []


def test_ids_of_mixed_types_are_saved_as_strings(classifier, tmp_path):
    edges = classifier.edges_.astype({"src": object, "dst": object})
    edges.loc[0, "src"] = "a"
    classifier.edges_ = edges
    classifier.save(tmp_path / "s")
    read = sgat.load(tmp_path / "s").edges_
    assert read["src"].tolist() == [str(value) for value in edges["src"]]
    assert read["dst"].tolist() == edges["dst"].tolist()


def test_a_save_that_fails_leaves_nothing(classifier, tmp_path, monkeypatch):
    def fail(path, *tables):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("sgat.run_folder.write_parquet", fail)
    with pytest.raises(OSError, match="No space left"):
        classifier.save(tmp_path / "a" / "s")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scorer", ["additive", "evidence"])
def test_only_runs_with_evidence_are_of_another_version(scorer, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "MODEL_FORMAT", 1)
    data = block_graph()
    classifier = sgat.SGATClassifier(hidden=3, epochs=1, scorer=scorer, device="cpu")
    classifier.fit(data).save(tmp_path / "run")
    monkeypatch.undo()
    if scorer == "additive":
        assert len(sgat.load(tmp_path / "run").predict(data)) == data.num_nodes
    else:
        with pytest.raises(ValueError, match="another version of sgat; train it again"):
            sgat.load(tmp_path / "run")
