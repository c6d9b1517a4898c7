import dataclasses
import json

import numpy as np
import pytest
from support.small_data import block_graph

import sgat
from sgat.explaining.graph_explanation import explain_graph

QUICK = {"fast": True, "hidden": 5, "epochs": 4, "keep": 0.5, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted() -> sgat.SGATClassifier:
    data = block_graph(num_nodes=61)
    ids = np.array([f"n{i}" for i in range(61)], dtype=object)
    data = dataclasses.replace(data, node_ids=ids)
    return sgat.SGATClassifier(**QUICK).fit(data)


def test_the_graph_is_described_as_the_scores_have_it(fitted):
    found = explain_graph(fitted.model_, fitted.scored_)
    kept = fitted.edges_["kept"]
    assert found.removal.after.edges == int(kept.sum())
    data = fitted.graphs_[0]
    label = {f"n{i}": int(y) for i, y in enumerate(data.y)}
    same = fitted.edges_["src"].map(label) == fitted.edges_["dst"].map(label)
    table = found.table.set_index("name")
    assert table.loc["same_label", "kept"] == pytest.approx(same[kept].mean())
    assert table.loc["same_label", "removed"] == pytest.approx(same[~kept].mean())
    assert table.loc["homophily", "before"] == pytest.approx(same.mean())
    prediction = dict(zip(label, fitted.predict(), strict=True))
    alike = fitted.edges_["src"].map(prediction) == fitted.edges_["dst"].map(prediction)
    assert table.loc["same_prediction", "kept"] == pytest.approx(alike[kept].mean())
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    "model", [{"readout": "beliefs", "layers": 0}, {"readout": "diffusion", "steps": 0}]
)
def test_where_nobody_is_heard_no_edge_is_important(model):
    clf = sgat.SGATClassifier(**QUICK, model=model).fit(block_graph(num_nodes=61))
    found = explain_graph(clf.model_, clf.scored_)
    assert found.reach == 0 and len(found.important) == 0
    assert json.loads(json.dumps(found.to_dict()))["reach"] == 0


def test_at_least_no_edge_is_listed(fitted):
    with pytest.raises(ValueError, match="`top` must be at least 0, got -1"):
        explain_graph(fitted.model_, fitted.scored_, top=-1)
