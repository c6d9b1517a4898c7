"""The head of the page says what the run was asked for, and what came of it."""

import dataclasses

import pytest

from sgat.explaining.removal import RemovalPoint
from sgat.report.content import ASKED, answer, lead, tiles
from sgat.report.page import percent


@pytest.mark.parametrize(
    ("keep", "scorer", "reach", "told"),
    [
        (None, "revised", 2, "asked to close those that look like noise."),
        (0.25, "evidence", 2, "learned which edges to use, asked to keep 25.0 %"),
        (None, "evidence", 2, "asked to close those that look like noise."),
        (None, "additive", 2, "with a price of 1e−06 for an open edge."),
        (None, "evidence", 0, "by the features of each node alone; its edges were"),
    ],
)
def test_the_lead_says_what_was_asked(keep, scorer, reach, told, hostile_run):
    content = hostile_run.content()
    price = None if keep is not None or not reach else 1e-6
    asked = {"keep": keep, "l0_weight": price, "reach": reach}
    changed = dataclasses.replace(
        content,
        config=content.config.replace(model={"scorer": scorer}),
        summary=content.summary | asked,
    )
    text = lead(changed).replace("\u00a0", " ")
    assert text.startswith("61 nodes, ") and told in text
    assert "–" not in text


def test_the_metric_is_named_and_uneven_classes_have_more_numbers(hostile_run):
    content = hostile_run.content()
    scores = {
        **{"accuracy": 0.9, "balanced_accuracy": 0.61, "macro_f1": 0.62},
        **{"roc_auc": 0.71, "average_precision": None, "largest_class": 0.85},
    }
    changed = dataclasses.replace(
        content,
        config=content.config.replace(train={"metric": "roc_auc"}),
        summary=content.summary | {"roc_auc": 0.71, "test_scores": scores},
    )
    assert changed.score_title == "ROC AUC"
    tested = f"on {content.summary['test_nodes']} nodes"
    shown = [tuple(s.replace("\u00a0", " ") for s in cell) for cell in tiles(changed)]
    assert shown[0] == ("Test ROC AUC", "71.00 %", tested)
    assert shown[2] == (
        *("Accuracy", "90.00 %"),
        "balanced accuracy 61.0 %; macro-F1 62.0 %; average precision –;"
        " the largest class has 85.0 % of the nodes",
    )
    plain = dataclasses.replace(
        content, summary=content.summary | {"test_scores": None}
    )
    assert next(title for title, *_ in tiles(plain)) == "Test accuracy"
    assert not any("largest class" in more for *_, more in tiles(plain))


@pytest.mark.parametrize("use", ["weigh", "all"])
def test_the_lead_says_what_was_done_with_judged_edges(use, hostile_run):
    content = hostile_run.content()
    model = {"scorer": "evidence", "judged_edges": use}
    changed = dataclasses.replace(
        content,
        config=content.config.replace(model=model),
        summary=content.summary | {"keep": None, "reach": 2},
    )
    assert f"learned which edges to use, {ASKED[use]}." in lead(changed)


@pytest.mark.parametrize(
    ("scorer", "changes", "told"),
    [
        (
            "evidence",
            {"keep": None, "rows": 2000, "rows_removed": 1204, "accuracy": 0.87},
            "1,204 of 2,000 rows look wrong and were removed. The test accuracy is"
            " 87.0 %, and 73.0 % if the same model uses all edges.",
        ),
        (
            "evidence",
            {"keep": None, "rows": 1000, "rows_removed": 0, "accuracy": 0.87},
            "No edge looks wrong: all 1,000 stay. The test accuracy is 87.0 %.",
        ),
        (
            "additive",
            {"keep": 0.5, "rows": 8, "rows_removed": 4, "accuracy": None},
            "4 of 8 rows were removed. The validation accuracy is 80.0 %, and 70.0 %"
            " if the same model uses all edges.",
        ),
    ],
)
def test_the_answer_comes_first_in_words(scorer, changes, told, hostile_run):
    content = hostile_run.content()
    changed = dataclasses.replace(
        content,
        config=content.config.replace(model={"scorer": scorer}),
        summary=content.summary | {"validation": 0.8} | changes,
        curve=[RemovalPoint(0.0, 0.0, 0.7, 0.73), RemovalPoint(0.5, 0.0, 0.8, 0.87)],
    )
    assert answer(changed).replace("\u00a0", " ") == told


@pytest.mark.parametrize("undirected", [True, False])
def test_rows_and_edges_are_both_named_where_they_differ(undirected, hostile_run):
    content = hostile_run.content()
    counts = {"edges": 200, "edges_removed": 20, "rows": 103, "rows_removed": 10}
    summary = content.summary | counts | {"undirected_rows": undirected}
    changed = dataclasses.replace(content, summary=summary)
    both = ", each direction counted" * undirected
    told = f"61 nodes, 103 rows that make 200 edges (loops left out{both}), "
    assert lead(changed).startswith(told)
    shown = {title: more for title, _, more in tiles(changed)}
    assert shown["Rows removed"] == "10 of 103; 93 kept"
    shares = {title: value for title, value, _ in tiles(changed)}
    assert shares["Rows removed"] == percent(10 / 103)
    summary |= {"rows": 200, "rows_removed": 20}
    same = dataclasses.replace(content, summary=summary)
    assert lead(same).startswith("61 nodes, 200 edges, ")
    shown = {title: more for title, _, more in tiles(same)}
    assert shown["Edges removed"] == "20 of 200; 180 kept"
