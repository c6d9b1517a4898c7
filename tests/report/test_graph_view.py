import base64
import dataclasses
import json

import numpy as np
import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.gates import HardConcrete
from sgat.report import graph_view
from sgat.report.graph_view import build_view
from sgat.scored import EdgeScores, ScoredGraph
from sgat.training import metrics

KINDS = {"src": "i4", "pointer": "i4", "score": "f4", "split": "u1", "label": "i2"}
KINDS |= {
    "leftOut": "i4",
    "prediction": "i2",
    "confidence": "f4",
    "x": "f4",
    "labels": "u1",
}


def read(payload, key):
    return np.frombuffer(base64.b64decode(payload[key]), dtype=f"<{KINDS[key]}")


def view_of(data, **options):
    generator = torch.Generator().manual_seed(0)
    log_alpha = torch.randn(data.graph.num_edges, generator=generator) - 1.6
    scores = EdgeScores.from_log_alpha(log_alpha, data.graph, HardConcrete())
    logits = torch.randn(data.num_nodes, data.num_classes, generator=generator)
    settings = {"is_symmetric": False, "uses_edges": True, **options}
    several = data.is_multilabel
    prediction = metrics.decide(logits, several)
    probability = metrics.probabilities(logits, several)
    scored = ScoredGraph(data, scores, prediction, probability)
    threshold = HardConcrete().threshold
    return build_view(scored, threshold, **settings), scores, logits


def test_the_page_holds_the_graph_as_it_is():
    data = block_graph()
    view, scores, logits = view_of(data)
    payload = json.loads(json.dumps(view.payload))
    dst = np.repeat(np.arange(data.num_nodes), np.diff(read(payload, "pointer")))
    assert np.array_equal(dst, data.graph.dst)
    assert np.array_equal(read(payload, "src"), data.graph.src)
    assert np.array_equal(read(payload, "score"), scores.log_alpha)
    assert np.array_equal(read(payload, "label"), data.y)
    assert np.array_equal(read(payload, "prediction"), logits.argmax(1))
    assert np.allclose(read(payload, "confidence"), logits.softmax(1).amax(1))
    split = read(payload, "split")
    for number, role in enumerate(("train", "val", "test"), start=1):
        assert np.array_equal(split == number, getattr(data, role))
    assert payload["threshold"] == HardConcrete().threshold
    assert payload["whole"] and payload["ids"] is None
    assert np.array_equal(read(payload, "x"), view.place[:, 0])
    assert view.notes == ()


def test_lines_decide_whether_a_graph_is_drawn_whole():
    data = block_graph()
    edges = data.graph.num_edges
    assert view_of(data, most_lines=edges)[0].payload["whole"]
    assert not view_of(data, most_lines=edges - 1)[0].payload["whole"]
    # Both directions of an edge are one line where they share a score.
    half = view_of(data, most_lines=max(edges // 2, data.num_nodes), is_symmetric=True)
    assert half[0].payload["whole"]
    assert not view_of(data, most_lines=data.num_nodes - 1)[0].payload["whole"]
    large = view_of(data, most_lines=10)[0]
    assert large.place is None and large.payload["x"] is None
    assert f"{edges:,} edges" in large.notes[0]


@pytest.mark.parametrize("most", [(50, 10_000), (10_000, 40), (1, 10_000)])
def test_of_a_very_large_graph_whole_neighbourhoods_are_taken(most):
    data = dataclasses.replace(
        block_graph(), node_ids=np.array([f"id {k}" for k in range(211)])
    )
    most_edges, most_nodes = most
    view, scores, _ = view_of(
        data, most_lines=10, most_edges=most_edges, most_nodes=most_nodes
    )
    payload = view.payload
    edges, nodes = payload["edges"], payload["nodes"]
    assert edges <= most_edges and nodes <= most_nodes
    assert nodes == len(payload["ids"]) < data.num_nodes
    names = np.array(payload["ids"])
    pointer, src = read(payload, "pointer"), read(payload, "src")
    dst = np.repeat(np.arange(nodes), np.diff(pointer))
    known = {
        (data.node_ids[a], data.node_ids[b]): score
        for a, b, score in zip(
            data.graph.src.numpy(),
            data.graph.dst.numpy(),
            scores.log_alpha.numpy(),
            strict=True,
        )
    }
    found = zip(names[src], names[dst], read(payload, "score"), strict=True)
    for start, end, score in found:
        assert known[start, end] == score
    degree = dict(zip(data.node_ids, data.graph.row_ptr.diff().tolist(), strict=True))
    whole = [name for k, name in enumerate(names) if pointer[k + 1] > pointer[k]]
    assert all(degree[n] == np.sum(names[dst] == n) for n in whole)
    missing = np.zeros(nodes)
    if payload["leftOut"] is not None:
        missing = read(payload, "leftOut")
    assert [missing[k] + np.sum(names[dst] == n) for k, n in enumerate(names)] == [
        degree[n] for n in names
    ]
    left_out = data.graph.num_edges - edges
    assert any(f"{left_out:,} of its edges are left out" in n for n in view.notes)
    if most_edges > 1:
        assert whole


def test_long_ids_are_cut_off_only_where_they_are_too_much(monkeypatch):
    ids = np.array([f"{k} {'🦊' * 90}" for k in range(211)], dtype=object)
    data = dataclasses.replace(block_graph(), node_ids=ids)
    assert view_of(data)[0].payload["ids"] == list(ids)
    monkeypatch.setattr(graph_view, "MOST_ID_BYTES", 211 * 20)
    view, *_ = view_of(data)
    assert view.payload["ids"] == [text[:19] + "…" for text in ids]
    assert view.payload["longestId"] == 20
    assert "cut off after 20 characters" in view.notes[-1]


def test_rather_fewer_nodes_than_ids_that_are_cut_off(monkeypatch):
    ids = np.array([f"{k:050d}" for k in range(211)], dtype=object)
    data = dataclasses.replace(block_graph(), node_ids=ids)
    monkeypatch.setattr(graph_view, "MOST_ID_BYTES", 52 * 60)
    view, *_ = view_of(data, most_lines=10)
    assert 10 < view.payload["nodes"] <= 60
    assert set(view.payload["ids"]) <= set(ids)
    assert view.payload["longestId"] is None


def test_several_labels_travel_as_bits():
    data = several_graphs()[0]
    view, _, logits = view_of(data)
    bits = read(view.payload, "labels").reshape(data.num_nodes, 7)
    assert np.array_equal(bits & 1, data.y)
    assert np.array_equal(bits >> 1, (logits > 0).int())
    assert "label" not in view.payload


def write_snapshots(path, data, number, **changes):
    random = np.random.default_rng(0)
    arrays = {
        "epoch": np.arange(number) * 10 + 1,
        "log_alpha": random.standard_normal((number, data.graph.num_edges)),
        "logits": random.standard_normal((number, data.num_nodes, 3)),
    }
    np.savez(path, **{k: v for k, v in (arrays | changes).items() if v is not None})
    return arrays


def test_snapshots_are_thinned_out_where_they_are_too_many(tmp_path, monkeypatch):
    data = block_graph()
    arrays = write_snapshots(tmp_path / "s.npz", data, 9)
    view, *_ = view_of(data, snapshots=tmp_path / "s.npz")
    found = view.payload["snapshots"]
    assert found["epoch"] == arrays["epoch"].tolist()
    last = np.frombuffer(base64.b64decode(found["score"][-1]), dtype="<f4")
    assert np.array_equal(last, arrays["log_alpha"][-1].astype("f4"))
    first = np.frombuffer(base64.b64decode(found["prediction"][0]), dtype="<i2")
    assert np.array_equal(first, arrays["logits"][0].argmax(axis=1))
    size = 4 * data.graph.num_edges + 2 * data.num_nodes
    monkeypatch.setattr(graph_view, "MOST_SNAPSHOT_BYTES", 4 * size)
    view, *_ = view_of(data, snapshots=tmp_path / "s.npz")
    assert view.payload["snapshots"]["epoch"] == [1, 31, 51, 81]
    assert "4 of the 9 snapshots" in view.notes[-1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logits": None}, "damaged"),
        ({"log_alpha": np.zeros((3, 2))}, "does not belong to the data"),
        ({"logits": np.zeros((3, 5, 3))}, "does not belong to the data"),
    ],
)
def test_bad_snapshots_are_refused(changes, message, tmp_path):
    data = block_graph()
    write_snapshots(tmp_path / "s.npz", data, 3, **changes)
    with pytest.raises(ValueError, match=rf"s\.npz.*{message}"):
        view_of(data, snapshots=tmp_path / "s.npz")
    (tmp_path / "s.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"s\.npz: not an NPZ file"):
        view_of(data, snapshots=tmp_path / "s.npz")


def test_a_graph_without_edges_has_a_view():
    data = block_graph()
    none = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    data = dataclasses.replace(data, graph=data.graph.select(none))
    view, *_ = view_of(data)
    assert view.payload["edges"] == 0 and view.payload["whole"]
    assert np.isfinite(view.place).all()
