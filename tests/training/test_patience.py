import dataclasses

import pytest

from sgat.config import TrainConfig
from sgat.training.patience import Patience
from sgat.training.result import EpochRecord

FLAT = EpochRecord(1, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 0.0, 0.0)


def run(config, num_val, *changes):
    """Epochs until patience ends, at most 100; each change holds from its epoch on."""
    patience, values = Patience(config, num_val), {}
    for epoch in range(1, 101):
        for start, new in changes:
            values |= new if start == epoch else {}
        patience.see(dataclasses.replace(FLAT, epoch=epoch, **values))
        if patience.left == 0:
            return epoch
    return None


@pytest.mark.parametrize(
    ("changes", "epochs"),
    [
        ([], 11),
        ([(5, {"val": 0.6})], 15),
        ([(5, {"val_loss": 0.98})], 15),
        ([(5, {"val_loss": 0.995})], 11),
        ([(5, {"val_loss": 0.995}), (9, {"val_loss": 0.985})], 19),
        ([(5, {"expected_open": 0.9})], 15),
        ([(5, {"val": 0.6}), (16, {"val": 0.7})], 15),
    ],
)
def test_it_runs_out_where_nothing_gets_better(changes, epochs):
    assert run(TrainConfig(patience=10), 50, *changes) == epochs


@pytest.mark.parametrize(
    ("num_val", "loss", "epochs"), [(100, 0.05, 6), (99, 0.05, 15), (100, 0.2, 15)]
)
def test_a_settled_score_is_not_waited_on(num_val, loss, epochs):
    right = (5, {"val": 1.0, "val_loss": loss})
    falling = ((5 + k, {"val_loss": loss * 0.9**k}) for k in range(1, 100))
    assert run(TrainConfig(patience=10), num_val, right) == epochs
    if epochs == 6:
        assert run(TrainConfig(patience=10), num_val, right, *falling) == epochs


@pytest.mark.parametrize("settings", [{"patience": 0}, {"select": "last"}])
def test_it_never_runs_out_where_all_epochs_are_wanted(settings):
    assert run(TrainConfig(**settings), 50) is None
    assert run(TrainConfig(), 0) is None


def test_epochs_before_a_budget_is_met_do_not_count():
    assert run(TrainConfig(keep=0.5, warmup=20, patience=10), 50) == 31
