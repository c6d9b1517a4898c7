"""A comparison on the karate club, with results and costs that are made up."""

import pytest

from sgat.config import DataConfig
from sgat.data.configured import Loaded
from sgat.data.named import load_karate
from sgat_lab.compare.inference import Cost
from sgat_lab.compare.outcome import Outcome
from sgat_lab.compare.plan import Comparison, Place
from sgat_lab.compare.results import Results
from sgat_lab.compare.shapes import Shape

BUDGETS = (0.5, 0.25)
METHODS = ("random", "jaccard", "sgat", "sgat-recommended")


@pytest.fixture
def comparison() -> Comparison:
    return Comparison(
        DataConfig(name="karate"),
        Loaded([load_karate()]),
        budgets=BUDGETS,
        methods=(*METHODS, "mlp"),
        seeds=(0, 1),
    )


def made() -> Results:
    test = {Place("mlp", None, "mlp"): {0: 0.25, 1: 0.5}}
    for model, value in {"gcn": 0.75, "gat": 0.5}.items():
        test[Place("full", None, model)] = {0: value, 1: value}
        for number, method in enumerate(METHODS):
            for budget in BUDGETS:
                mean = value + number / 32 - budget / 8
                test[Place(method, budget, model)] = {0: mean - 0.01, 1: mean + 0.01}
    kept = {}
    for budget in BUDGETS:
        test[Place("sgat", budget, "sgat")] = {0: 0.625, 1: 0.625}
        kept[Place("sgat", budget, "sgat")] = {0: budget, 1: budget}
        recommended = Place("sgat-recommended", budget, "sgat-recommended")
        test[recommended], kept[recommended] = {0: 0.75, 1: 0.875}, {0: budget}
    free = Place("sgat-recommended", None, "sgat-recommended")
    test[free], kept[free] = {0: 0.9, 1: 0.9}, {0: 0.75, 1: 0.875}
    return Results(test=test, val={}, kept=kept)


def made_costs() -> dict[Place, Cost]:
    found = {}
    for model in ("gcn", "gat"):
        found[Place("full", None, model)] = Cost(0.002, 3 * 2**20, 1.0, 1.0)
        for number, method in enumerate(METHODS):
            for budget in BUDGETS:
                share = budget + number / 100
                cost = Cost(share * 0.002, 1000, share, budget)
                found[Place(method, budget, model)] = cost
    return found


@pytest.fixture
def results() -> Results:
    return made()


@pytest.fixture
def costs() -> dict[Place, Cost]:
    return made_costs()


@pytest.fixture
def shapes() -> dict[tuple[str, float], Shape]:
    found = {("full", 1.0): Shape(0.02, 0.81)}
    for number, method in enumerate(METHODS):
        found[method, 0.5] = Shape((number + 1) / 10, 0.5 + 0.1 * number)
        found[method, 0.25] = Shape(0.55, None)
    return found


@pytest.fixture
def outcome(comparison, results, shapes, costs) -> Outcome:
    return Outcome(comparison, results, shapes, costs, ["So it is."])
