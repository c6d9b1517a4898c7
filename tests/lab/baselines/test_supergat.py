"""SuperGAT: the formula written as loops, its loss on edges, and the drawn pairs."""

import copy
import random

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from support.small_data import block_graph, several_graphs
from torch import Tensor

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat_lab.baselines import fit
from sgat_lab.baselines.supergat import METHOD, SuperGAT, pairs_without_edge
from sgat_lab.config import MethodConfig

N, K, D, C, HEADS, OUTPUT_HEADS = 23, 7, 5, 3, 2, 4
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0}


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(random_edges(N, 127), N)


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K, dtype=torch.double, requires_grad=True)


def model(attention: str = "MX", **options) -> SuperGAT:
    made = SuperGAT(
        K,
        D,
        C,
        heads=HEADS,
        output_heads=OUTPUT_HEADS,
        attention=attention,
        **(PLAIN | options),
    )
    made.reset_parameters()
    return made.double().eval()


def layer_by_loops(conv, h: Tensor, graph: Graph) -> tuple[Tensor, Tensor]:
    """What a layer gives each node, [N, H, D], and the products of all pairs, [N, N].

    The products are means over the heads.
    """
    out = []
    width = h.shape[2]
    product = torch.einsum("ihd,jhd->hij", h, h)
    if conv.attention_type == "SD":
        product = product / width**0.5
    for i in range(graph.num_nodes):
        row = [*graph.src[graph.dst == i].tolist(), i]
        for head in range(h.shape[1]):
            score = product[head, i, row]
            if conv.attention_type == "MX":
                left = h[row, head] @ conv.att_l[0, head]
                right = h[i, head] @ conv.att_r[0, head]
                score = (left + right) / (1 + (-score).exp())
            share = torch.where(score > 0, score, 0.2 * score).exp()
            out.append((share / share.sum()) @ h[row, head])
    return torch.stack(out).view(h.shape), product.mean(dim=0)


def by_loops(made: SuperGAT, x: Tensor, graph: Graph) -> tuple[Tensor, list[Tensor]]:
    first, second = made.convs
    h = (x @ made.projection.weight).view(-1, HEADS, D)
    out, first_product = layer_by_loops(first, h, graph)
    hidden = torch.nn.functional.elu(out.flatten(1) + first.bias)
    h = (hidden @ second.lin.weight.T).view(-1, OUTPUT_HEADS, C)
    out, second_product = layer_by_loops(second, h, graph)
    return out.mean(dim=1) + second.bias, [first_product, second_product]


@pytest.mark.parametrize("attention", ["MX", "SD"])
def test_two_layers_are_their_formula_and_so_are_the_gradients(attention, x, graph):
    made = model(attention)
    inputs = [x, *made.parameters()]
    target = torch.randn(N, C, dtype=torch.double)
    found, (expected, _) = made(x, graph), by_loops(made, x, graph)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad((found * target).sum(), inputs),
        torch.autograd.grad((expected * target).sum(), inputs),
    )


@pytest.mark.parametrize("attention", ["MX", "SD"])
def test_the_loss_on_edges_is_the_cross_entropy_of_the_products(
    attention, x, graph, monkeypatch
):
    pairs = torch.tensor([[3, 1, 4, 1], [2, 7, 18, 0]])
    monkeypatch.setattr(
        "sgat_lab.baselines.supergat.pairs_without_edge", lambda graph, number: pairs
    )
    made = model(attention, edge_sample=1.0, edge_loss=2.5)
    _, products = by_loops(made, x, graph)
    loop = torch.arange(N)
    expected = torch.zeros((), dtype=torch.double)
    for product in products:
        chance = 1 / (1 + (-product).exp())
        src, dst = graph.edge_index
        yes = torch.cat([chance[dst, src], chance[loop, loop]])
        no = 1 - chance[pairs[1], pairs[0]]
        expected = expected - 2.5 * torch.cat([yes, no]).log().mean()
    output = made.train().compute(x, graph, seed=3)
    torch.testing.assert_close(output.extra_loss, expected)
    inputs = [x, made.projection.weight]
    torch.testing.assert_close(
        torch.autograd.grad(output.extra_loss, inputs),
        torch.autograd.grad(expected, inputs),
    )


@pytest.mark.parametrize("edge_sample", [0.4, 1.0])
def test_the_counts_of_pairs_are_the_shares_asked_for(edge_sample, x, graph):
    made = model(edge_sample=edge_sample, negative_sample=0.75).train()
    counts = []

    def note(attention: Tensor, is_edge: Tensor) -> Tensor:
        counts.append((int(is_edge.sum()), int((1 - is_edge).sum())))
        return attention.sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.nn.functional.binary_cross_entropy_with_logits", note)
        made.compute(x, graph, seed=3)
    total = graph.num_edges + N
    assert len(counts) == 2, "one loss per layer"
    for num_edges, num_pairs in counts:
        assert num_pairs == int(0.75 * edge_sample * total)
        # Six standard deviations of a binomial count.
        slack = 6 * (total * edge_sample * (1 - edge_sample)) ** 0.5
        assert abs(num_edges - edge_sample * total) <= slack


def test_evaluation_has_no_loss_on_edges(x, graph):
    assert model().compute(x, graph).extra_loss is None


@pytest.mark.parametrize("name", GRAPHS)
def test_pairs_are_no_edges_and_no_loops(name, seed):
    graph = GRAPHS[name]()
    src, dst = pairs_without_edge(graph, 101).tolist()
    edges = set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    for pair in zip(src, dst, strict=True):
        assert pair not in edges
        assert pair[0] != pair[1]
        assert max(pair) < graph.num_nodes


def test_every_free_pair_is_drawn_about_equally_often(seed):
    graph = Graph.from_edges(torch.tensor([[0, 1, 3], [1, 2, 0]]), 4)
    src, dst = pairs_without_edge(graph, 9000)
    assert len(src) >= 8990, "9 of 16 pairs are free"
    count = torch.bincount(src * 4 + dst, minlength=16)
    assert (count > 0).sum() == 9
    # 1000 expected, with a standard deviation of about 30.
    assert ((count == 0) | ((count - 1000).abs() < 200)).all()


def test_pairs_stay_within_a_merged_graph(seed):
    graphs = [Graph.from_edges(random_edges(size, 11), size) for size in (7, 13, 5)]
    src, dst = pairs_without_edge(Graph.merge(graphs), 500)
    owner = torch.repeat_interleave(torch.arange(3), torch.tensor([7, 13, 5]))
    assert torch.equal(owner[src], owner[dst])
    assert len(owner[src].unique()) == 3


def test_a_complete_graph_has_no_pairs_to_give():
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 0]]))
    assert pairs_without_edge(graph, 10).shape == (2, 0)


def test_pairs_come_from_the_seed_and_not_from_python(x, graph):
    made = model(edge_loss=1.0).train()
    losses = []
    for python_seed, seed in ((1, 3), (2, 3), (2, 4)):
        random.seed(python_seed)
        losses.append(made.compute(x, graph, seed=seed).extra_loss)
    assert losses[0] == losses[1] != losses[2]


def test_a_model_can_be_copied_after_a_training_pass(x, graph):
    made = model().train()
    made.compute(x, graph, seed=3)
    copy.deepcopy(made)


@torch.no_grad()
@pytest.mark.parametrize("attention", ["MX", "SD"])
def test_edge_scores_are_means_of_what_the_layers_use(attention, x, graph):
    made = model(attention)
    used: list[Tensor] = []
    plain = type(made.convs[0]).get_attention
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(made.convs[0]),
            "get_attention",
            lambda conv, *args, **options: (
                used.append(plain(conv, *args, **options)) or used[-1]
            ),
        )
        made(x, graph)
    mean = torch.cat(used, dim=1).mean(dim=1)[: graph.num_edges]
    size = torch.bincount(graph.dst, minlength=N) + 1
    expected = mean * size[graph.dst.long()]
    torch.testing.assert_close(made.score_edges(x, graph), expected)


def test_the_loss_on_edges_teaches_to_tell_them_apart():
    data = block_graph(feature_signal=3.0)
    made = {}
    for price in (0.0, 4.0):
        config = MethodConfig(
            method="supergat", hidden=8, dropout=0.0, options={"edge_loss": price}
        )
        train = TrainConfig(epochs=20, lr=0.02, device="cpu", select="last")
        made[price] = fit([data], config, train).model.train()
        made[price].edge_loss = 1.0
    losses = {
        price: each.compute(data.x, data.graph, seed=1).extra_loss.item()
        for price, each in made.items()
    }
    assert losses[4.0] < 0.9 * losses[0.0]


def test_several_graphs_train_in_batches():
    config = MethodConfig(method="supergat", hidden=4)
    train = TrainConfig(epochs=2, device="cpu", batch_size=2)
    result = fit(several_graphs(), config, train)
    assert result.records[-1].loss > result.records[-1].data_loss


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "GO"}, "`attention` must be MX or SD, got 'GO'."),
        ({"edge_loss": -1.0}, "`edge_loss` must be at least 0, got -1.0."),
        ({"edge_sample": 0.0}, "`edge_sample` must be in (0, 1], got 0.0."),
        ({"negative_sample": 0.0}, "`negative_sample` must be above 0, got 0.0."),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    config = MethodConfig(method="supergat", options=options)
    with pytest.raises(ValueError) as error:
        METHOD.build(config, block_graph())
    assert str(error.value) == message
