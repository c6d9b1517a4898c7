import math

import numpy as np
import pytest
import torch
from support.attacked import write_graphs

from sgat.graph import Graph
from sgat_lab.attacks.graphs import NoisyGraph, read_attacked
from sgat_lab.attacks.verdicts import (
    PROMISES,
    adamic_adar,
    calibration_error,
    cosine,
    measure,
    text,
)


def test_bins_of_calibration_are_of_equal_size():
    # Ten edges, ten bins: the mean distance of each from its truth.
    probability = torch.tensor([0.9] * 5 + [0.2] * 5)
    is_real = torch.tensor([True] * 5 + [False] * 5)
    assert calibration_error(probability, is_real) == pytest.approx(0.15)
    # Twenty edges: pairs of which one is real have no error at a half.
    assert calibration_error(torch.full((20,), 0.5), torch.arange(20) % 2 == 0) == 0
    assert calibration_error(torch.zeros(0), torch.zeros(0, dtype=torch.bool)) == 0


def test_adamic_adar_by_hand():
    # A triangle 0 1 2, and 3 at node 2: edge 0-1 shares node 2 of degree 3.
    pairs = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])
    graph = Graph.from_edges(torch.cat([pairs, pairs.flip(0)], dim=1), 4)
    found = dict(
        zip(map(tuple, graph.edge_index.T.tolist()), adamic_adar(graph), strict=True)
    )
    assert found[0, 1] == found[1, 0] == pytest.approx(1 / math.log(3))
    assert found[0, 2] == pytest.approx(1 / math.log(2))
    assert found[2, 3] == 0


def test_cosine_by_hand():
    graph = Graph.from_edges(torch.tensor([[0, 0], [1, 2]]), 3)
    # The first column is in all rows and weighs nothing.
    x = torch.tensor([[1.0, 2.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 3.0]])
    np.testing.assert_allclose(cosine(x, graph), [1.0, 0.0], atol=1e-12)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory) -> NoisyGraph:
    folder = tmp_path_factory.mktemp("attacked")
    write_graphs(folder)
    return read_attacked("cora", 0.25, str(folder))


@pytest.fixture(scope="module")
def measured(attacked) -> dict:
    return measure(attacked)


def test_wrong_edges_are_found_and_counted(attacked, measured):
    given = attacked
    for found in (measured, measure(given, labels=False)):
        assert found["true_share"] == pytest.approx(float(given.wrong.double().mean()))
        assert found["auc"] > 0.8 and found["auc_cosine"] > 0.7
        assert 0 < found["found_share"] < 2 * found["true_share"]
        assert found["edges"] == given.data.graph.num_edges
        gone = [found[f"removed_at_{promise:g}"] for promise in PROMISES]
        assert gone == sorted(gone)


def test_a_clean_graph_has_no_auc(tmp_path):
    write_graphs(tmp_path)
    found = measure(read_attacked("cora", 0.0, str(tmp_path)))
    assert found["true_share"] == 0 and math.isnan(found["auc"])
    assert found["calibration_error"] == pytest.approx(found["found_share"], abs=1e-6)
    case = {"graph": "g", "kind": "clean", "rate": 0.0, "labels": "yes", "seed": 0}
    line = text([case | found], markdown=True).splitlines()[-1]
    assert [cell.strip() for cell in line.split("|")][1:5] == [
        "g",
        "clean",
        "yes",
        "0.000",
    ]
    assert "nan" not in line


def test_the_table_has_the_mean_over_seeds(measured):
    row = {"graph": "g", "kind": "hub", "rate": 0.5, "labels": "no"} | measured
    rows = [row | {"seed": seed, "auc": 0.8 + seed / 10} for seed in (0, 1)]
    lines = text(rows).splitlines()
    assert len(lines) == 5 and "hub 0.5" in lines[-1] and "0.850" in lines[-1]


def test_the_judge_sees_training_labels_alone(attacked, measured):
    data, wrong = attacked
    y = torch.where(data.train, data.y, (data.y + 1) % 3)
    other = measure(NoisyGraph(type(data)(**{**vars(data), "y": y}), wrong))
    assert other["auc"] == measured["auc"]
    assert other["found_share"] == measured["found_share"]


def test_an_auto_encoder_is_trained_on_request_alone(attacked, measured):
    assert "auc_auto_encoder" not in measured
    found = measure(attacked, with_auto_encoder=True)
    assert found["auc_auto_encoder"] > 0.6
    case = {"graph": "g", "kind": "hub", "rate": 0.5, "labels": "yes", "seed": 0}
    assert "auto-encoder" in text([case | found])
    assert "auto-encoder" not in text([case | measured])
