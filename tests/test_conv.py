"""SGATConv: its value, its calling convention, and what must not matter."""

import dataclasses
import re
from types import ModuleType

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from torch import Tensor, nn

from sgat import SGATConv
from sgat.features import SparseFeatures
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise, reference
from sgat.scorers import Scores

N, K, D, H = 23, 7, 5, 3
DROPS = {"dropout": 0.3, "attention_dropout": 0.4}


@pytest.fixture
def graph() -> Graph:
    return GRAPHS["random directed"]()


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K, dtype=torch.float64)


def layer(**options) -> SGATConv:
    return SGATConv(K, D, H, **options).double()


class Bilinear(nn.Module):
    """A score per pair: c_ij = h_i · M h_j."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(D))

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        zero = h.new_zeros(graph.num_nodes)
        edge = ((h @ self.matrix)[graph.dst] * h[graph.src]).sum(dim=1)
        return Scores(zero, zero, edge)


@pytest.mark.parametrize("concat", [True, False])
def test_the_layer_is_its_formula(graph: Graph, x: Tensor, concat: bool, seed: int):
    conv = layer(concat=concat, gate_bias=0.25, **DROPS, layer=2)
    conv.bias.data.normal_()
    out, opened = conv(x, graph, seed=seed, return_opened=True)

    mask = noise.dense_feature_mask(
        seed, torch.arange(N), K, noise.FEATURE_DROPOUT + 2, rate=0.3
    )
    h = (x * mask) @ conv.weight
    left, right = conv.scorer.weight.T
    first = h[:, :D]
    plain = reference.open_edges(
        graph, first @ left + conv.gate_bias, first @ right, seed=seed
    )
    heard = reference.aggregate(plain, h, dropout=0.4, seed=seed, layer=2)
    if not concat:
        heard = heard.view(N, H, D).mean(dim=1)
    assert out.shape == (N, H * D if concat else D)
    assert torch.allclose(out, heard + conv.bias)
    assert torch.allclose(opened.penalty, plain.penalty)
    assert torch.equal(opened.edge, plain.edge)


@pytest.mark.parametrize("training", [True, False])
def test_pyg_users_may_pass_edges_in_any_form(
    graph: Graph, x: Tensor, pyg: ModuleType, training: bool, seed: int
):
    conv = layer(**DROPS).train(training)
    edges = random_edges(N, 127)
    expected = conv(x, graph, seed=seed)
    assert torch.equal(conv(x, edges, seed=seed), expected)
    assert torch.equal(conv(x, edges.int(), seed=seed), expected)
    assert torch.equal(conv(x, edges, None, seed=seed), expected)
    index = pyg.EdgeIndex(edges, sparse_size=(N, N))
    assert torch.equal(conv(x, index, seed=seed), expected)


def test_edge_weights_are_the_third_argument(x: Tensor, seed: int):
    conv, edges, weight = layer().eval(), random_edges(N, 127), torch.rand(127)
    weighted = Graph.from_edges(edges, N, weight)
    assert torch.equal(conv(x, edges, weight), conv(x, weighted))
    assert torch.equal(conv(x, edges, edge_weight=weight), conv(x, weighted))
    assert not torch.equal(conv(x, edges), conv(x, weighted))


def test_gradients_reach_edge_weights(x: Tensor, seed: int):
    weight = torch.rand(127, dtype=torch.float64, requires_grad=True)
    layer().eval()(x, random_edges(N, 127), weight).square().sum().backward()
    assert (weight.grad != 0).sum() > 50


@pytest.mark.parametrize("training", [True, False])
def test_edge_order_does_not_matter(x: Tensor, training: bool, seed: int):
    conv = layer(**DROPS).train(training)
    edges, order = random_edges(N, 127), torch.randperm(127)
    out = conv(x, edges, seed=seed)
    assert torch.equal(conv(x, edges[:, order], seed=seed), out)


@pytest.mark.parametrize("training", [True, False])
def test_relabelled_nodes_give_relabelled_outputs(x: Tensor, training: bool, seed: int):
    conv = layer(residual=True, **DROPS).train(training)
    edges, new_label = random_edges(N, 127), torch.randperm(N)
    old_label = new_label.argsort()
    out, opened = conv(x, Graph.from_edges(edges, N), seed=seed, return_opened=True)
    relabelled = Graph.from_edges(new_label[edges], N)
    if training:
        # The noise knows nodes by name, so the names move with the nodes.
        relabelled = dataclasses.replace(relabelled, node_id=old_label)
    other, opened_too = conv(x[old_label], relabelled, seed=seed, return_opened=True)
    assert torch.allclose(other[new_label], out)
    assert opened_too.num_open == opened.num_open
    assert torch.allclose(opened_too.penalty, opened.penalty)


def test_a_graph_in_a_batch_gives_what_it_gives_alone(seed: int):
    conv = layer(**DROPS)
    parts = [GRAPHS[name]() for name in ("random directed", "isolated node", "chain")]
    x = [torch.randn(part.num_nodes, K, dtype=torch.float64) for part in parts]
    named = [
        dataclasses.replace(part, node_id=part.noise_id + (number << 32))
        for number, part in enumerate(parts)
    ]
    together = conv(torch.cat(x), Graph.merge(parts), seed=seed)
    alone = [conv(*pair, seed=seed) for pair in zip(x, named, strict=True)]
    assert torch.allclose(together, torch.cat(alone), rtol=1e-12, atol=1e-14)


def test_evaluation_is_deterministic_and_ignores_the_seed(graph: Graph, x: Tensor):
    conv = layer(**DROPS).eval()
    out = conv(x, graph)
    assert torch.equal(conv(x, graph), out)
    assert torch.equal(conv(x, graph, seed=5), out)


def test_the_seed_rules_all_noise(graph: Graph, x: Tensor):
    conv = layer(**DROPS)
    out = conv(x, graph, seed=5)
    assert torch.equal(conv(x, graph, seed=5), out)
    assert torch.equal(conv(x, graph, seed=torch.tensor([5])), out)
    assert not torch.equal(conv(x, graph, seed=6), out)


def test_without_a_seed_torchs_generator_rules(graph: Graph, x: Tensor):
    conv = layer(**DROPS)
    outs = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        outs.append((conv(x, graph), conv(x, graph)))
    assert torch.equal(outs[0][0], outs[1][0]) and torch.equal(outs[0][1], outs[1][1])
    assert not torch.equal(outs[0][0], outs[2][0])
    assert not torch.equal(outs[0][0], outs[0][1])


def test_layers_of_one_model_drop_differently(graph: Graph, x: Tensor, seed: int):
    first, second = layer(**DROPS), layer(layer=1, **DROPS)
    second.load_state_dict(first.state_dict())
    assert not torch.equal(first(x, graph, seed=seed), second(x, graph, seed=seed))
    assert torch.equal(first.eval()(x, graph), second.eval()(x, graph))


def test_open_edges_of_another_layer_are_shared(graph: Graph, x: Tensor, seed: int):
    first, second = layer(), SGATConv(H * D, D, scorer=False, layer=1).double()
    hidden, opened = first(x, graph, seed=seed, return_opened=True)
    out, same = second(hidden, graph, opened=opened, seed=seed, return_opened=True)
    assert same is opened
    h = hidden @ second.weight
    plain = reference.OpenEdges(
        graph, opened.edge, opened.gate, opened.row_sum, opened.penalty
    )
    assert torch.allclose(out, reference.aggregate(plain, h))
    assert second.scorer is None and second.gate_bias is None


@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("width", [K, H * D, D])
def test_residuals_add_the_input(graph: Graph, concat: bool, width: int, seed: int):
    conv = SGATConv(width, D, H, concat=concat, residual=True).double().eval()
    plain = SGATConv(width, D, H, concat=concat).double().eval()
    plain.load_state_dict(conv.state_dict(), strict=False)
    x = torch.randn(N, width, dtype=torch.float64)
    is_same_width = width == (H * D if concat else D)
    assert (conv.residual_weight is None) == is_same_width
    skip = x if is_same_width else x @ conv.residual_weight
    assert torch.allclose(conv(x, graph), plain(x, graph) + skip)


@pytest.mark.parametrize("residual", [True, False])
def test_sparse_features_give_what_dense_ones_give(
    graph: Graph, x: Tensor, residual: bool, seed: int
):
    conv = layer(residual=residual, **DROPS)
    x[torch.rand(x.shape) > 0.3] = 0
    sparse = SparseFeatures.from_dense(x)
    out = conv(sparse, graph, seed=seed)
    assert torch.allclose(out, conv(x, graph, seed=seed))
    same_width = SGATConv(K, K, residual=True).double().eval()
    assert torch.allclose(same_width(sparse, graph), same_width(x, graph))


def test_a_custom_scorer_decides_and_learns(graph: Graph, x: Tensor, seed: int):
    scorer = Bilinear()
    conv = layer(scorer=scorer, gate_bias=-0.5)
    out, opened = conv(x, graph, seed=seed, return_opened=True)
    first = (x @ conv.weight)[:, :D]
    pair = (first[graph.dst] * first[graph.src]).sum(dim=1) - 0.5
    uniform = noise.edge_uniform(seed, graph, noise.GATES)
    gate = HardConcrete().sample(pair, uniform.double())
    assert torch.equal(opened.edge, (gate > 0).nonzero()[:, 0])
    (data,) = torch.autograd.grad(out.square().sum(), scorer.matrix, retain_graph=True)
    (penalty,) = torch.autograd.grad(opened.penalty, scorer.matrix)
    assert bool((data != 0).any()) and bool((penalty != 0).any())


def test_gradients_reach_every_parameter(graph: Graph, x: Tensor, seed: int):
    conv = layer(gate_bias=0.0, residual=True, **DROPS)
    out, opened = conv(x, graph, seed=seed, return_opened=True)
    (out.square().sum() + opened.penalty).backward()
    for name, parameter in conv.named_parameters():
        assert bool((parameter.grad != 0).any()), name


def test_the_gate_bias_opens_or_closes_every_edge(graph: Graph, x: Tensor):
    for start, num_open in ((-300.0, 0), (300.0, graph.num_edges)):
        conv = layer(gate_bias=start).eval()
        assert conv(x, graph, return_opened=True)[1].num_open == num_open
        assert conv.gate_bias.item() == start


def test_the_shape_of_the_gates_is_an_option(graph: Graph, x: Tensor):
    sharp = layer(gates=HardConcrete(temperature=1e-3)).eval()
    gate = sharp(x, graph, return_opened=True)[1].gate
    assert (gate == 1).double().mean() > 0.9


def test_scores_are_those_of_evaluation(graph: Graph, x: Tensor, seed: int):
    conv = layer(gate_bias=0.7, **DROPS)
    scores = conv.score(x, graph)
    first = (x @ conv.weight)[:, :D]
    assert torch.allclose(scores.dst, first @ conv.scorer.weight[:, 0] + 0.7)
    assert torch.allclose(scores.src, first @ conv.scorer.weight[:, 1])


def test_every_awkward_graph_gives_finite_outputs_and_gradients(
    awkward_graph: Graph, seed: int
):
    conv = layer(gate_bias=0.0, **DROPS)
    x = torch.randn(awkward_graph.num_nodes, K, dtype=torch.float64)
    for training in (True, False):
        out, opened = conv.train(training)(
            x, awkward_graph, seed=seed, return_opened=True
        )
        assert out.shape == (awkward_graph.num_nodes, H * D)
        (out.sum() + opened.penalty).backward()
    values = [out, *(parameter.grad for parameter in conv.parameters())]
    assert all(bool(value.isfinite().all()) for value in values)


def test_new_weights_are_different_and_a_generator_repeats_them():
    conv = SGATConv(K, D, H, residual=True, gate_bias=0.5)
    states = []
    for seed in (3, 3, 4):
        conv.gate_bias.data.fill_(9.0)
        conv.reset_parameters(torch.Generator().manual_seed(seed))
        states.append({n: p.detach().clone() for n, p in conv.named_parameters()})
    for name in ("weight", "residual_weight", "scorer.weight"):
        assert torch.equal(states[0][name], states[1][name])
        assert not torch.equal(states[0][name], states[2][name])
    assert states[2]["gate_bias"] == 0.5
    assert torch.equal(states[2]["bias"], torch.zeros(H * D))


def test_each_head_starts_with_its_own_xavier_scale(seed: int):
    weight = SGATConv(211, 101, 3, init_gain=2.0).weight.detach()
    for head in weight.split(101, dim=1):
        # 21 311 draws: their standard deviation is within 4 % but for one case in 10⁹.
        assert head.std().item() == pytest.approx(2 * (2 / 312) ** 0.5, rel=0.04)


def test_a_layer_without_bias_has_none(graph: Graph, x: Tensor):
    assert layer(bias=False).bias is None
    assert layer(bias=False).eval()(x, graph).shape == (N, H * D)


def test_autocast_projects_in_half_precision_but_decides_gates_in_full(
    graph: Graph, x: Tensor, seed: int
):
    conv, x = layer().float().eval(), x.float()
    expected = conv(x, graph)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, opened = conv(x, graph, return_opened=True)
        h = x @ conv.weight
    assert h.dtype == torch.bfloat16
    score = h[:, :D].float() @ conv.scorer.weight
    plain = reference.open_edges(graph, score[:, 0], score[:, 1])
    assert torch.allclose(opened.row_sum, plain.row_sum, rtol=1e-5)
    assert torch.allclose(opened.penalty, plain.penalty, rtol=1e-5)
    # The projection is rounded to 8 bits; gates and averages do not enlarge that much.
    assert (out - expected).abs().max() < 0.05 * expected.abs().max()
    assert not torch.equal(out, expected)


def test_repr_names_the_sizes():
    assert repr(SGATConv(7, 5, 3, scorer=False)) == "SGATConv(7, 5, heads=3)"


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((0, 5), {}, "`in_channels` must be at least 1, got 0."),
        ((7, 0), {}, "`out_channels` must be at least 1, got 0."),
        ((7, 5, 0), {}, "`heads` must be at least 1, got 0."),
        ((7, 5), {"dropout": 1.0}, "`dropout` must be in [0, 1), got 1.0."),
        (
            (7, 5),
            {"attention_dropout": -0.1},
            "`attention_dropout` must be in [0, 1), got -0.1.",
        ),
    ],
)
def test_impossible_layers_are_refused(arguments, options, sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SGATConv(*arguments, **options)


def test_a_layer_without_gates_asks_for_those_of_another(graph: Graph, x: Tensor):
    sentence = (
        "This layer has no gates of its own (scorer=False); call it with `opened=` the"
        " open edges of another layer."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        layer(scorer=False)(x, graph)


def test_a_graph_brings_its_own_weights(graph: Graph, x: Tensor):
    sentence = "`edge_weight` must be None when a Graph is given; it has its own."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        layer()(x, graph, torch.ones(graph.num_edges))


@pytest.mark.parametrize("rows", [11, 29])
def test_features_must_have_one_row_per_node(graph: Graph, rows: int):
    sentence = (
        f"`x` must have one row for each of the 23 nodes of the graph, got {rows}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        layer()(torch.randn(rows, K, dtype=torch.float64), graph)


def test_an_edge_beyond_the_features_is_refused(x: Tensor):
    sentence = "`edge_index` must name nodes 0 to 22, got 23 as target of edge 0."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        layer()(x, torch.tensor([[0], [23]]))


@pytest.mark.gpu
def test_the_layer_works_after_a_move_to_the_gpu(graph: Graph, x: Tensor, seed: int):
    conv = layer(**DROPS)
    expected = conv(x, graph, seed=seed)
    out = conv.cuda()(x.cuda(), graph.to("cuda"), seed=seed)
    assert out.device.type == "cuda"
    assert torch.allclose(out.cpu(), expected)
    assert torch.allclose(conv(x.cuda(), graph.edge_index.cuda(), seed=seed), out)
