"""Tables from made-up numbers: what stands where, and rows that machines read."""

import csv
import dataclasses
import io

from sgat_lab.compare.plan import Place
from sgat_lab.compare.table import csv_text, document, render, rows


def test_scores_costs_settings_and_verdict_are_printed(outcome):
    text = render(outcome)
    lines = text.splitlines()
    assert lines[0] == "karate: who keeps the better edges?"
    assert "mean ± standard deviation of 2 runs, seeds 0 to 1" in text
    assert "78 pairs of nodes with an edge" in text.replace("\n", " ")
    cells = {tuple(line.split()) for line in lines}
    # 0.75 + 2/32 - 0.5/8 and - 0.25/8, each ± 0.01 √2.
    assert ("SGAT", "75.0", "±", "1.4", "78.1", "±", "1.4") in cells
    assert ("SGAT", "itself", "62.5", "±", "0.0", "62.5", "±", "0.0") in cells
    own = "SGAT, recommended, itself 81.2 ± 8.8 81.2 ± 8.8"
    assert tuple(own.split()) in cells
    assert ("MLP,", "no", "edges", "37.5", "±", "17.7") in cells
    free = "SGAT, recommended, 81.2 ± 8.8 % of the edges by its own choice 90.0 ± 0.0"
    assert tuple(free.split()) in cells
    assert ("GCN:", "time", "2.00", "ms", "50–53", "25–28") in cells
    assert ("GCN:", "memory", "3.00", "MiB", "50", "25") in cells
    assert ("SGAT", "30", "/", "70", "55", "/", "–") in cells
    assert "(2 / 81 with all edges)" in text.replace("\n", " ")
    assert "model of the last epoch." in text.replace("\n", " ")
    assert "GCN (width 64, elu, dropout 0.5, lr 0.01" in text
    settings = text.replace("\n", " ")
    assert "scorer additive, read-out attention, lr" in settings
    assert "scorer evidence, read-out auto, lr" in settings
    assert lines[-1] == "So it is."
    assert "kept" not in lines[-3]


def test_lines_fit_a_terminal_but_markdown_is_not_broken(outcome):
    told = ["word " * 50]
    plain = render(outcome._replace(verdict=told))
    assert max(map(len, plain.splitlines())) <= 88
    marked = render(outcome._replace(verdict=told), markdown=True)
    assert marked.startswith("## karate") and ("word " * 50).strip() in marked
    assert "| SGAT " in marked


def test_a_missed_budget_is_told(outcome):
    kept = {Place("sgat", 0.5, "sgat"): {0: 1.0, 1: 0.5}}
    # No share was asked for, so none is missed.
    kept[Place("sgat-recommended", None, "sgat-recommended")] = {0: 0.1, 1: 0.3}
    results = dataclasses.replace(outcome.results, kept=kept)
    text = render(outcome._replace(results=results)).replace("\n", " ")
    assert "SGAT itself kept 75.0 % for 50 %: edges" in text
    assert text.count(" kept ") == 2


def test_csv_has_a_row_for_every_cell(outcome):
    text = csv_text(outcome)
    found = list(csv.DictReader(io.StringIO(text)))
    assert len(found) == 1 + 2 + 2 * 4 * 2 + 2 * 2 + 1
    by_cell = {(row["method"], row["budget"], row["model"]): row for row in found}
    full = by_cell["full", "1.0", "gcn"]
    assert full["links"] == "78" and full["test_mean"] == "0.75"
    assert full["test_sd"] == "0.0" and full["val_mean"] == ""
    small = by_cell["jaccard", "0.25", "gat"]
    # round(0.25 · 78) = round(19.5) = 20.
    assert small["links"] == "20" and float(small["time_share"]) == 0.26
    assert by_cell["mlp", "0.0", "mlp"]["seconds"] == ""
    assert by_cell["sgat", "0.5", "gcn"]["isolated"] == "0.3"
    assert by_cell["sgat", "0.5", "sgat"]["isolated"] == ""
    # Its own choice stands at the share it kept: 13 / 16 of 78 links.
    free = by_cell["sgat-recommended", "0.8125", "sgat-recommended"]
    assert free["links"] == "63" and free["test_mean"] == "0.9"


def test_the_document_has_every_run(outcome):
    found = rows(outcome)
    content = document(outcome)
    assert content["verdict"] == ["So it is."] and content["seeds"] == [0, 1]
    assert content["splits_vary"] is False and content["split"] == "leaders"
    assert len(content["runs"]) == 2 * len(found)
    assert {
        "method": "mlp",
        "budget": None,
        "model": "mlp",
        "seed": 1,
        "test": 0.5,
        "val": None,
    } in content["runs"]


def test_a_single_run_has_no_spread(outcome):
    outcome.comparison.seeds = (7,)
    single = {place: {7: runs[0]} for place, runs in outcome.results.test.items()}
    results = dataclasses.replace(outcome.results, test=single)
    kept = {place: {7: runs[0]} for place, runs in outcome.results.kept.items()}
    results = dataclasses.replace(results, kept=kept)
    text = render(outcome._replace(results=results, verdict=[]))
    assert "one run with seed 7" in text and "±" not in text
