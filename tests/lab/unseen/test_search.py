from collections import Counter

import pytest

from sgat_lab.unseen.search import MOST_NUMBERS, RUNGS, axes, candidates, search

FEW = {"num_edges": 1000, "number": 18}


class FakeTraining:
    """Scores by its setting; counts its epochs."""

    def __init__(self, setting):
        self.setting, self.epochs = setting, 0

    def run(self, until):
        self.epochs = until

    @property
    def quality(self):
        return self.setting / 100, 0.0


@pytest.mark.parametrize("is_strong", [False, True])
def test_every_value_comes_equally_often(is_strong):
    found = candidates("supergat", is_strong=is_strong, **FEW)
    assert len(found) == 18
    for name, values in axes("supergat", is_strong=is_strong).items():
        count = Counter(getattr(setting, name) for setting in found)
        assert count == dict.fromkeys(values, 18 // len(values))


def test_candidates_fit_large_graphs():
    found = candidates("gat", is_strong=True, num_edges=2_000_000, number=18)
    assert all(2_000_000 * s.hidden * s.layers <= MOST_NUMBERS for s in found)
    mlps = candidates("mlp", is_strong=True, num_edges=2_000_000, number=18)
    assert {s.layers for s in mlps} == {2, 4, 8}


def test_halving_takes_the_best_and_costs_six_trainings():
    made = []

    def start(setting):
        made.append(FakeTraining(setting))
        return made[-1]

    found = search([3, 17, *range(20, 35), 1], start)
    assert (found.setting, found.val) == (34, 0.34)
    assert sum(training.epochs for training in made) == 6 * RUNGS[-1][1]
    assert sorted(t.setting for t in made if t.epochs == RUNGS[-1][1]) == [33, 34]
