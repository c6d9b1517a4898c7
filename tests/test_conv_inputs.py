"""What PyG's layers take besides: lazy widths, pairs of features, edge attributes."""

import copy
import re

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from torch import Tensor

from sgat import Graph, SGATConv
from sgat.features import SparseFeatures
from sgat.gates import HardConcrete

K_SRC, K_DST, D, H, F = 7, 5, 3, 2, 4

PAIRS: dict[str, tuple[int, int, Tensor]] = {
    "no edges": (5, 3, torch.zeros(2, 0, dtype=torch.long)),
    "one node of either kind": (1, 1, torch.tensor([[0], [0]])),
    "nodes without edges": (7, 5, torch.tensor([[0, 2, 6, 6], [1, 1, 3, 1]])),
    "more targets": (3, 11, torch.tensor([[0, 1, 2, 2, 0], [10, 4, 4, 2, 2]])),
    "duplicates": (
        13,
        7,
        torch.stack([torch.arange(40) % 13, torch.arange(40) % 20 % 7]),
    ),
}


def dense(conv: SGATConv, pair, edge_index: Tensor, attr: Tensor) -> Tensor:
    """The formula of a layer in evaluation, edge by edge."""
    x_src, x_dst = pair
    h_src = x_src @ conv.weight
    matrix = conv.weight if conv.dst_weight is None else conv.dst_weight
    left, right = conv.scorer.weight.T
    gates, rows = HardConcrete(), []
    edges = list(zip(*edge_index.tolist(), strict=True))
    for i in range(len(x_dst)):
        own = x_dst[i] @ matrix
        total, out = 1.0, own
        for j in sorted({src for src, dst in edges if dst == i}):
            same = [e for e, edge in enumerate(edges) if edge == (j, i)]
            score = own[:D] @ left + h_src[j, :D] @ right + conv.gate_bias
            score = score + attr[same].mean(dim=0) @ conv.attr_weight
            weight = len(same) * gates.value(score)
            total, out = total + weight, out + weight * h_src[j]
        rows.append(out / total)
    return torch.stack(rows) + conv.bias


def parts_of(conv: SGATConv, *given: Tensor) -> list[Tensor]:
    return [*given, *conv.parameters()]


def pair_layer(in_channels=(K_SRC, K_DST), **options) -> SGATConv:
    conv = SGATConv(in_channels, D, H, gate_bias=0.3, edge_dim=F, **options).double()
    conv.attr_weight.data.normal_()
    conv.bias.data.normal_()
    return conv


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("backend", ["auto", "reference"])
@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_gives_its_formula_and_every_gradient(name: str, backend, seed: int):
    num_src, num_dst, edge_index = PAIRS[name]
    conv = pair_layer(backend=backend).eval()
    x_src, x_dst = drawn(num_src, K_SRC), drawn(num_dst, K_DST)
    attr = drawn(edge_index.shape[1], F)
    out = conv((x_src, x_dst), edge_index, edge_attr=attr)
    assert out.shape == (num_dst, H * D)
    expected = dense(conv, (x_src, x_dst), edge_index, attr)
    torch.testing.assert_close(out, expected)
    wanted = parts_of(conv, x_src, x_dst, attr)
    weights = torch.randn_like(out)
    options = {"allow_unused": True, "materialize_grads": True}
    found = torch.autograd.grad((out * weights).sum(), wanted, **options)
    right = torch.autograd.grad((expected * weights).sum(), wanted, **options)
    for ours, theirs in zip(found, right, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", PAIRS)
def test_backends_agree_on_pairs_in_training(name: str, seed: int):
    num_src, num_dst, edge_index = PAIRS[name]
    conv = pair_layer(dropout=0.3, attention_dropout=0.4)
    given = (
        drawn(num_src, K_SRC),
        drawn(num_dst, K_DST),
        drawn(edge_index.shape[1], F),
    )
    results = []
    for backend in ("auto", "reference"):
        conv.backend = backend
        out, opened = conv(
            given[:2], edge_index, edge_attr=given[2], seed=seed, return_opened=True
        )
        wanted = parts_of(conv, *given)
        loss = out.square().sum() + opened.penalty
        grads = torch.autograd.grad(loss, wanted, materialize_grads=True)
        results.append((out, opened.penalty, *grads))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["no edges", "one node", "isolated node", "random"])
def test_edge_attributes_of_one_kind_of_nodes(name: str, seed: int):
    num_nodes = {"no edges": 5, "one node": 1, "isolated node": 7, "random": 11}[name]
    edges = random_edges(11, 37) if name == "random" else GRAPHS[name]().edge_index
    edges = edges[:, edges[0] != edges[1]]
    conv, x = pair_layer(K_SRC).eval(), drawn(num_nodes, K_SRC)
    attr = drawn(edges.shape[1], F)
    out = conv(x, edges, edge_attr=attr)
    expected = dense(conv, (x, x), edges, attr)
    torch.testing.assert_close(out, expected)
    wanted, options = parts_of(conv, x, attr), {"materialize_grads": True}
    found = torch.autograd.grad(out.square().sum(), wanted, **options)
    right = torch.autograd.grad(expected.square().sum(), wanted, **options)
    for ours, theirs in zip(found, right, strict=True):
        torch.testing.assert_close(ours, theirs)
    graph = Graph.from_edges(edges, num_nodes, edge_attr=attr)
    assert torch.equal(conv(x, graph), out)


@pytest.mark.parametrize("training", [True, False])
def test_a_pair_of_the_same_features_is_one_kind_of_nodes(training: bool, seed: int):
    conv = SGATConv(K_SRC, D, H, dropout=0.3, residual=True).double().train(training)
    x, edges = drawn(11, K_SRC), random_edges(11, 37)
    edges = edges[:, edges[0] != edges[1]]
    alone = conv(x, edges, seed=seed)
    torch.testing.assert_close(conv((x, x), edges, seed=seed), alone)


def test_targets_may_be_the_first_of_the_sources(seed: int):
    """As PyG's samplers have them: the batch first, then whom it hears."""
    conv = SGATConv(K_SRC, D, H).double().eval()
    x, edges = drawn(23, K_SRC), random_edges(23, 127)
    edges = edges[:, edges[0] != edges[1]]
    inner = edges[:, edges[1] < 5]
    part = conv((x, x[:5]), inner, size=(23, 5))
    torch.testing.assert_close(part, conv(x, edges)[:5])


def test_targets_without_features_hear_their_sources_alone(seed: int):
    conv = SGATConv((K_SRC, K_DST), D, H).double().eval()
    x, edges = drawn(7, K_SRC), torch.tensor([[0, 2, 6, 6], [1, 1, 3, 1]])
    out = conv((x, None), edges)
    assert out.shape == (4, H * D)
    assert conv((x, None), edges, size=(7, 6)).shape == (6, H * D)
    h, silent = x @ conv.weight, torch.tensor([0, 2])
    assert torch.equal(out[silent], torch.zeros(2, H * D, dtype=torch.float64))
    torch.testing.assert_close(out[3], h[6])
    gate = HardConcrete().value(h[:, :D] @ conv.scorer.weight[:, 1])[[0, 2, 6]]
    torch.testing.assert_close(out[1], gate @ h[[0, 2, 6]] / gate.sum())


def test_sparse_features_in_a_pair(seed: int):
    conv = SGATConv((K_SRC, K_DST), D, H).double().eval()
    x_src = drawn(7, K_SRC).detach().relu()
    x_dst, edges = drawn(5, K_DST), PAIRS["nodes without edges"][2]
    sparse = SparseFeatures.from_dense(x_src)
    torch.testing.assert_close(
        conv((sparse, x_dst), edges), conv((x_src, x_dst), edges)
    )


def test_a_layer_takes_its_widths_from_the_first_input(seed: int):
    lazy = SGATConv(-1, D, H, residual=True, edge_dim=F).double().eval()
    assert copy.deepcopy(lazy).in_channels == lazy.in_channels == -1
    x, edges = drawn(11, K_SRC), random_edges(11, 37)
    out = lazy(x, edges, edge_attr=torch.zeros(37, F))
    assert lazy.extra_repr() == "7, 3, heads=2"
    assert out.dtype == torch.float64 and out.shape == (11, H * D)
    plain = SGATConv(K_SRC, D, H, residual=True, edge_dim=F).double().eval()
    plain.load_state_dict(lazy.state_dict())
    assert torch.equal(plain(x, edges, edge_attr=torch.zeros(37, F)), out)
    waiting = SGATConv(-1, D, H, residual=True, edge_dim=F).double().eval()
    waiting.load_state_dict(lazy.state_dict())
    assert waiting.in_channels == K_SRC
    assert torch.equal(waiting(x, edges, edge_attr=torch.zeros(37, F)), out)


def test_a_lazy_pair_and_a_residual_of_the_same_width(seed: int):
    conv = SGATConv((-1, -1), D, H, residual=True).double().eval()
    out = conv((drawn(7, K_SRC), drawn(5, H * D)), PAIRS["nodes without edges"][2])
    assert conv.in_channels == (K_SRC, H * D) and conv.residual_weight is None
    assert out.shape == (5, H * D)
    again = SGATConv((-1, -1), D, H, residual=True).double()
    again.load_state_dict(conv.state_dict())
    assert again.in_channels == conv.in_channels
    # A single input is both, as PyG's `to_hetero` needs it.
    same = SGATConv((-1, -1), D)(torch.rand(4, 3), torch.tensor([[0], [1]]))
    assert same.shape == (4, D)


def test_lazy_layers_learn_in_an_optimiser_made_before(seed: int):
    conv = SGATConv(-1, D)
    optimiser = torch.optim.Adam(conv.parameters(), lr=0.1)
    x, edges = torch.rand(11, 7), random_edges(11, 37)
    conv(x, edges).square().sum().backward()
    before = conv.weight.detach().clone()
    optimiser.step()
    assert not torch.equal(conv.weight, before)


def test_the_layer_works_in_pygs_hetero_layer(pyg, seed: int):
    from torch_geometric.nn import HeteroConv

    x = {"user": torch.rand(7, 3), "item": torch.rand(5, 4)}
    edges = {
        ("user", "buys", "item"): PAIRS["nodes without edges"][2],
        ("user", "knows", "user"): torch.tensor([[0, 1], [1, 2]]),
    }
    attr = {("user", "buys", "item"): torch.rand(4, 2)}
    layers = HeteroConv(
        {
            ("user", "buys", "item"): SGATConv((-1, -1), 6, edge_dim=2),
            ("user", "knows", "user"): SGATConv(-1, 6),
        }
    )
    out = layers(x, edges, edge_attr_dict=attr)
    assert out["item"].shape == (5, 6) and out["user"].shape == (7, 6)


def big_graph(pyg, dtype=torch.float64):
    edges = random_edges(53, 127)
    edges = edges[:, edges[0] != edges[1]].unique(dim=1)
    attr = torch.rand(edges.shape[1], F, dtype=dtype)
    return pyg.data.Data(x=drawn(53, K_SRC).detach(), edge_index=edges, edge_attr=attr)


def two_layers(data, first: SGATConv, second: SGATConv) -> Tensor:
    hidden = first(data.x, data.edge_index, edge_attr=data.edge_attr).relu()
    return second(hidden, data.edge_index)


def check_batches(data, batches) -> None:
    """Batches with all neighbours of two steps give what the whole graph gives."""
    first, second = pair_layer(-1).eval(), SGATConv(-1, D).double().eval()
    whole, seen = two_layers(data, first, second), []
    for batch in batches:
        found = two_layers(batch, first, second)[: batch.batch_size]
        nodes = batch.n_id[: batch.batch_size]
        torch.testing.assert_close(found, whole[nodes])
        seen += nodes.tolist()
    assert sorted(seen) == list(range(53))


def test_batches_of_neighbours_give_what_the_whole_graph_gives(pyg, seed: int):
    """With PyG's loader of nodes, and a sampler that needs no library of PyG."""
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, SamplerOutput
    from torch_geometric.utils import k_hop_subgraph

    data = big_graph(pyg)

    class Neighbours(BaseSampler):
        def sample_from_nodes(self, index, **_):
            near, *_ = k_hop_subgraph(index.node, 2, data.edge_index)
            near = torch.cat([index.node, near[~torch.isin(near, index.node)]])
            place = torch.full((53,), -1)
            place[near] = torch.arange(len(near))
            row, col = place[data.edge_index]
            edge = ((row >= 0) & (col >= 0)).nonzero()[:, 0]
            given = (index.input_id, index.time)
            return SamplerOutput(near, row[edge], col[edge], edge, metadata=given)

        def sample_from_edges(self, index, **_):
            raise NotImplementedError

    check_batches(data, NodeLoader(data, Neighbours(), batch_size=10, shuffle=True))


@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'")
def test_batches_of_neighbor_loader(pyg, seed: int):
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE

    if not (WITH_PYG_LIB or WITH_TORCH_SPARSE):
        pytest.skip("NeighborLoader needs pyg-lib or torch-sparse")
    data = big_graph(pyg)
    check_batches(data, NeighborLoader(data, [-1, -1], batch_size=10, shuffle=True))


X = torch.rand(5, 3)
EDGES = torch.tensor([[0, 4], [1, 2]])
ONE = {"edge_attr": torch.rand(2, 1)}
WANTED = "Each edge must have 3 numbers in `edge_attr`, which the gates look at, got"
NOT_WITH = "A pair goes with no Graph and without `symmetric`."


def test_pygs_explainer_sees_which_features_count(seed):
    pytest.importorskip("torch_geometric")
    from torch_geometric.explain import Explainer, GNNExplainer

    model = SGATConv(5, 3)
    with torch.no_grad():
        model.weight[1:] = 0  # the first feature alone is looked at
    explainer = Explainer(
        model,
        algorithm=GNNExplainer(epochs=5),
        explanation_type="model",
        node_mask_type="attributes",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    x = torch.rand(13, 5)
    mask = explainer(x, random_edges(13, 60), index=3).node_mask
    assert mask.shape == x.shape
    assert mask[:, 0].max() > 0 and not mask[:, 1:].any()


@pytest.mark.parametrize(
    ("options", "x", "edges", "more", "sentence"),
    [
        ({}, X, EDGES, ONE, "`edge_attr` needs `edge_dim`, its number of columns."),
        ({"edge_dim": 3}, X, EDGES, ONE, f"{WANTED} 1."),
        ({"edge_dim": 3}, X, EDGES, {}, f"{WANTED} none."),
        (
            *({}, X, EDGES, {"size": (5, 4)}),
            "`size` must be (5, 5), as `x` has it, got (5, 4).",
        ),
        (
            *({}, (X, X[:3]), EDGES, {"size": (4, 3)}),
            "`size` must be (5, 3), as `x` has it, got (4, 3).",
        ),
        (
            *({}, (X, X[:2]), EDGES, {}),
            "`edge_index` must name nodes 0 to 1, got 2 as target of edge 1.",
        ),
        (
            *({}, (X[:4], X), EDGES, {}),
            "`edge_index` must name nodes 0 to 3, got 4 as source of edge 1.",
        ),
        ({"symmetric": True}, (X, X), EDGES, {}, NOT_WITH),
        (
            *({"residual": True}, (X, None), EDGES, {}),
            "`residual` needs features of the targets, got None.",
        ),
        ({}, (X, X), Graph.from_edges(EDGES), {}, NOT_WITH),
        (
            *({"edge_dim": 1}, X, Graph.from_edges(EDGES, 5), ONE),
            "`edge_attr` must be None when a Graph is given; it has its own.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options, x, edges, more, sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SGATConv(3, D, **options)(x, edges, **more)


def test_a_compiler_takes_a_layer_with_edge_attributes(seed: int):
    conv, x = SGATConv(3, D, edge_dim=F).eval(), torch.rand(11, 3)
    graph = Graph.from_edges(random_edges(11, 37), 11, edge_attr=torch.rand(37, F))
    compiled = torch.compile(conv, fullgraph=True)
    torch.testing.assert_close(compiled(x, graph), conv(x, graph))
