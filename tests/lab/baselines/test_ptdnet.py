"""PTDNet against a dense loop written from its formula, and what its prices do."""

import dataclasses
import math

import pytest
import torch
from support.small_data import block_graph

from sgat.config import TrainConfig
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat_lab.baselines import fit
from sgat_lab.baselines.ptdnet import METHOD, PTDNet, leading_singular_values
from sgat_lab.config import MethodConfig


def small_graph() -> Graph:
    edges = [[0, 1, 1, 2, 2, 3, 4], [1, 0, 2, 1, 3, 4, 3]]
    weight = torch.tensor([1.0, 1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    return Graph.from_edges(torch.tensor(edges), 5, weight)


def small_model(seed: int, **options) -> PTDNet:
    model = PTDNet(7, 11, 3, dropout=0.0, denoise_hidden=5, **options)
    model.reset_parameters(torch.Generator().manual_seed(seed))
    return model


def dense_pass(model: PTDNet, x: torch.Tensor, graph: Graph) -> torch.Tensor:
    """Evaluation, edge by edge: gates, renormalised matrix, product, layer by layer."""
    weights = [model.projection.weight, *(c.lin.weight.T for c in model.convs[1:])]
    for layer, conv in enumerate(model.convs):
        denoiser = model.denoisers[layer]
        matrix = torch.eye(graph.num_nodes)
        for edge in range(graph.num_edges):
            j, i = int(graph.src[edge]), int(graph.dst[edge])
            inside = denoiser.of_src.weight.T @ x[j] + denoiser.of_dst.weight.T @ x[i]
            inside = (inside + denoiser.of_dst.bias).clamp(min=0)
            log_alpha = denoiser.score.weight[0] @ inside + denoiser.score.bias[0]
            gate = min(max(1.2 / (1 + math.exp(-float(log_alpha))) - 0.1, 0), 1)
            matrix[i, j] = gate * graph.edge_weight[edge]
        scale = matrix.sum(dim=1) ** -0.5
        x = scale[:, None] * matrix * scale @ x @ weights[layer] + conv.bias
        if layer < len(model.convs) - 1:
            x = x.clamp(min=0)
    return x


def test_evaluation_is_the_formula(seed):
    model, graph = small_model(seed, layers=3).eval(), small_graph()
    x = torch.randn(5, 7)
    with torch.no_grad():
        torch.testing.assert_close(model(x, graph), dense_pass(model, x, graph))


@pytest.mark.parametrize("rank", [1, 3, 99])
def test_singular_values_and_their_gradient_are_those_of_the_dense_matrix(rank, seed):
    graph = small_graph()
    # Singular values well apart, so that ten rounds of power iteration get there.
    weight = torch.tensor([16.0, 1.0, 0.5, 6.0, 0.3, 2.0, 0.1], dtype=torch.float64)
    ours, theirs = weight.clone().requires_grad_(), weight.clone().requires_grad_()
    matrix = torch.zeros(5, 5, dtype=torch.float64)
    matrix = matrix.index_put((graph.dst.long(), graph.src.long()), theirs)
    expected = torch.linalg.svdvals(matrix)[:rank].sum()
    found = leading_singular_values(graph, ours, rank)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=0)
    found.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=1e-3)


def extra_loss(model: PTDNet, x: torch.Tensor, graph: Graph) -> float:
    return model.compute(x, graph, seed=3).extra_loss.item()


def test_the_loss_has_both_prices(seed):
    graph, x = small_graph(), torch.randn(5, 7)
    nothing, open_only, both = (
        small_model(seed, open_weight=first, nuclear_weight=second)
        for first, second in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.2))
    )
    found = []
    for denoiser in open_only.denoisers:
        denoiser.register_forward_hook(lambda *call: found.append(call[-1]))
    assert extra_loss(nothing, x, graph) == 0
    only = extra_loss(open_only, x, graph)
    shares = [HardConcrete(2.0).probability_open(each).mean() for each in found]
    assert only == pytest.approx(0.5 * torch.stack(shares).sum().item(), rel=1e-5)
    assert extra_loss(both, x, graph) > only


def test_edges_closed_in_all_layers_can_be_left_out(seed):
    data = block_graph()
    threshold = HardConcrete(1.0).threshold
    model = PTDNet(13, 8, 3, gate_bias_start=threshold).eval()
    model.reset_parameters(torch.Generator().manual_seed(seed))
    output = model.compute(data.x, data.graph)
    kept = model.score_edges(data.x, data.graph) > threshold
    assert 0 < int(kept.sum()) == int(output.num_used) < data.graph.num_edges
    smaller = model(data.x, data.graph.select(kept))
    torch.testing.assert_close(smaller, output.logits, rtol=1e-4, atol=1e-5)


def test_a_higher_price_keeps_fewer_edges():
    data = block_graph()
    kept = []
    for price in (0.0, 5.0):
        options = {"open_weight": price, "nuclear_weight": 0.0}
        config = MethodConfig(method="ptdnet", hidden=8, options=options)
        result = fit([data], config, TrainConfig(epochs=60, lr=0.05, device="cpu"))
        kept.append(result.records[-1].kept_share)
    assert kept[1] < 0.5 * kept[0]


def test_gates_get_colder_as_training_goes_on():
    model = small_model(0)
    temperatures = []
    for progress in (0.0, 0.5, 1.0):
        model.progress = progress
        temperatures.append(model.drawn_gates.temperature)
    assert temperatures == pytest.approx([2.0, math.sqrt(0.1), 0.05])


def test_gamma_of_the_published_code_is_refused():
    config = MethodConfig(method="ptdnet", gamma=-0.0)
    with pytest.raises(ValueError, match="at 0 no gate would ever close"):
        METHOD.build(config, block_graph())


def test_options_reach_the_model():
    options = dict.fromkeys(METHOD.defaults, 3)
    model = METHOD.build(MethodConfig(method="ptdnet", options=options), block_graph())
    assert {getattr(model, name) for name in options if hasattr(model, name)} == {3}
    assert model.denoisers[0].score.in_features == 3
    unknown = dataclasses.replace(MethodConfig(method="ptdnet"), options={"depth": 1})
    with pytest.raises(ValueError, match="no option 'depth'"):
        METHOD.build(unknown, block_graph())
