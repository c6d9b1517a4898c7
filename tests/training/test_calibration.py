import copy
import dataclasses

import pytest
import torch
import torch.nn.functional as F
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat.training.calibration import (
    HIGHEST,
    LEAST_NODES,
    LOWEST,
    calibrate,
    calibration_error,
    fit_temperature,
)
from sgat.training.loop import fit

SMALL = paper_model(hidden=7)


def drawn(temperature, num_nodes=4001, num_classes=3, several=False):
    """Class scores that are too sure by a factor, and labels as likely as they say."""
    honest = 2 * torch.randn(num_nodes, num_classes)
    if several:
        return honest * temperature, torch.bernoulli(honest.sigmoid())
    return honest * temperature, honest.softmax(dim=1).multinomial(1).squeeze(1)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_temperature_of_the_data_is_found(temperature, several, seed):
    logits, y = drawn(temperature, several=several)
    found = fit_temperature(logits, y)
    assert found == pytest.approx(temperature, rel=0.1)
    assert found == fit_temperature(logits, y)
    if temperature != 1:
        after = calibration_error(logits / found, y)
        assert after < 0.5 * calibration_error(logits, y)


def test_no_other_temperature_has_a_lower_loss(seed):
    logits, y = drawn(2.5, num_nodes=53)

    def loss(temperature):
        target = logits.double() / temperature
        return F.cross_entropy(target, y, label_smoothing=1 / 55).item()

    found = fit_temperature(logits, y)
    grid = torch.logspace(-1.3, 1.3, 211).tolist()
    assert loss(found) <= min(map(loss, grid)) + 1e-9


def test_few_nodes_and_equal_scores_change_nothing(seed):
    logits, y = drawn(4.0)
    assert fit_temperature(logits[: LEAST_NODES - 1], y[: LEAST_NODES - 1]) == 1.0
    assert fit_temperature(logits[:LEAST_NODES], y[:LEAST_NODES]) != 1.0
    assert fit_temperature(torch.zeros(101, 3), y[:101]) == 1.0
    assert fit_temperature(torch.full((101, 3), torch.nan), y[:101]) == 1.0


def test_few_nodes_that_are_all_right_do_not_ask_for_certainty():
    y = torch.arange(30) % 3
    found = fit_temperature(F.one_hot(y, 3).float(), y)
    assert LOWEST < found < 1
    sure = (F.one_hot(y, 3) / found).softmax(dim=1).max()
    assert 1 - 4 / 30 < sure < 1 - 0.3 / 30


def test_scores_that_are_all_wrong_ask_for_the_highest_temperature():
    y = torch.arange(30) % 3
    found = fit_temperature(20 * F.one_hot((y + 1) % 3, 3).float(), y)
    assert found == pytest.approx(HIGHEST, rel=1e-3)


def test_the_calibration_error_is_that_worked_out_by_hand():
    # Two nodes of 0.6, one of them right; two of 0.9, both right.
    probability = torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]])
    y = torch.tensor([0, 1, 1, 1])
    expected = (abs(1.2 - 1) + abs(1.8 - 2)) / 4
    assert calibration_error(probability.log(), y) == pytest.approx(expected)
    sure = torch.tensor([[200.0, -200.0]])
    assert calibration_error(sure, torch.tensor([0])) == 0.0
    assert calibration_error(sure, torch.tensor([[1.0, 1.0]])) == 0.5


@pytest.mark.parametrize("graphs", [[block_graph()], several_graphs()])
def test_a_calibrated_model_predicts_the_same_classes(graphs):
    result = fit(graphs, SMALL, TrainConfig(epochs=8, device="cpu"))
    model, data = result.model, graphs[0]
    temperature = result.calibration.temperature
    assert model.class_temperature == temperature != 1
    raw = model.compute(data.x, data.graph).logits
    found = model(data.x, data.graph)
    torch.testing.assert_close(found, raw / temperature)
    assert torch.equal(found.argmax(dim=1), raw.argmax(dim=1))
    # In training mode the class scores stay as they are, and so do the weights.
    drawn = model.train().compute(data.x, data.graph, seed=3).logits
    assert torch.equal(model(data.x, data.graph, seed=3), drawn)
    assert calibrate(copy.deepcopy(model), result.graphs) == result.calibration
    plain = [dataclasses.replace(d, val=torch.zeros_like(d.val)) for d in graphs]
    bare = fit(plain, SMALL, TrainConfig(epochs=2, device="cpu"))
    assert bare.calibration.temperature == bare.model.class_temperature == 1
    assert bare.calibration.error_before is None
