import pytest

from sgat_lab.trials.best_possible import judged_best


@pytest.mark.parametrize(("share", "removed"), [(0.0, 0.0), (1.0, 1.0)])
def test_where_all_edges_are_of_one_kind_all_stay_or_go(share, removed):
    found = judged_best("block-5", 0, noise_rate=share, feature_signal=1.0)
    assert found["removed"] == removed
    assert found["extra"] == {}


def test_shuffled_labels_are_not_heard():
    options = {"noise_rate": 0.5, "feature_signal": 0.0}
    found = judged_best("block-5", 0, **options, shuffled=True)
    told = judged_best("block-5", 0, **options)
    # The graph by itself shows its blocks, and labels add to it.
    assert 0.85 < found["extra"]["auc"] < told["extra"]["auc"]
    assert found["test"] < 0.3 and told["test"] > 0.9
