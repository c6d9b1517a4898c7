import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import metrics as sklearn
from support.small_data import block_graph, several_graphs
from support.small_run import finished

import sgat
from sgat.training.files import read_records


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


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_the_summary_names_the_metric_and_its_values(metric, tmp_path):
    data = block_graph()
    y = torch.where(torch.arange(data.num_nodes) % 3 > 0, 0, data.y)
    data = dataclasses.replace(data, y=y)
    folder, _, result, summary = finished(tmp_path / "r", [data], metric=metric)
    nodes = pd.read_parquet(folder.nodes)
    tested = nodes[nodes["split"] == "test"]
    probability = tested.filter(like="probability_").to_numpy()
    by_class = getattr(sklearn, f"{metric}_score")
    label = tested["label"].astype(str).to_numpy()
    expected = np.mean(
        [by_class(label == str(c), probability[:, c]) for c in range(data.num_classes)]
    )
    assert summary["metric"] == metric
    assert summary[metric] == pytest.approx(expected)
    assert summary["test_scores"][metric] == summary[metric]
    right = (tested["label"] == tested["prediction"]).mean()
    assert summary["test_scores"]["accuracy"] == pytest.approx(right)
    shares = tested["label"].value_counts(normalize=True)
    assert summary["test_scores"]["largest_class"] == pytest.approx(shares.max())
    removal = json.loads(folder.removal.read_text())
    (trained,) = (point for point in removal["curve"] if point["is_trained"])
    assert trained["test"] == summary[metric]
    assert trained["validation"] == summary["validation"]
    whole = next(point for point in removal["curve"] if point["removed"] == 0)
    assert whole["test"] == pytest.approx(summary[metric], abs=0.2)
    assert summary["calibration"] == dataclasses.asdict(result.calibration)
    assert summary["calibration"]["temperature"] == result.model.class_temperature


def test_a_run_that_is_read_again_has_the_same_probabilities(tmp_path):
    data = block_graph()
    folder, _, result, summary = finished(tmp_path / "r", [data])
    temperature = summary["calibration"]["temperature"]
    assert temperature != 1
    nodes = pd.read_parquet(folder.nodes).filter(like="probability_").to_numpy()
    loaded = sgat.load(folder.path)
    assert loaded.model_.class_temperature == temperature
    again = loaded.predict_proba(data).astype(np.float32)
    assert np.array_equal(again, nodes)
    raw = result.model.compute(data.x, data.graph).logits.double()
    expected = (raw / temperature).softmax(dim=1).detach()
    assert np.allclose(nodes, expected, atol=1e-6)


def test_several_graphs_share_the_tables(tmp_path):
    graphs = several_graphs()
    folder, _, _, summary = finished(tmp_path / "r", graphs)
    assert summary["edges"] == sum(data.graph.num_edges for data in graphs)
    assert 0 <= summary["micro_f1"] <= 1
    nodes = pd.read_parquet(folder.nodes)
    assert nodes.columns[0] == "graph"
    assert len(nodes) == sum(data.num_nodes for data in graphs)
