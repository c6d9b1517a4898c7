"""GraphSAGE: the formula written as loops, and what sampling draws."""

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from support.small_data import block_graph
from torch import Tensor

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat_lab.baselines import fit
from sgat_lab.baselines.graphsage import METHOD, GraphSAGE, sample_neighbours
from sgat_lab.config import MethodConfig

N, K, D, C = 23, 7, 5, 3


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(random_edges(N, 127), N)


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K)


def model(**options) -> GraphSAGE:
    made = GraphSAGE(K, D, C, activation="elu", **({"dropout": 0.0} | options))
    made.reset_parameters()
    return made.eval()


def neighbours(graph: Graph, node: int) -> list[int]:
    return graph.src[graph.dst == node].tolist()


def by_loops(made: GraphSAGE, x: Tensor, graph: Graph) -> Tensor:
    """Two layers node by node, from the formula of the class."""
    first, second = made.convs
    pools = made.aggregator == "pool"
    h: list[Tensor] = []
    for node in range(graph.num_nodes):
        total = torch.zeros(D)
        for count, other in enumerate(neighbours(graph, node)):
            said = x[other] @ made.of_neighbours.weight
            if pools:
                said = (said + made.of_neighbours.bias).clamp(min=0)
                total = torch.maximum(total, said)
            else:
                total = (count * total + said) / (count + 1)
        heard = first.lin_l.weight @ total if pools else total
        own = x[node] @ made.own.weight
        h.append(torch.nn.functional.elu(own + heard + first.lin_l.bias))
        if made.normalise:
            h[-1] = h[-1] / h[-1].square().sum().sqrt()
    rows = []
    for node in range(graph.num_nodes):
        total = torch.zeros(D)
        for count, other in enumerate(neighbours(graph, node)):
            if pools:
                said = second.lin.weight @ h[other] + second.lin.bias
                total = torch.maximum(total, said.clamp(min=0))
            else:
                total = (count * total + h[other]) / (count + 1)
        heard = second.lin_l.weight @ total + second.lin_l.bias
        rows.append(second.lin_r.weight @ h[node] + heard)
    return torch.stack(rows)


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("aggregator", ["mean", "pool"])
def test_outputs_and_gradients_are_those_of_the_formula(
    x, graph, aggregator, normalise
):
    made = model(aggregator=aggregator, normalise=normalise)
    given, expected = made(x, graph), by_loops(made, x, graph)
    torch.testing.assert_close(given, expected)
    slope = torch.randn_like(given)
    weights = list(made.parameters())
    for ours, loops in zip(
        torch.autograd.grad(given, weights, slope),
        torch.autograd.grad(expected, weights, slope),
        strict=True,
    ):
        torch.testing.assert_close(ours, loops, rtol=1e-4, atol=1e-5)


def test_three_nodes_by_hand():
    # 0 → 2 and 1 → 2; features 1, 5 and 10; all weights 1, all biases 0.
    graph = Graph.from_edges(torch.tensor([[0, 1], [2, 2]]), 3)
    x = torch.tensor([[1.0], [5.0], [10.0]])
    for aggregator, expected in {"mean": [1, 5, 13], "pool": [1, 5, 15]}.items():
        made = GraphSAGE(1, 1, 1, layers=1, aggregator=aggregator, dropout=0.0).eval()
        for name, weight in made.named_parameters():
            torch.nn.init.constant_(weight, float(name.endswith("weight")))
        assert made(x, graph).flatten().tolist() == expected


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_sample_holds_so_many_neighbours_or_all(awkward_graph, size, seed):
    drawn = sample_neighbours(awkward_graph, size, seed)
    dst = awkward_graph.dst.long()
    nodes = awkward_graph.num_nodes
    count = torch.bincount(dst[drawn], minlength=nodes)
    degree = torch.bincount(dst, minlength=nodes)
    assert torch.equal(count, degree.clamp(max=size))


def test_every_neighbour_is_drawn_equally_often(seed):
    graph = GRAPHS["star"]()  # the hub hears 263
    rounds = [sample_neighbours(graph, 25, 1000 * seed + key) for key in range(400)]
    into_hub = graph.dst == 0
    share = torch.stack(rounds).double().mean(dim=0)[into_hub]
    expected, spread = 25 / 263, (25 / 263 * (1 - 25 / 263) / 400) ** 0.5
    assert (share - expected).abs().max() < 5 * spread


def test_layers_and_seeds_draw_different_samples(graph, seed):
    first = sample_neighbours(graph, 2, seed)
    assert torch.equal(first, sample_neighbours(graph, 2, seed))
    assert not torch.equal(first, sample_neighbours(graph, 2, seed + 1))
    assert not torch.equal(first, sample_neighbours(graph, 2, seed, layer=1))


def test_training_hears_samples_and_evaluation_everyone(x, graph, seed):
    made = model(samples=(3, 2)).train()
    used = made.compute(x, graph, seed=seed).num_used
    masks = [
        sample_neighbours(graph, size, seed, layer) for layer, size in enumerate((3, 2))
    ]
    assert int(used) == int((masks[0] | masks[1]).sum()) < graph.num_edges
    assert int(made.eval().compute(x, graph).num_used) == graph.num_edges


def test_only_sampled_neighbours_are_heard(x, graph, seed):
    made = model(layers=1, samples=[2]).train()
    drawn = sample_neighbours(graph, 2, seed)
    small = graph.select(drawn)
    torch.testing.assert_close(made(x, graph, seed=seed), made.eval()(x, small))


def test_later_layers_take_the_last_number_and_none_means_everyone(x, graph, seed):
    deep = model(layers=4, samples=[2, 1]).train()
    last = [int(deep._drawn(graph, seed, layer).sum()) for layer in range(4)]
    degree = graph.row_ptr.diff()
    one, two = (int(degree.clamp(max=size).sum()) for size in (1, 2))
    assert last == [two, one, one, one]
    everyone = model(samples=[]).train()
    assert int(everyone.compute(x, graph, seed=seed).num_used) == graph.num_edges


def test_options_reach_the_model():
    options = {"aggregator": "pool", "samples": [4], "normalise": True}
    config = MethodConfig(method="graphsage", hidden=8, options=options)
    made = METHOD.build(config, block_graph())
    assert (made.aggregator, made.samples, made.normalise) == ("pool", (4,), True)


def test_pooling_trains():
    config = MethodConfig(method="graphsage", hidden=8, options={"aggregator": "pool"})
    data = block_graph(feature_signal=3.0)
    result = fit([data], config, TrainConfig(epochs=40, device="cpu"))
    assert result.best.val > 0.6
    assert result.best.open_share <= 1 == result.best.kept_share


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"aggregator": "lstm"},
            "`aggregator` must be one of mean, pool, got 'lstm'.",
        ),
        (
            {"samples": [5, 0]},
            r"`samples` must hold whole numbers of at least 1, got \[5, 0\].",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GraphSAGE(K, D, C, **options)
