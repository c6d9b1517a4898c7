"""Result: the record of the selected epoch, and the data as the model saw it."""

import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat.training.loop import fit

SMALL = paper_model(hidden=3)


def test_the_best_record_is_that_of_the_selected_epoch():
    result = fit([block_graph()], SMALL, TrainConfig(epochs=4, device="cpu"))
    assert result.best.epoch == result.best_epoch
    assert result.best.val == max(record.val for record in result.records)
    assert result.sgat is result.model


def test_the_data_is_handed_on_in_its_order():
    graphs = several_graphs()
    result = fit(graphs, SMALL, TrainConfig(epochs=1, device="cpu"))
    assert [data.name for data in result.graphs] == [data.name for data in graphs]
    for seen, given in zip(result.graphs, graphs, strict=True):
        assert torch.equal(seen.graph.src, given.graph.src)
        assert torch.equal(seen.x, given.x)


@pytest.mark.gpu
def test_the_data_is_on_the_device_of_the_model():
    result = fit([block_graph()], SMALL, TrainConfig(epochs=1, device="cuda"))
    assert result.graphs[0].graph.device.type == "cuda"
