"""DropEdge: how many edges are drawn, and the matrix of those."""

import pytest
import torch
from support.awkward import random_edges
from support.small_data import block_graph

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat_lab.baselines import fit
from sgat_lab.baselines.dropedge import METHOD, DropEdge, draw_edges
from sgat_lab.config import MethodConfig

N, K, D, C = 23, 7, 5, 3


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.95])
def test_the_share_is_met_to_the_edge(awkward_graph, rate, seed):
    kept = draw_edges(awkward_graph, rate, seed)
    assert kept.shape == (awkward_graph.num_edges,)
    assert int(kept.sum()) == round((1 - rate) * awkward_graph.num_edges)


def test_every_edge_is_drawn_equally_often(seed):
    graph = Graph.from_edges(random_edges(N, 127), N)
    rounds = [draw_edges(graph, 0.7, 1000 * seed + key) for key in range(400)]
    share = torch.stack(rounds).double().mean(dim=0)
    assert (share - 38 / 127).abs().max() < 5 * (0.3 * 0.7 / 400) ** 0.5


def test_a_pass_is_that_of_a_dense_matrix_of_the_drawn_edges(seed):
    graph = Graph.from_edges(random_edges(N, 127), N, torch.rand(127) + 0.5)
    x = torch.randn(N, K)
    model = DropEdge(K, D, C, rate=0.4, dropout=0.0)
    model.reset_parameters()
    output = model.train().compute(x, graph, seed=seed)

    kept = draw_edges(graph, 0.4, seed)
    adjacency = torch.eye(N)
    for edge in kept.nonzero().flatten().tolist():
        row, column = int(graph.dst[edge]), int(graph.src[edge])
        adjacency[row, column] = graph.edge_weight[edge]
    scale = adjacency.sum(dim=1).rsqrt()
    adjacency = scale[:, None] * adjacency * scale
    first, second = model.convs
    hidden = (adjacency @ (x @ model.projection.weight) + first.bias).relu()
    expected = adjacency @ (hidden @ second.lin.weight.T) + second.bias

    torch.testing.assert_close(output.logits, expected)
    assert int(output.num_used) == round(0.6 * 127)
    weights = list(model.parameters())
    slope = torch.randn_like(expected)
    for ours, dense in zip(
        torch.autograd.grad(output.logits, weights, slope),
        torch.autograd.grad(expected, weights, slope),
        strict=True,
    ):
        torch.testing.assert_close(ours, dense, rtol=1e-4, atol=1e-5)


def test_three_nodes_by_hand():
    # 0 → 1 → 2 without the edge 1 → 2: node 1 hears itself by ½ and node 0, whose
    # degree is 1, by 1 / √2; nodes 0 and 2 hear only themselves.
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), 3)
    seed = next(s for s in range(99) if draw_edges(graph, 0.5, s).tolist() == [1, 0])
    model = DropEdge(1, 1, 1, rate=0.5, layers=1, dropout=0.0)
    for name, weight in model.named_parameters():
        torch.nn.init.constant_(weight, float(name.endswith("weight")))
    x = torch.tensor([[2.0], [4.0], [8.0]])
    logits = model.train()(x, graph, seed=seed)
    torch.testing.assert_close(logits, torch.tensor([[2.0], [2 + 2**0.5], [8.0]]))


def test_epochs_draw_anew_and_evaluation_uses_all():
    data = block_graph()
    config = MethodConfig(method="dropedge", hidden=8, options={"rate": 0.7})
    result = fit([data], config, TrainConfig(epochs=3, device="cpu"))
    edges = data.graph.num_edges
    assert result.best.open_share == pytest.approx(round(0.3 * edges) / edges)
    assert result.best.kept_share == 1
    model = METHOD.build(config, data).train()
    model.reset_parameters(torch.Generator().manual_seed(0))
    model.dropout = model.projection.dropout = 0.0
    first, again, other = (model(data.x, data.graph, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_rate_of_one_is_refused():
    with pytest.raises(ValueError, match=r"`rate` must be in \[0, 1\), got 1.0."):
        DropEdge(K, D, C, rate=1.0)
