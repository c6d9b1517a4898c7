"""Residual GAT: the formula written as loops, and what stays apart."""

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from torch import Tensor

from sgat.graph import Graph
from sgat_lab.baselines.residual_gat import ResidualGAT

N, K, D, C, HEADS, OUTPUT_HEADS = 23, 7, 5, 3, 2, 4


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(random_edges(N, 127), N)


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K, dtype=torch.double, requires_grad=True)


def model(**options) -> ResidualGAT:
    made = ResidualGAT(
        K, D, C, heads=HEADS, output_heads=OUTPUT_HEADS, **({"dropout": 0.3} | options)
    )
    made.reset_parameters()
    with torch.no_grad():
        # Biases start at 0, where nobody would miss them.
        for parameter in made.parameters():
            if parameter.dim() == 1:
                parameter.normal_()
    return made.double().eval()


def attended(conv, h: Tensor, row: list[int], node: int) -> Tensor:
    """Σ_j α_ij h_j of each head for one node, [H, D]."""
    heads = []
    for head in range(conv.heads):
        total = torch.zeros(conv.out_channels, dtype=h.dtype)
        if row:
            score = torch.stack(
                [
                    conv.att_dst[0, head] @ h[node, head]
                    + conv.att_src[0, head] @ h[j, head]
                    for j in row
                ]
            )
            share = torch.where(score > 0, score, 0.2 * score).exp()
            share = share / share.sum()
            for a, j in zip(share, row, strict=True):
                total = total + a * h[j, head]
        heads.append(total)
    return torch.stack(heads)


def by_loops(made: ResidualGAT, x: Tensor, graph: Graph) -> Tensor:
    """Two layers node by node, from the formula of the class."""
    first, second = made.convs
    rows = [graph.src[graph.dst == i].tolist() for i in range(graph.num_nodes)]
    h = (x @ made.projection.weight).view(-1, HEADS, D)
    hidden = []
    for i, row in enumerate(rows):
        own = x[i] @ made.ego.weight + made.ego.bias
        heard = attended(first, h, row, i).flatten() + first.bias
        hidden.append(torch.nn.functional.elu(torch.cat([own, heard])))
    inner = torch.stack(hidden)
    h = (inner @ second.lin.weight.T).view(-1, OUTPUT_HEADS, C)
    logits = []
    for i, row in enumerate(rows):
        own = made.egos[0].weight @ inner[i] + made.egos[0].bias
        logits.append(own + attended(second, h, row, i).mean(dim=0) + second.bias)
    return torch.stack(logits)


def test_two_layers_are_their_formula_and_so_are_the_gradients(x, graph):
    made = model()
    inputs = [x, *made.parameters()]
    target = torch.randn(N, C, dtype=torch.double)
    found, expected = made(x, graph), by_loops(made, x, graph)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad((found * target).sum(), inputs),
        torch.autograd.grad((expected * target).sum(), inputs),
    )


def test_one_layer_worked_out_by_hand():
    """Node 0 hears 1 and 2 at 1/4 and 3/4; the others hear nobody."""
    graph = Graph.from_edges(torch.tensor([[1, 2], [0, 0]]), 3)
    made = ResidualGAT(1, 9, 1, layers=1).eval()
    with torch.no_grad():
        made.projection.weight.fill_(1.0)
        made.ego.weight.fill_(10.0)
        made.ego.bias.fill_(100.0)
        made.convs[0].att_src.fill_(torch.log(torch.tensor(3.0)))
        made.convs[0].att_dst.zero_()
        made.convs[0].bias.fill_(1000.0)
        x = torch.tensor([[5.0], [1.0], [2.0]])
        logits = made(x, graph).squeeze(1)
        scores = made.score_edges(x, graph)
    torch.testing.assert_close(logits, torch.tensor([1151.75, 1110.0, 1120.0]))
    torch.testing.assert_close(scores, torch.tensor([0.5, 1.5]))


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_awkward_graphs_and_depths(name, layers, seed):
    graph = GRAPHS[name]()
    made = model(layers=layers)
    x = torch.randn(graph.num_nodes, K, dtype=torch.double)
    assert made(x, graph).shape == (graph.num_nodes, C)
    assert made.score_edges(x, graph).isfinite().all()


def test_the_self_loop_is_not_among_the_coefficients(x, graph):
    made = model()
    *_, coefficients = made.attend(x, graph, None)
    for attention in coefficients:
        assert len(attention) == graph.num_edges
        total = torch.zeros(N, attention.shape[1], dtype=torch.double)
        total = total.index_add(0, graph.dst, attention)
        has_edges = (graph.row_ptr.diff() > 0).double()
        torch.testing.assert_close(total, has_edges[:, None].expand_as(total))
