"""A GCN on a graph made smaller beforehand."""

import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat_lab.baselines import fit, gcn
from sgat_lab.baselines.sparsified import METHOD
from sgat_lab.config import MethodConfig
from sgat_lab.sparsifiers import SPARSIFIERS


def config(**options) -> MethodConfig:
    return MethodConfig(method="sparsified", hidden=8, options=options)


@pytest.mark.parametrize("how", SPARSIFIERS)
def test_the_kept_edges_are_those_of_the_sparsifier(how):
    data = block_graph()
    (smaller,) = METHOD.prepare([data], config(how=how, keep=0.3), 5)
    assert smaller.graph.num_edges == 2 * round(0.3 * data.graph.num_edges / 2)
    given, left = (
        set(map(tuple, graph.edge_index.T.tolist()))
        for graph in (data.graph, smaller.graph)
    )
    assert left < given
    assert smaller.graph.is_undirected


def test_training_is_that_of_a_gcn_on_the_smaller_graph():
    train = TrainConfig(epochs=4, device="cpu")
    (smaller,) = METHOD.prepare([block_graph()], config(how="jaccard", keep=0.3), 0)
    ours = fit([smaller], config(how="jaccard", keep=0.3), train)
    plain = fit([smaller], MethodConfig(method="gcn", hidden=8), train)
    assert [r.loss for r in ours.records] == [r.loss for r in plain.records]
    assert isinstance(ours.model, gcn.GCN)


def test_labels_are_not_looked_at():
    data = block_graph()
    wrong = dataclasses.replace(data, y=data.y.flip(0))
    for how in SPARSIFIERS:
        settings = config(how=how, keep=0.3)
        (first,) = METHOD.prepare([data], settings, 0)
        (second,) = METHOD.prepare([wrong], settings, 0)
        assert first.graph.fingerprint == second.graph.fingerprint


def test_seeds_choose_different_edges_and_edge_columns_follow():
    data = block_graph()
    numbers = torch.arange(data.graph.num_edges).float()
    numbered = dataclasses.replace(data.graph, log_odds=numbers)
    data = dataclasses.replace(data, graph=numbered)
    first, second = (
        METHOD.prepare([data], config(keep=0.4), seed)[0] for seed in (0, 1)
    )
    assert first.graph.fingerprint != second.graph.fingerprint
    ends = data.graph.edge_index[:, first.graph.log_odds.long()]
    assert torch.equal(ends, first.graph.edge_index)


def test_every_graph_gives_its_share():
    graphs = several_graphs()
    smaller = METHOD.prepare(graphs, config(how="k_neighbor", keep=0.5), 0)
    for before, after in zip(graphs, smaller, strict=True):
        size = 2 if before.graph.is_undirected else 1
        expected = size * round(0.5 * before.graph.num_edges / size)
        assert after.graph.num_edges == expected


def test_bad_options_are_refused():
    data = block_graph()
    with pytest.raises(ValueError, match="Unknown sparsifier 'magic'"):
        METHOD.prepare([data], config(how="magic"), 0)
    with pytest.raises(ValueError, match=r"`keep` must be in \(0, 1\], got 0.0."):
        METHOD.prepare([data], config(keep=0.0), 0)
    with pytest.raises(ValueError, match="has no option 'share'"):
        METHOD.build(config(share=0.3), data)
