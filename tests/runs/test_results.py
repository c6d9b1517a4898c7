import json

import numpy as np
import pandas as pd
import pytest
from support.small_data import block_graph, several_graphs
from support.small_run import finished

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


def test_several_graphs_share_the_tables(tmp_path):
    graphs = several_graphs()
    folder, _, _, summary = finished(tmp_path / "r", graphs)
    assert summary["edges"] == sum(data.graph.num_edges for data in graphs)
    assert 0 <= summary["micro_f1"] <= 1
    nodes = pd.read_parquet(folder.nodes)
    assert nodes.columns[0] == "graph"
    assert len(nodes) == sum(data.num_nodes for data in graphs)
