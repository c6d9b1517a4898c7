import dataclasses

import torch
from support.small_data import block_graph

from sgat_lab.transfer import countries
from sgat_lab.transfer.countries import (
    Countries,
    by_itself,
    pseudo_labelled,
    without_labels,
)

DATA = block_graph()


def test_sources_are_split_by_seed_and_targets_have_no_labels(monkeypatch):
    graphs = [dataclasses.replace(DATA, name=f"twitch-{n}") for n in range(7)]
    monkeypatch.setattr(countries, "load", lambda name, root: graphs)
    made = Countries()
    source = made.source("DE", seed=1)
    sizes = [int(getattr(source, role).sum()) for role in ("train", "val", "test")]
    assert sizes == [127, 42, 42]
    assert not torch.equal(source.train, made.source("DE", seed=2).train)
    assert (made.target("RU").y == -1).all()


def test_a_target_keeps_features_and_edges_alone():
    target = without_labels(DATA)
    assert (target.y == -1).all() and target.test.all()
    assert not target.train.any() and not target.val.any()
    assert target.graph is DATA.graph and target.x is DATA.x


def test_features_are_standardised_by_their_own_graph():
    x = by_itself(dataclasses.replace(DATA, x=DATA.x + 5)).x
    torch.testing.assert_close(x.mean(dim=0), torch.zeros(13), atol=1e-4, rtol=0)


def test_the_surest_nodes_of_each_class_teach():
    target = without_labels(DATA)
    sure = torch.linspace(0.5, 0.9, DATA.num_nodes)
    probability = torch.stack([sure, 1 - sure, torch.zeros_like(sure)], dim=1)
    probability[:10] = torch.tensor([0.1, 0.1, 0.8])
    found = pseudo_labelled(target, probability, 0.3)
    assert int(found.train.sum()) == 3 + 60
    assert found.train[-60:].all() and (found.y[-60:] == 0).all()
    assert (found.y[:10][found.train[:10]] == 2).all()
    assert (found.y[~found.train] == -1).all()
    assert not (found.val | found.test).any()
