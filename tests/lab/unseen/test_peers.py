import itertools

import pytest
import torch
from support.small_data import block_graph

from sgat.graph import Graph
from sgat_lab.unseen.layers import PeerEdges
from sgat_lab.unseen.peers import KINDS, Peer, PeerSetting

FORMS = list(itertools.product(KINDS, (False, True)))
DATA = block_graph()
EDGES = PeerEdges.of(DATA.graph)


def peer(kind, is_strong, **more):
    setting = PeerSetting(kind, is_strong, hidden=16, layers=3, **more)
    torch.manual_seed(0)
    return Peer(setting, DATA.num_features, DATA.num_classes)


@pytest.mark.parametrize(("kind", "is_strong"), FORMS)
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_every_peer_gives_class_scores_and_gradients(kind, is_strong, norm):
    model = peer(kind, is_strong, norm=norm)
    out = model(DATA.x, EDGES)
    assert out.shape == (DATA.num_nodes, DATA.num_classes)
    extra = model.extra_loss()
    assert (extra is not None) == (kind == "supergat")
    (out.square().sum() + (0 if extra is None else extra)).backward()
    assert all(part.grad is not None for part in model.parameters())


@pytest.mark.parametrize(("kind", "is_strong"), FORMS)
def test_evaluation_is_deterministic_and_only_an_mlp_ignores_edges(kind, is_strong):
    model = peer(kind, is_strong).eval()
    out = model(DATA.x, EDGES)
    assert torch.equal(out, model(DATA.x, EDGES))
    fewer = DATA.graph.select(torch.arange(DATA.graph.num_edges) % 3 > 0)
    other = model(DATA.x, PeerEdges.of(fewer))
    assert torch.allclose(out, other) == (kind == "mlp")


@pytest.mark.parametrize(("kind", "is_strong"), FORMS)
def test_a_graph_without_edges_will_do(kind, is_strong):
    empty = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), DATA.num_nodes)
    model = peer(kind, is_strong)
    assert model(DATA.x, PeerEdges.of(empty)).isfinite().all()


def test_settings_survive_their_line():
    setting = PeerSetting("gat", True, layers=8, norm="batch", scaling="rows")
    assert PeerSetting.from_json(setting.to_json()) == setting
