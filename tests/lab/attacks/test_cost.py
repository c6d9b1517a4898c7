import math

import pytest
import torch
from support.attacked import write_graphs

from sgat.estimator import SGATClassifier
from sgat_lab.attacks import cost
from sgat_lab.attacks.cost import attacked_graph, cases, measure, text


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("attacked")
    write_graphs(folder)
    return str(folder)


@pytest.fixture
def quick(monkeypatch):
    def few_epochs(seed, device):
        return SGATClassifier(seed=seed, device=device, epochs=15, fast=True)

    monkeypatch.setattr(cost, "SGATClassifier", few_epochs)
    monkeypatch.setattr(cost, "baseline_score", lambda *given, **settings: 0.5)


def test_metattack_is_a_case_where_the_file_has_its_rate(root):
    assert cases("cora", (0.1, 0.25), root) == [
        ("clean", 0.0),
        ("cross-class", 0.1),
        ("ourselves", 0.1),
        ("metattack", 0.25),
        ("cross-class", 0.25),
        ("ourselves", 0.25),
    ]
    with pytest.raises(ValueError, match="There is no graph 'moon'"):
        cases("moon", (0.1,), root)


def test_kinds_add_their_edges(root, monkeypatch):
    clean = attacked_graph("cora", "clean", 0.0, root=root)
    assert not clean.wrong.any()
    crossed = attacked_graph("cora", "cross-class", 0.25, root=root)
    assert int(crossed.wrong.sum()) == round(0.25 * clean.data.graph.num_edges)
    asked = []
    monkeypatch.setattr(
        cost, "attack", lambda *given, seed: asked.append((given, seed))
    )
    attacked_graph("cora", "ourselves", 0.25, seed=7, root=root)
    (((data, rate), seed),) = asked
    assert (rate, seed) == (0.25, 7)
    assert torch.equal(data.graph.keys, clean.data.graph.keys)


def test_the_verdict_is_that_of_the_classifier(root, quick):
    given = attacked_graph("cora", "metattack", 0.25, root=root)
    found = measure(given, "cora")
    assert found["true_share"] == pytest.approx(float(given.wrong.double().mean()))
    assert found["wrong_edges"] == int(given.wrong.sum()) / 2
    assert found["removed"] > 0.5 > 0.1 > found["right_removed"]
    assert found["auc"] > 0.8 and found["ours"] > 0.5 and found["gcn"] == 0.5


def test_a_table_for_each_graph_with_the_spread_of_the_runs():
    numbers = dict.fromkeys(("removed", "right_removed", "found_share"), 0.25)
    rows = [
        {"graph": graph, "kind": kind, "rate": rate, "seed": seed, "gcn": 0.6}
        | {"ours": 0.8 + seed / 50, "auc": auc, "true_share": 0.125}
        | numbers
        for graph in ("cora", "citeseer")
        for kind, rate, auc in (("clean", 0.0, math.nan), ("ourselves", 0.1, 0.9))
        for seed in (0, 1)
    ]
    lines = text(rows, markdown=True).splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        "## An attack that knows the judge: Cora",
        "## An attack that knows the judge: Citeseer",
    ]
    cells = [[cell.strip() for cell in line.split("|")][1:-1] for line in lines]
    ours = ["81.0 ± 1.4", "60.0 ± 0.0", "0.250", "0.250"]
    assert cells.count(["clean", "2", *ours, "", "0.250", "0.125"]) == 2
    assert cells.count(["ourselves 0.1", "2", *ours, "0.900", "0.250", "0.125"]) == 2
