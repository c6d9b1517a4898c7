import dataclasses

import pytest
from support.small_data import block_graph, neighbours_decide, several_graphs

from sgat.config import ModelConfig, TrainConfig
from sgat.training.candidates import TABLE, candidates, differing
from sgat.training.fresh_model import build_sgat, resolved

TRAIN = TrainConfig()
GRAPHS = {
    "alike": lambda: [block_graph()],
    "mute": lambda: [neighbours_decide()],
    "labels": several_graphs,
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"layers": 3},
        {"hidden": 5, "scorer": "cosine"},
        {"gate_mode": "transductive"},
    ],
)
def test_the_rule_comes_first_and_all_differ(name, settings):
    graphs, model = GRAPHS[name](), ModelConfig(**settings)
    found = candidates(model, TRAIN, graphs)
    assert found[0].model == resolved(model, graphs) and found[0].train == TRAIN
    assert len(found) > 2
    for values in zip(*((each.name, repr(each)) for each in found), strict=True):
        assert len(set(values)) == len(found)
    for each in found:
        # Nothing is left to the data, and every network can be built.
        assert each.model == resolved(each.model, graphs)
        build_sgat(each.model, 3, 2, 5)


def test_a_table_without_conditions_is_tried_in_full():
    found = candidates(ModelConfig(), TRAIN, [block_graph()])
    assert {each.name for each in found} == {row.name for row in TABLE}


def test_settings_that_were_chosen_stay():
    model = ModelConfig(hidden=7, dropout=0.3, steps=4)
    train = TrainConfig(weight_decay=0.25, lr=0.02)
    found = candidates(model, train, [block_graph()])
    for each in found:
        assert (each.model.hidden, each.model.dropout, each.model.steps) == (7, 0.3, 4)
        assert each.train == train
    # What the table varies in other ways is still tried.
    assert len({each.model.readout for each in found}) > 2
    assert len({each.model.judged_edges for each in found}) == 2


@pytest.mark.parametrize("use", ["weigh", "all"])
def test_edges_that_all_stay_do_so_in_every_candidate(use):
    found = candidates(ModelConfig(judged_edges=use), TRAIN, [block_graph()])
    assert {each.model.judged_edges for each in found} == {use}
    assert {row.name for row in TABLE} >= {each.name for each in found}
    assert len(found) > 8
    for each in found:
        build_sgat(each.model, 3, 2, 5)


def test_several_labels_have_no_beliefs():
    found = candidates(ModelConfig(), TRAIN, several_graphs())
    assert "beliefs" not in {each.model.readout for each in found}


def test_gates_that_training_moves_are_used():
    model = ModelConfig(scorer="additive")
    for each in candidates(model, TRAIN, [neighbours_decide()]):
        assert each.model.layers > 0


def test_what_differs_is_named():
    (loose,) = (
        each
        for each in candidates(ModelConfig(), TRAIN, [block_graph()])
        if each.name == "loose layers"
    )
    found = differing(loose, TRAIN)
    assert found["readout"] == "deep" and found["weight_decay"] == 0
    assert "scorer" not in found and "epochs" not in found
    other = dataclasses.replace(TRAIN, weight_decay=0.0)
    assert "weight_decay" not in differing(loose, other)
