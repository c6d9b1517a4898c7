import functools

import pytest
from support.attacked import write_graphs

from sgat.estimator import SGATClassifier
from sgat_lab.attacks import accuracy
from sgat_lab.attacks.accuracy import PUBLISHED, RATES, ROWS, score, text


@pytest.mark.parametrize("row", ROWS)
def test_every_method_trains_on_an_attacked_graph(row, tmp_path, monkeypatch):
    write_graphs(tmp_path)
    settings, few = accuracy.settings, {"epochs": 40}

    def shorter(*given, **options):
        return settings(*given, **options).replace(train=few)

    monkeypatch.setattr(accuracy, "settings", shorter)
    ours = functools.partial(SGATClassifier, fast=True, **few)
    monkeypatch.setattr(accuracy, "SGATClassifier", ours)
    found = score(row, "cora", 0.25, 0, root=str(tmp_path), device="cpu")
    assert found["test"] > 0.5, "a third are right by chance"
    assert found["seconds"] > 0


def test_published_rows_of_cora_have_all_rates():
    assert len(PUBLISHED["cora"]) == 7
    for cells in PUBLISHED["cora"].values():
        assert tuple(cells) == RATES
    assert all(50 < v < 90 for c in PUBLISHED["citeseer"].values() for v in c.values())


def test_our_rows_stand_above_published_ones():
    rows = [
        {"graph": "cora", "rate": 0.25, "row": row, "seed": seed, "test": test}
        for row, test in (("gcn", 0.5), (accuracy.OURS, 0.8))
        for seed, test in ((0, test), (1, test + 0.02))
    ]
    lines = text(rows, markdown=True).splitlines()
    cells = {
        (parts[1], parts[-2]): parts[2:-2]
        for line in lines
        if len(parts := [cell.strip() for cell in line.split("|")]) > 4
    }
    assert cells["GCN", "trained here"] == ["51.0 ± 1.4", "2"]
    assert cells["SGATClassifier()", "trained here"] == ["81.0 ± 1.4", "2"]
    assert cells["GCN", accuracy.JIN] == ["47.5", ""]
    assert cells["R-GUGNN", accuracy.R_GUGNN] == ["76.1", ""]
