import pytest

from sgat_lab.transfer.table import means_of_seeds, text


def row(source, target, method, seed, auc):
    scores = {"roc_auc": auc, "accuracy": auc - 0.1, "source_roc_auc": 0.9}
    named = {"source": source, "target": target, "method": method, "seed": seed}
    return named | scores


ROWS = [
    row("DE", "ES", "sgat", 0, 0.6),
    row("ES", "DE", "sgat", 0, 0.7),
    row("DE", "ES", "sgat", 1, 0.8),
    row("ES", "DE", "sgat", 1, 0.7),
    row("DE", "ES", "gat-plain", 0, 0.5),
]


def test_means_are_of_the_pairs_of_a_seed():
    assert means_of_seeds(ROWS[:4], "roc_auc") == pytest.approx([0.65, 0.75])


def test_means_come_before_the_matrix_of_ours():
    shown = text(ROWS)
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "SGATClassifier() 70.0 ± 7.1 60.0 ± 7.1 90.0 ± 0.0 2 2" in lines
    assert "GAT, plain 50.0 40.0 90.0 1 1" in lines
    assert "DE 70.0 ± 14.1" in lines and "ES 70.0 ± 0.0" in lines
    assert shown.count("ROC AUC\n") == 1
