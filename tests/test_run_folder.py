import json

import numpy as np
import pandas as pd
import pytest
from small_data import block_graph, several_graphs

import sgat
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
