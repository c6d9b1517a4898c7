from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from support.small_data import block_graph

from sgat.graph import Graph
from sgat_lab.baselines.gat import GAT


def dense_layer(h, graph: Graph, conv) -> tuple[torch.Tensor, torch.Tensor]:
    """One layer over all pairs: outputs, and coefficients [N, N, H]."""
    num_nodes = len(h)
    heard = torch.eye(num_nodes, dtype=torch.bool)
    heard[graph.dst.long(), graph.src.long()] = True
    source = (h * conv.att_src).sum(dim=-1)
    target = (h * conv.att_dst).sum(dim=-1)
    score = F.leaky_relu(target[:, None] + source[None, :], 0.2)
    score = score.masked_fill(~heard[:, :, None], -torch.inf)
    coefficient = score.softmax(dim=1)
    return torch.einsum("ijh,jhd->ihd", coefficient, h), coefficient


def test_two_layers_and_their_gradients_against_all_pairs():
    data = block_graph(num_nodes=53)
    model = GAT(13, 4, 3, heads=2, output_heads=3).eval()
    model.reset_parameters(torch.Generator().manual_seed(1))
    first, second = model.convs
    h = (data.x @ model.projection.weight).view(-1, 2, 4)
    out, first_share = dense_layer(h, data.graph, first)
    hidden = F.elu(out.flatten(1) + first.bias)
    out, second_share = dense_layer(
        (hidden @ second.lin.weight.T).view(-1, 3, 3), data.graph, second
    )
    expected = out.mean(dim=1) + second.bias
    found = model(data.x, data.graph)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    grads = [
        torch.autograd.grad(result.square().sum(), list(model.parameters()))
        for result in (found, expected)
    ]
    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-4)
    ends = data.graph.dst.long(), data.graph.src.long()
    both = torch.cat([first_share[ends], second_share[ends]], dim=1)
    torch.testing.assert_close(model.attention(data.x, data.graph), both)


def test_an_edge_of_average_weight_scores_one():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2], [3, 3, 3]]))
    model = GAT(5, 4, 2).eval()
    model.reset_parameters()
    scores = model.score_edges(torch.ones(4, 5), graph)
    torch.testing.assert_close(scores, torch.ones(3))


def test_values_are_dropped_after_the_coefficients_are_found(monkeypatch):
    data = block_graph(num_nodes=53)
    options = {"heads": 2, "layers": 1, "dropout": 0.0, "attention_dropout": 0.0}
    model = GAT(13, 4, 3, output_heads=3, value_dropout=0.5, **options)
    model.reset_parameters(torch.Generator().manual_seed(1))
    (conv,) = model.convs
    h = (data.x @ model.projection.weight).view(-1, 3, 3)
    masks = []

    def dropped(x, rate, training):
        assert rate == 0.5
        if not training:
            return x
        masks.append((torch.rand_like(x) > 0.5) * 2.0)
        return x * masks[-1]

    monkeypatch.setattr("sgat_lab.baselines.gat.F", SimpleNamespace(dropout=dropped))
    found = model.train()(data.x, data.graph)
    _, share = dense_layer(h, data.graph, conv)
    (mask,) = masks
    expected = torch.einsum("ijh,jhd->ihd", share, h * mask).mean(dim=1) + conv.bias
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    plain = GAT(13, 4, 3, output_heads=3, **options)
    plain.load_state_dict(model.state_dict())
    torch.testing.assert_close(
        model.eval()(data.x, data.graph), plain.eval()(data.x, data.graph)
    )


def test_a_share_of_values_beyond_0_and_1_is_refused():
    with pytest.raises(ValueError, match=r"`value_dropout` must be in \[0, 1\)"):
        GAT(13, 4, 3, value_dropout=1.0)
