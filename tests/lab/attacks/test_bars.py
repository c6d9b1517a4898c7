"""Bars: which cases are within them, and the tables that count these."""

import math

import pytest

from sgat_lab.attacks.bars import best_signal, keeps_promise, share_is_near, text

CASE = {
    "graph": "g",
    "kind": "hub",
    "labels": "yes",
    "true_share": 0.3,
    "found_share": 0.26,
    "auc": 0.9,
    "auc_cosine": 0.5,
    "auc_adamic_adar": 0.903,
    "auc_jaccard": math.nan,
    "calibration_error": 0.05,
    **{f"right_at_{promise}": 0.1 for promise in ("0.05", "0.1", "0.2")},
}


@pytest.mark.parametrize(
    ("true", "found", "is_near"),
    [
        (0.0, 0.03, True),
        (0.0, 0.031, False),
        (0.0909, 0.13, False),
        (0.5, 0.45, True),
        (0.5, 0.56, False),
    ],
)
def test_the_bar_of_a_share_depends_on_how_many_are_wrong(true, found, is_near):
    assert share_is_near({"true_share": true, "found_share": found}) is is_near


def test_the_best_signal_is_one_that_was_measured():
    assert best_signal(CASE) == 0.903
    assert best_signal(CASE | {"auc_auto_encoder": 0.95}) == 0.95
    assert math.isnan(best_signal({"auc": 0.9}))


def test_a_promise_is_kept_where_none_goes():
    assert keeps_promise(CASE, 0.1) and not keeps_promise(CASE, 0.05)
    assert keeps_promise(CASE | {"right_at_0.05": math.nan}, 0.05)


def test_the_tables_count_the_cases_within_their_bars():
    clean = CASE | {"kind": "clean", "true_share": 0.0, "auc": math.nan}
    lines = text([CASE, clean], markdown=True).splitlines()
    cells = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in lines
        if line.startswith("|")
    }
    assert cells["hub"] == ["1 of 1", "1 of 1", "0.900, 0.903", "0", "0, 1, 1"]
    assert cells["clean"] == ["0 of 1", "", "", "0", "0, 1, 1"]
    assert cells["all"] == ["1 of 2", "1 of 1", "0.900, 0.903", "0", "0, 2, 2"]
