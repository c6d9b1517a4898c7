import pytest

from sgat_lab.unseen.table import Gap, best_peer, columns, gaps, is_strong, text


def rows_of(scores, noise="clean", graph="cora"):
    """A row for each score, with seeds 0, 1, …."""
    return [
        {"graph": graph, "noise": noise, "method": method, "seed": seed, "test": score}
        for method, values in scores.items()
        for seed, score in enumerate(values)
    ]


SCORES = {
    "mlp-strong": [0.5, 0.6],
    "gcn-plain": [0.9, 0.9],
    "gcn-strong": [0.8, 0.82],
    "gcn-strong-judged": [0.85, 0.85],
    "sgat": [0.8, 0.83],
}


def test_errors_are_of_differences_where_seeds_are_shared():
    gap = Gap({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.6})
    assert gap.mean == pytest.approx(0.1) and gap.error == pytest.approx(0.0)
    apart = Gap({0: 0.5, 1: 0.7}, {2: 0.4, 3: 0.6})
    assert apart.error == pytest.approx(0.1 * 2**0.5)
    assert str(Gap({0: 0.5}, {0: 0.6})) == "-10.0 ± 0.0"


@pytest.mark.parametrize(
    ("ours", "theirs", "is_close"),
    [
        ([0.800, 0.800], [0.804, 0.804], True),
        ([0.800, 0.800], [0.806, 0.806], False),
        ([0.800, 0.840], [0.830, 0.830], True),
    ],
)
def test_close_is_half_a_point_or_one_error(ours, theirs, is_close):
    assert Gap(dict(enumerate(ours)), dict(enumerate(theirs))).is_close == is_close


def test_ours_stands_beside_the_best_strong_peer():
    column = columns(rows_of(SCORES), "clean")["cora"]
    assert best_peer(column, is_strong) == "gcn-strong"
    assert gaps(column, "sgat", is_strong).mean == pytest.approx(0.005)
    assert gaps(column, "sgat", lambda name: False) is None


def test_tables_mark_the_best_and_close_with_a_summary():
    rows = rows_of(SCORES) + rows_of(SCORES, "cross-class")
    rows += rows_of({"mlp-strong": [0.9, 0.9], "sgat": [0.7, 0.7]}, graph="texas")
    shown = text(rows, markdown=True)
    assert "**90.0 ± 0.0**" in shown and "**85.0 ± 0.0**" in shown
    assert "81.0 ± 1.4 |" in shown and "SGATClassifier() − best strong peer" in shown
    clean, noisy = shown.split("## Twice the edges")
    assert "next to the best strong peer: 1 of 2 graphs; not texas." in clean
    assert "above the best strong peer: 1 of 2 graphs; not texas." in clean
    assert "more than one standard error: 1 of 2 graphs; not texas." in clean
    assert "above the best peer: 0 of 1 graphs; not cora." in noisy
    assert "judged edges, or above: 0 of 1 graphs; not cora." in noisy
    assert "texas" not in noisy


def test_without_ours_there_is_no_summary():
    shown = text(rows_of({"gcn-plain": [0.5]}))
    assert "50.0 *" in shown and "SGATClassifier" not in shown
