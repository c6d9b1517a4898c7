import pytest
import torch
from support.pyg_layers import pyg_forward
from support.small_data import block_graph

from sgat_lab.unseen.layers import PeerEdges, SampledSuperGAT
from sgat_lab.unseen.peers import KINDS, Convolution

DATA = block_graph()
WITH_EDGES = [kind for kind in KINDS if kind != "mlp"]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def layer(kind, device, *, wide_in, heads, dropout, seed=0):
    torch.manual_seed(seed)
    found = Convolution(kind, wide_in, 5 * heads, heads=heads, dropout=dropout)
    for part in found.parameters():
        # Vectors start at 0, where some mistakes do not show.
        torch.nn.init.normal_(part, std=0.4)
    return found.to(device)


def results(run, conv, x, edges):
    """The output, SuperGAT's loss, and the gradients of both by everything."""
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    out = run(x, edges)
    asked = torch.linspace(-1, 1, out.numel(), device=out.device).view_as(out)
    loss = (out * asked).sum()
    found = {"out": out}
    if isinstance(conv, SampledSuperGAT) and conv.training:
        found["extra"] = conv.get_attention_loss()
        loss = loss + 7 * found["extra"]
    parts = dict(conv.named_parameters())
    grads = torch.autograd.grad(loss, [x, *parts.values()])
    found |= dict(zip(["x", *parts], grads, strict=True))
    return {name: value.detach() for name, value in found.items()}


def check(kind, graph, device, *, heads=3, dropout=0.0, is_training=True):
    graph = graph.to(device)
    wide_in, edges = 11, PeerEdges.of(graph, device)
    found = layer(kind, device, wide_in=wide_in, heads=heads, dropout=dropout)
    found.train(is_training)
    x = torch.randn(graph.num_nodes, wide_in, device=device)
    fast = results(found, found.conv, x, edges)
    slow = results(
        lambda x, edges: pyg_forward(kind, found.conv, x, edges), found.conv, x, edges
    )
    assert fast.keys() == slow.keys()
    for name, value in slow.items():
        scale = max(float(value.abs().max()), 1.0)
        torch.testing.assert_close(
            fast[name], value, rtol=1e-4, atol=1e-5 * scale, msg=f"{kind}: {name}"
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", WITH_EDGES)
def test_outputs_and_gradients_are_those_of_pyg(kind, device, awkward_graph):
    check(kind, awkward_graph, device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", WITH_EDGES)
@pytest.mark.parametrize("heads", [1, 4, 8])
def test_so_they_are_with_any_number_of_heads(kind, device, heads):
    check(kind, DATA.graph, device, heads=heads)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["gat", "supergat", "residual-gat"])
@pytest.mark.parametrize("is_training", [True, False])
def test_dropout_of_the_attention_takes_the_edges_that_pyg_takes(
    kind, device, is_training
):
    check(kind, DATA.graph, device, dropout=0.4, is_training=is_training)


def test_weights_of_edges_are_left_out():
    graph = DATA.graph
    weighted = graph.select(
        torch.ones(graph.num_edges, dtype=torch.bool), torch.rand(graph.num_edges)
    )
    gcn = layer("gcn", "cpu", wide_in=DATA.num_features, heads=1, dropout=0.0)
    found = [gcn(DATA.x, PeerEdges.of(given)) for given in (graph, weighted)]
    assert torch.equal(*found)


def test_supergat_samples_no_more_edges_than_its_limit(monkeypatch):
    monkeypatch.setattr("sgat_lab.unseen.layers.MOST_SAMPLED", 7)
    edges = PeerEdges.of(DATA.graph)
    conv = SampledSuperGAT(DATA.num_features, 4, add_self_loops=False)
    conv(DATA.x, edges.with_loops, edges.attended)
    assert conv.att_x.shape[0] == 14 and conv.att_y.tolist() == [1.0] * 7 + [0.0] * 7


def test_evaluation_first_leaves_training_its_gradients():
    edges = PeerEdges.of(DATA.graph)
    sage = layer("sage", "cpu", wide_in=DATA.num_features, heads=1, dropout=0.0)
    with torch.no_grad():
        sage(DATA.x, edges)
    sage(DATA.x, edges).sum().backward()
    assert all(part.grad is not None for part in sage.parameters())
