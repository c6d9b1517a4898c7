import dataclasses

import pytest
import torch
from support.settings import request_for
from support.small_data import block_graph

import sgat
from sgat.config import ModelConfig, TrainConfig
from sgat.config.arguments import from_arguments
from sgat.data.node_data import NodeData
from sgat.training.fresh_model import chosen_scorer, resolved
from sgat.training.loop import fit


def test_gates_of_single_edges_take_no_scorer():
    model = ModelConfig(scorer="auto", gate_mode="transductive")
    assert chosen_scorer(model) == "additive"


def test_a_scorer_that_is_named_stays():
    graphs = [block_graph()]
    for name in ("additive", "cosine", "evidence"):
        assert resolved(ModelConfig(scorer=name), graphs).scorer == name


def test_every_way_in_has_the_same_defaults():
    given = sgat.SGATClassifier().get_params()
    by_python = from_arguments(given)
    by_files = request_for({"edges": "e.csv", "label": "y", "fast": False}).settings()
    by_name = request_for({"name": "ppi", "fast": False}).settings()
    for config in (by_python, by_files, by_name):
        assert config.model == ModelConfig() and config.train == TrainConfig()
    assert (ModelConfig().scorer, ModelConfig().readout) == ("auto", "auto")


@pytest.fixture
def mute() -> NodeData:
    """A graph whose labels were dealt out at random."""
    data = block_graph(num_nodes=503, num_classes=4, degree=20, feature_signal=1.0)
    order = torch.randperm(503, generator=torch.Generator().manual_seed(0))
    return dataclasses.replace(data, y=data.y[order])


def test_where_edges_say_nothing_nobody_is_heard(mute):
    model = ModelConfig(hidden=8)
    assert (found := resolved(model, [mute])).readout == "beliefs"
    assert found.layers == 0
    result = fit([mute], model, TrainConfig(epochs=3, device="cpu"))
    trained, (seen,) = result.sgat.eval(), result.graphs
    empty = sgat.Graph.from_edges(torch.empty(2, 0, dtype=torch.long), mute.num_nodes)
    with torch.no_grad():
        assert torch.equal(trained(mute.x, empty), trained(seen.x, seen.graph))
    # The price of open edges does not close gates that nothing depends on.
    assert float(trained.gating.gate_bias.detach()) == 0


def test_only_the_labels_of_training_nodes_choose_the_readout(mute):
    plain = block_graph(num_nodes=503, num_classes=4, degree=20, feature_signal=1.0)
    chosen = []
    for seen, hidden in ((mute, plain), (plain, mute)):
        mixed = dataclasses.replace(seen, y=torch.where(seen.train, seen.y, hidden.y))
        found = resolved(ModelConfig(), [mixed])
        assert found == resolved(ModelConfig(), [seen])
        chosen.append((found.readout, found.layers))
    assert chosen == [("beliefs", 0), ("diffusion", 2)]


def test_scores_travel_far_where_neighbours_are_alike():
    found = resolved(ModelConfig(), [block_graph()])
    assert (found.readout, found.steps) == ("diffusion", 10)
    found = resolved(ModelConfig(steps=3), [block_graph()])
    assert (found.readout, found.steps) == ("diffusion", 3)
    # Gates that training moves, and several labels, go with layers of attention.
    by_training = ModelConfig(layers=3, scorer="cosine", readout="auto")
    found = resolved(by_training, [block_graph()])
    assert (found.readout, found.layers) == ("attention", 3)
    data = block_graph()
    several = dataclasses.replace(
        data, y=torch.stack([data.y > 0, data.y > 1], 1) * 1.0
    )
    found = resolved(ModelConfig(layers=3), [several])
    assert (found.scorer, found.readout, found.layers) == ("evidence", "attention", 3)


def test_gates_that_only_training_moves_are_not_left_without_it(mute):
    model = ModelConfig(scorer="additive", readout="auto")
    assert resolved(model, [mute]).layers == model.layers
