"""The public operations: what they refuse before any backend sees it, and pruning."""

import pytest
import torch
from support.awkward import GRAPHS

from sgat import ops
from sgat.conv import SGATConv
from sgat.features import SparseFeatures
from sgat.graph import Graph

BACKENDS = [
    "reference",
    "cpu",
    pytest.param("gpu", marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("dst", "src", "edge", "message"),
    [
        (11, 23, None, "`dst_score` must have shape [23], got [11]."),
        (23, 29, None, "`src_score` must have shape [23], got [29]."),
        (23, 23, 5, "`edge_score` must have shape ["),
    ],
)
def test_scores_of_another_shape_are_refused(dst, src, edge, message, backend):
    graph = GRAPHS["random directed"]()
    scores = [None if size is None else torch.zeros(size) for size in (dst, src, edge)]
    with pytest.raises(ValueError) as error:
        ops.open_edges(graph, *scores, backend=backend)
    assert message in str(error.value)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((23, 3), None, "`query` and `key` must be given together, got only `query`."),
        (None, (23, 3), "`query` and `key` must be given together, got only `key`."),
        ((11, 3), (23, 3), "`query` must have shape [23, R], got [11, 3]."),
        ((23, 3), (23,), "`key` must have shape [23, R], got [23]."),
        ((23, 3), (23, 4), "must have the same 1 to 64 columns, got 3 and 4."),
        ((23, 65), (23, 65), "must have the same 1 to 64 columns, got 65 and 65."),
        ((23, 0), (23, 0), "must have the same 1 to 64 columns, got 0 and 0."),
    ],
)
def test_vectors_of_another_shape_are_refused(query, key, message, backend):
    graph, score = GRAPHS["random directed"](), torch.zeros(23)
    pair = [None if shape is None else torch.zeros(shape) for shape in (query, key)]
    with pytest.raises(ValueError) as error:
        ops.open_edges(graph, score, score, None, *pair, backend=backend)
    assert message in str(error.value)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_features_of_another_number_of_nodes_are_refused(backend):
    graph = GRAPHS["random directed"]()
    score = torch.zeros(graph.num_nodes)
    opened = ops.open_edges(graph, score, score, backend=backend)
    with pytest.raises(ValueError, match="`x` must have one row for each of the 23"):
        ops.aggregate(opened, torch.zeros(7, 3), backend=backend)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_and_names_of_another_size_are_refused(sparse, backend):
    dense = torch.ones(5, 7)
    x = SparseFeatures.from_dense(dense) if sparse else dense
    with pytest.raises(ValueError, match="for each of the 7 columns of `x`, got 3"):
        ops.project(x, torch.ones(3, 2), backend=backend)
    names = {"node_id": torch.arange(4), "dropout": 0.5, "seed": 3}
    with pytest.raises(ValueError, match=r"`node_id` must have shape \[5\], got \[4\]"):
        ops.project(x, torch.ones(7, 2), backend=backend, **names)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_gates_have_the_widest_type_of_their_scores(backend):
    graph = GRAPHS["random directed"]()
    score, by_edge = torch.zeros(23), torch.zeros(graph.num_edges).double()
    opened = ops.open_edges(graph, score, score, by_edge, backend=backend)
    assert opened.row_sum.dtype == torch.float64


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_graph_without_nodes_gives_an_empty_result(backend):
    conv = SGATConv(6, 4, backend=backend)
    no_edges = torch.empty(2, 0, dtype=torch.long)
    assert conv(torch.empty(0, 6), no_edges).shape == (0, 4)


def half_open(graph: Graph, backend: str) -> ops.OpenEdges:
    """Evaluation gates that close some edges and leave others half open."""
    device = "cuda" if backend == "gpu" else "cpu"
    generator = torch.Generator().manual_seed(3)
    score = torch.randn(2, graph.num_nodes, generator=generator).to(device)
    return ops.open_edges(graph.to(device), *(2 * score - 1), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_aggregating_over_pruned_edges_changes_nothing(awkward_graph, backend):
    opened = half_open(awkward_graph, backend)
    pruned = ops.prune(opened)
    x = torch.randn(awkward_graph.num_nodes, 5, device=opened.row_sum.device)
    torch.testing.assert_close(ops.aggregate(pruned, x), ops.aggregate(opened, x))
    torch.testing.assert_close(pruned.row_sum, opened.row_sum)
    assert type(pruned) is type(opened)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pruned_graph_has_the_open_edges_weighted_by_their_gates(
    awkward_graph, backend
):
    opened = half_open(awkward_graph, backend)
    pruned = ops.prune(opened).graph
    weight = opened.gate * opened.graph.edge_weight[opened.edge]
    expected = Graph.from_edges(
        opened.graph.edge_index[:, opened.edge], awkward_graph.num_nodes, weight
    )
    for name in ("src", "dst", "row_ptr", "weight"):
        assert torch.equal(getattr(pruned, name), getattr(expected, name)), name
    assert torch.equal(pruned.loop_weights, opened.graph.loop_weights)


def test_some_awkward_graphs_lose_edges_and_keep_half_open_ones():
    for name in ("star", "random directed", "random undirected", "weights of zero"):
        graph = GRAPHS[name]()
        opened = half_open(graph, "reference")
        assert 0 < opened.num_open < graph.num_edges
        assert bool((opened.gate < 1).any())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_edges_of_a_graph_can_be_taken_as_open(awkward_graph, backend, dtype):
    device = "cuda" if backend == "gpu" else "cpu"
    graph = awkward_graph.to(device)
    opened = ops.all_open(graph, dtype=dtype, backend=backend)
    assert torch.equal(opened.edge, torch.arange(graph.num_edges, device=device))
    assert bool((opened.gate == 1).all())
    assert float(opened.penalty) == graph.num_edges


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_by_features_pass_over_pruned_edges(backend):
    opened = half_open(GRAPHS["random undirected"](), backend)
    x = torch.randn(29, 5, device=opened.row_sum.device)
    grads = []
    for edges in (opened, ops.prune(opened)):
        x.requires_grad_().grad = None
        ops.aggregate(edges, x).square().sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5])
def test_a_rate_that_drops_all_or_less_than_nothing_is_refused(dropout):
    graph = Graph.from_edges(torch.tensor([[0], [1]]))
    opened = ops.all_open(graph)
    x = torch.ones(2, 3)
    message = r"`dropout` must be in \[0, 1\), got"
    with pytest.raises(ValueError, match=message):
        ops.aggregate(opened, x, dropout=dropout, seed=1)
    with pytest.raises(ValueError, match=message):
        ops.project(x, torch.ones(3, 2), dropout=dropout, seed=1)
