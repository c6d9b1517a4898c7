"""NeuralSparse: the formula written as loops, what is drawn, and how it learns."""

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from support.small_data import block_graph, several_graphs
from torch import Tensor

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat_lab.baselines import fit
from sgat_lab.baselines.neuralsparse import (
    METHOD,
    NeuralSparse,
    drawn_weights,
    rank_in_row,
)
from sgat_lab.config import MethodConfig

N, K, D, C = 23, 7, 5, 3


@pytest.fixture
def graph(seed: int) -> Graph:
    return Graph.from_edges(random_edges(N, 127), N, torch.rand(127) + 0.5)


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K)


def model(**options) -> NeuralSparse:
    made = NeuralSparse(K, D, C, **({"dropout": 0.0, "k": 2} | options))
    made.reset_parameters()
    return made.eval()


def scores_by_loops(made: NeuralSparse, x: Tensor, graph: Graph) -> Tensor:
    scorer = made.scorer
    found = []
    for i, j, a in zip(graph.dst, graph.src, graph.edge_weight, strict=True):
        hidden = x[i] @ scorer.dst.weight + scorer.dst.bias + x[j] @ scorer.src.weight
        hidden = (hidden + a * scorer.weight.weight[:, 0]).clamp(min=0)
        found.append(hidden @ scorer.last.weight[0])
    return torch.stack(found)


def weights_by_loops(key: Tensor, k: int, temperature: float, graph: Graph) -> Tensor:
    """Draw by draw: the largest of what is left, and its share of it."""
    weight = torch.zeros(graph.num_edges, dtype=key.dtype)
    for i in range(graph.num_nodes):
        left = (graph.dst == i).nonzero().squeeze(1).tolist()
        for _ in range(min(k, len(left))):
            share = torch.softmax(key[left] / temperature, dim=0)
            best = int(share.argmax())
            weight[left[best]] = share[best]
            del left[best]
    return weight


def gcn_by_hand(made: NeuralSparse, x: Tensor, graph: Graph, weight: Tensor) -> Tensor:
    """Two layers with dense matrices, one self-loop of weight 1 added to each node."""
    matrix = torch.eye(graph.num_nodes)
    matrix = matrix.index_put((graph.dst.long(), graph.src.long()), weight)
    scale = matrix.sum(dim=1).rsqrt()
    matrix = scale[:, None] * matrix * scale
    first, second = made.convs
    hidden = (matrix @ x @ made.projection.weight + first.bias).clamp(min=0)
    return matrix @ hidden @ second.lin.weight.T + second.bias


def test_weights_of_three_neighbours_worked_out_by_hand():
    """exp(key) is 4, 3 and 1: the first draw has 4/8, the second 3/4."""
    graph = Graph.from_edges(torch.tensor([[1, 2, 3, 0], [0, 0, 0, 1]]))
    key = torch.tensor([3.0, 1.0, 4.0, 7.0]).log()
    weight = drawn_weights(key, 2, 1.0, graph)
    torch.testing.assert_close(weight, torch.tensor([3 / 4, 0, 4 / 8, 1]))
    sharper = drawn_weights(key, 2, 0.5, graph)
    torch.testing.assert_close(sharper, torch.tensor([9 / 10, 0, 16 / 26, 1]))


@pytest.mark.parametrize("k", [1, 2, 3, 50])
@pytest.mark.parametrize("temperature", [0.05, 0.7])
def test_weights_and_their_gradients_are_their_formula(k, temperature, graph):
    key = torch.randn(graph.num_edges, dtype=torch.double, requires_grad=True)
    found = drawn_weights(key, k, temperature, graph)
    expected = weights_by_loops(key, k, temperature, graph)
    torch.testing.assert_close(found, expected)
    target = torch.randn(graph.num_edges, dtype=torch.double)
    torch.testing.assert_close(
        torch.autograd.grad((found * target).sum(), key),
        torch.autograd.grad((expected * target).sum(), key),
    )


@torch.no_grad()
@pytest.mark.parametrize("name", GRAPHS)
def test_every_row_has_its_ranks(name, seed):
    graph = GRAPHS[name]()
    key = torch.randn(graph.num_edges)
    rank = rank_in_row(key, graph)
    for i in range(graph.num_nodes):
        row = graph.dst == i
        order = key[row].argsort(descending=True)
        assert rank[row][order].tolist() == list(range(int(row.sum())))


@torch.no_grad()
def test_edges_are_scored_from_both_ends_and_the_weight(x, graph):
    made = model()
    torch.testing.assert_close(
        made.scorer(x, graph), scores_by_loops(made, x, graph), rtol=1e-4, atol=1e-5
    )


@torch.no_grad()
@pytest.mark.parametrize("k", [1, 3, 50])
def test_evaluation_is_a_gcn_on_the_k_best(k, x, graph):
    made = model(k=k)
    score = scores_by_loops(made, x, graph)
    kept = torch.zeros(graph.num_edges)
    for i in range(N):
        row = (graph.dst == i).nonzero().squeeze(1)
        kept[row[score[row].argsort(descending=True)[:k]]] = 1
    output = made.compute(x, graph)
    expected = gcn_by_hand(made, x, graph, kept * graph.edge_weight)
    torch.testing.assert_close(output.logits, expected, rtol=1e-4, atol=1e-5)
    assert output.num_used == kept.sum()


def test_training_is_a_gcn_on_the_draw_and_so_are_the_gradients(x, graph):
    made = model(temperature=0.7).train()
    noises = []

    def note(self: Tensor) -> Tensor:
        noises.append(exponential(self))
        return noises[-1]

    exponential = Tensor.exponential_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "exponential_", note)
        output = made.compute(x, graph, seed=3)
    key = scores_by_loops(made, x, graph) - noises[0].log()
    weight = weights_by_loops(key, 2, 0.7, graph)
    expected = gcn_by_hand(made, x, graph, weight * graph.edge_weight)
    torch.testing.assert_close(output.logits, expected, rtol=1e-4, atol=1e-5)
    assert output.num_used == (weight > 0).sum()
    target = torch.randn(N, C)
    inputs = list(made.parameters())
    found = torch.autograd.grad((output.logits * target).sum(), inputs)
    wanted = torch.autograd.grad((expected * target).sum(), inputs)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)
    assert all(bool(grad.any()) for grad in found)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("training", [True, False])
def test_no_node_hears_more_than_k(name, training, seed):
    graph = GRAPHS[name]()
    x = torch.randn(graph.num_nodes, K)
    made = model(k=3).train(training)
    sampled = made.sample(x, graph)
    degree = sampled.row_ptr.diff()
    assert torch.equal(degree, graph.row_ptr.diff().clamp(max=3))
    output = made.compute(x, graph, seed=1)
    assert output.num_used == degree.sum()
    assert output.logits.isfinite().all()


@torch.no_grad()
def test_the_first_draw_follows_the_softmax_of_the_scores(seed):
    """One node hears four; so often is each drawn as its score says."""
    graph = Graph.from_edges(torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]]))
    made = model(k=1).train()
    x = torch.randn(5, K)
    chance = made.score_edges(x, graph) / 4
    assert chance.sum().item() == pytest.approx(1)
    count = torch.zeros(4)
    for _ in range(1000):
        count[made.sample(x, graph).src - 1] += 1
    deviation = (1000 * chance * (1 - chance)).sqrt()
    assert ((count - 1000 * chance).abs() < 6 * deviation + 1).all()


def test_the_temperature_falls_as_training_goes_on():
    made = model(temperature=2.0, last_temperature=0.5)
    found = []
    for progress in (0.0, 0.5, 1.0):
        made.progress = progress
        found.append(made.present_temperature)
    assert found == pytest.approx([2.0, 1.0, 0.5])


def test_cold_draws_weigh_as_much_as_evaluation(x, graph):
    key = torch.randn(graph.num_edges)
    weight = drawn_weights(key, 2, 1e-6, graph)
    torch.testing.assert_close(weight, (rank_in_row(key, graph) < 2).float())


def test_draws_come_from_the_seed(x, graph):
    made = model().train()
    first, again, other = (made.compute(x, graph, seed=s).logits for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_it_learns_which_edges_to_keep():
    """Four of five edges are within a class, which the features show."""
    data = block_graph(feature_signal=3.0)
    config = MethodConfig(method="neuralsparse", hidden=16, options={"k": 2})
    train = TrainConfig(epochs=100, lr=0.02, device="cpu")
    result = fit([data], config, train)
    model = result.model
    assert isinstance(model, NeuralSparse)
    sampled = model.sample(data.x, data.graph)
    before, after = (
        (data.y[graph.src.long()] == data.y[graph.dst.long()]).float().mean().item()
        for graph in (data.graph, sampled)
    )
    assert after > before + 0.1


def test_several_graphs_train_in_batches():
    config = MethodConfig(method="neuralsparse", hidden=4, options={"k": 2})
    train = TrainConfig(epochs=2, device="cpu", batch_size=2)
    result = fit(several_graphs(), config, train)
    assert 0 < result.best.kept_share < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "`k` must be at least 1, got 0."),
        ({"temperature": 0.0}, "`temperature` must be above 0, got 0.0."),
        ({"last_temperature": -1.0}, "`last_temperature` must be above 0, got -1.0."),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    config = MethodConfig(method="neuralsparse", options=options)
    with pytest.raises(ValueError) as error:
        METHOD.build(config, block_graph())
    assert str(error.value) == message
