"""The reference operations: hand-worked values, gradients, skipping is exact."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.agreement import check_rounding
from support.awkward import GRAPHS
from torch import Tensor

from sgat.features import SparseFeatures
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise, reference
from sgat.ops.reference import OpenEdges

DROPOUT = 0.4


def double(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def scores_with_gates_of_every_kind(
    graph: Graph, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """s, t and c such that the gates are closed, half open and open in turn.

    The clamp has its kinks where the stretched logit is ± log 11 = ± 2.4; none is near.
    """
    dst_score, src_score = double(graph.num_nodes), double(graph.num_nodes)
    uniform = noise.edge_uniform(seed, graph, noise.GATES).double()
    logit = torch.tensor([-4.0, -1.1, 4.0, 0.3, 1.2])
    logit = logit[torch.arange(graph.num_edges) % 5].double()
    wanted = HardConcrete().temperature * logit - uniform.logit()
    known = reference.log_alphas(graph, dst_score, src_score, None)
    return dst_score, src_score, (wanted - known).detach().requires_grad_()


def dropout_masks(opened: OpenEdges, seed: int, layer: int) -> tuple[Tensor, Tensor]:
    """m_ij of the open edges and m_ii of the loops."""
    graph, stream = opened.graph, noise.ATTENTION_DROPOUT + layer
    edge = noise.edge_uniform(seed, graph, stream, opened.edge) >= DROPOUT
    loop = noise.uniform(seed, graph.noise_id, graph.noise_id, stream) >= DROPOUT
    return edge.double() / (1 - DROPOUT), loop.double() / (1 - DROPOUT)


# Node 0 hears 1 (weight 2), 2 (weight 1) and 3 (weight 4), and itself with weight ½;
# node 1 hears 0 (weight 0); node 2 hears 3 (weight 3). With β = ½, γ = -¼, ζ = 1¼ the
# evaluation gate of log α is clamp(1½ α² / (1 + α²) - ¼):
#   1 → 0: α = 1   z = ½        2 → 0: α = 3   z = 1       3 → 0: α = 1/3  z = 0
#   0 → 1: α = 2   z = 0.95     3 → 2: α = ½   z = 0.05
# S_0 = ½ + 2·½ + 1·1 = 2½,  S_1 = 1 + 0 = 1,  S_2 = 1 + 3·0.05 = 1.15,  S_3 = 1
HAND_GATES = HardConcrete(temperature=0.5, gamma=-0.25, zeta=1.25)


def hand_graph() -> tuple[Graph, Tensor]:
    edges = torch.tensor([[3, 0, 1, 0, 2, 3], [2, 0, 0, 1, 0, 0]])
    weight = torch.tensor([3.0, 0.5, 2.0, 0.0, 1.0, 4.0], dtype=torch.float64)
    graph = Graph.from_edges(edges, 4, weight)
    alpha = torch.tensor([1, 3, 1 / 3, 2, 1 / 2], dtype=torch.float64)
    return graph, alpha.log()


def test_values_worked_out_by_hand():
    graph, log_alpha = hand_graph()
    zero = torch.zeros(4, dtype=torch.float64)
    opened = reference.open_edges(graph, zero, zero, log_alpha, gates=HAND_GATES)
    assert opened.edge.tolist() == [0, 1, 3, 4]
    assert opened.num_open == 4
    assert opened.gate.tolist() == pytest.approx([0.5, 1.0, 0.95, 0.05])
    assert opened.row_sum.tolist() == pytest.approx([2.5, 1.0, 1.15, 1.0])
    # P(z ≠ 0) = α / (α + 5^-½)
    expected = sum(alpha / (alpha + 5**-0.5) for alpha in (1, 3, 1 / 3, 2, 1 / 2))
    assert float(opened.penalty) == pytest.approx(expected)

    coefficient, loop = reference.coefficients(opened)
    assert coefficient.tolist() == pytest.approx([0.4, 0.4, 0.0, 0.15 / 1.15])
    assert loop.tolist() == pytest.approx([0.2, 1.0, 1 / 1.15, 1.0])
    x = torch.tensor([[1, 10], [2, 20], [4, 0], [8, 5]], dtype=torch.float64)
    out = reference.aggregate(opened, x)
    expected = [
        [0.2 * 1 + 0.4 * 2 + 0.4 * 4, 0.2 * 10 + 0.4 * 20],
        [2, 20],
        [(4 + 0.15 * 8) / 1.15, 0.15 * 5 / 1.15],
        [8, 5],
    ]
    for row, values in zip(out.tolist(), expected, strict=True):
        assert row == pytest.approx(values)


def test_the_three_scores_are_added():
    graph = GRAPHS["random directed"]()
    dst, src, edge = torch.randn(23), torch.randn(23), torch.randn(graph.num_edges)
    sender, target = graph.edge_index
    log_alpha = reference.log_alphas(graph, dst, src, edge)
    assert torch.allclose(log_alpha, dst[target] + src[sender] + edge)
    opened = reference.open_edges(graph, dst, src, edge)
    gate = HardConcrete().value(log_alpha)
    assert torch.equal(opened.gate, gate[gate > 0])
    assert torch.equal(opened.edge, (gate > 0).nonzero()[:, 0])


def test_vectors_add_the_product_of_the_dense_matrix(
    awkward_graph: Graph, seed: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reference, "EDGES_AT_ONCE", 11)
    graph, size = awkward_graph, awkward_graph.num_nodes
    dst, src, edge = double(size), double(size), double(graph.num_edges)
    query, key = double(size, 3), double(size, 3)
    sender, target = graph.edge_index
    dense = dst[:, None] + src[None] + query @ key.T
    found = reference.log_alphas(graph, dst, src, edge, query, key)
    assert torch.allclose(found, dense[target, sender] + edge, rtol=1e-12)


def test_vectors_count_in_the_numbers_of_bfloat16(seed: int) -> None:
    check_rounding("reference")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rounding_keeps_the_type_and_passes_the_gradient(dtype: torch.dtype, seed: int):
    vector = torch.cat([torch.randn(97), torch.tensor([0.0, 3e-38, -1e4])]).to(dtype)
    vector.requires_grad_()
    found, upstream = reference.rounded(vector), torch.randn(100).to(dtype)
    assert found.dtype == dtype
    assert torch.equal(found, vector.bfloat16().to(dtype))
    assert torch.equal(found, reference.rounded(vector.detach()))
    found.backward(upstream)
    assert torch.equal(vector.grad, upstream)


@pytest.mark.parametrize("seeded", [True, False], ids=["sampled", "evaluation"])
def test_gradients_of_vectors_are_right_by_finite_differences(seeded: bool, seed: int):
    graph = GRAPHS["isolated node"]()
    query, key = double(7, 3), double(7, 3)
    dst, src, edge = scores_with_gates_of_every_kind(graph, seed)
    known = reference.pair_scores(graph.dst, graph.src, query, key)
    uniform = noise.edge_uniform(seed, graph, noise.GATES).double()
    shift = 0 if seeded else uniform.logit()
    edge = (edge - known + shift).detach().requires_grad_()

    def run(x, *scores):
        opened = reference.open_edges(graph, *scores, seed=seed if seeded else None)
        return reference.aggregate(opened, x), opened.penalty, opened.row_sum

    inputs = (double(7, 2), dst, src, edge, query, key)
    assert torch.autograd.gradcheck(run, inputs)


def test_sampled_gates_use_the_noise_of_the_edges(awkward_graph: Graph, seed: int):
    graph = awkward_graph
    score = torch.randn(graph.num_nodes)
    log_alpha = reference.log_alphas(graph, score, score, None)
    drawn = HardConcrete().sample(
        log_alpha, noise.edge_uniform(seed, graph, noise.GATES)
    )
    opened = reference.open_edges(graph, score, score, seed=seed)
    assert torch.equal(opened.gate, drawn[drawn > 0])


def test_coefficients_of_a_row_and_its_loop_sum_to_one(awkward_graph: Graph, seed: int):
    graph = awkward_graph
    score = torch.randn(graph.num_nodes, dtype=torch.float64)
    opened = reference.open_edges(graph, score, score, seed=seed)
    coefficient, loop = reference.coefficients(opened)
    total = loop.index_add(0, graph.dst[opened.edge], coefficient)
    assert torch.allclose(total, (opened.row_sum > 0).double(), rtol=1e-12)


@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
def test_aggregation_is_the_product_with_the_dense_matrix(
    awkward_graph: Graph, dropout: float, seed: int
):
    graph, num_nodes = awkward_graph, awkward_graph.num_nodes
    score, x = double(num_nodes).detach(), double(num_nodes, 3).detach()
    opened = reference.open_edges(graph, score, score, seed=seed)
    matrix = torch.diag(graph.loop_weights.double())
    edge, loop = (dst_src.clone() for dst_src in dropout_masks(opened, seed, 2))
    if dropout == 0:
        edge, loop = torch.ones_like(edge), torch.ones_like(loop)
    dst, src = graph.dst[opened.edge].long(), graph.src[opened.edge].long()
    matrix[dst, src] = graph.edge_weight.double()[opened.edge] * opened.gate
    total = matrix.sum(dim=1, keepdim=True)
    matrix = torch.where(total > 0, matrix / total, 0)
    matrix[dst, src] *= edge
    matrix[range(num_nodes), range(num_nodes)] *= loop
    out = reference.aggregate(opened, x, dropout=dropout, seed=seed, layer=2)
    assert torch.allclose(out, matrix @ x, rtol=1e-12, atol=1e-12)


def test_a_node_that_hears_nobody_keeps_its_features():
    for name, nodes in (("isolated node", [1, 6]), ("one node", [0]), ("chain", [0])):
        graph = GRAPHS[name]()
        score, x = torch.ones(graph.num_nodes), torch.randn(graph.num_nodes, 5)
        out = reference.aggregate(reference.open_edges(graph, score, score), x)
        assert torch.equal(out[nodes], x[nodes]), name


def test_closed_gates_remove_every_message(awkward_graph: Graph, seed: int):
    graph = awkward_graph
    closed = torch.full((graph.num_nodes,), -50.0)
    opened = reference.open_edges(graph, closed, closed, seed=seed)
    assert opened.num_open == 0
    x = torch.randn(graph.num_nodes, 3)
    heard = (graph.loop_weights > 0)[:, None]
    assert torch.allclose(reference.aggregate(opened, x), torch.where(heard, x, 0))


def test_a_row_of_sum_zero_gives_zeros_and_no_gradient():
    # Node 0 has a loop of weight 0 and one closed edge, node 1 the same and an edge of
    # weight 0.
    edges = torch.tensor([[0, 1, 2, 2], [0, 1, 0, 1]])
    weight = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64)
    graph = Graph.from_edges(edges, 3, weight)
    graph.weight.requires_grad_()
    graph.loop_weight.requires_grad_()
    score, x = double(3), double(3, 2)
    location = torch.tensor([-50.0, 0.0], dtype=torch.float64)
    opened = reference.open_edges(graph, 0 * score, score, location)
    assert opened.row_sum.tolist() == [0.0, 0.0, 1.0]
    out = reference.aggregate(opened, x)
    assert torch.equal(out[:2], torch.zeros_like(out[:2]))
    assert torch.equal(out[2], x[2])
    out.sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0], [1, 1]]
    for leaf in (score, graph.weight, graph.loop_weight):
        assert leaf.grad is not None and bool(leaf.grad.isfinite().all())


@pytest.mark.parametrize("seeded", [True, False], ids=["sampled", "evaluation"])
def test_gradients_are_right_by_finite_differences(seeded: bool, seed: int):
    graph = GRAPHS["random directed"]()
    *scores, edge_score = scores_with_gates_of_every_kind(graph, seed)
    if not seeded:
        uniform = noise.edge_uniform(seed, graph, noise.GATES).double()
        edge_score = (edge_score + uniform.logit()).detach().requires_grad_()
    gate_seed = seed if seeded else None
    opened = reference.open_edges(graph, *scores, edge_score, seed=gate_seed)
    half_open = int((opened.gate < 1).sum())
    assert 0 < half_open < opened.num_open < graph.num_edges

    weight = torch.rand(graph.num_edges, dtype=torch.float64) + 0.1
    loop_weight = torch.rand(graph.num_nodes, dtype=torch.float64) + 0.1

    def run(x, dst_score, src_score, edge_score, weight, loop_weight):
        weighted = dataclasses.replace(graph, weight=weight, loop_weight=loop_weight)
        opened = reference.open_edges(
            weighted, dst_score, src_score, edge_score, seed=gate_seed
        )
        out = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed, layer=1)
        return out, opened.penalty, opened.row_sum

    leaves = (weight.requires_grad_(), loop_weight.requires_grad_())
    inputs = (double(graph.num_nodes, 2), *scores, edge_score, *leaves)
    assert torch.autograd.gradcheck(run, inputs)


def test_gradients_of_awkward_graphs_are_right(awkward_graph: Graph, seed: int):
    graph = awkward_graph
    scores = scores_with_gates_of_every_kind(graph, seed)

    def run(x, *scores):
        opened = reference.open_edges(graph, *scores, seed=seed)
        out = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed)
        return out, opened.penalty

    # A random projection of the Jacobian, for speed.
    inputs = (double(graph.num_nodes, 2), *scores)
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
@pytest.mark.parametrize(
    "name", ["star", "random undirected", "loops in the input", "duplicate edges"]
)
def test_the_gradients_of_the_method_page_are_those_of_autograd(
    name: str, dropout: float, seed: int
):
    graph, gates = GRAPHS[name](), HardConcrete()
    weight = graph.edge_weight.double().requires_grad_()
    loop_weight = graph.loop_weights.double().requires_grad_()
    graph = dataclasses.replace(graph, weight=weight, loop_weight=loop_weight)
    scores = scores_with_gates_of_every_kind(graph, seed)
    x, g = double(graph.num_nodes, 3), double(graph.num_nodes, 3).detach()
    opened = reference.open_edges(graph, *scores, seed=seed)
    out = reference.aggregate(opened, x, dropout=dropout, seed=seed, layer=3)
    leaves = (x, opened.gate, weight, loop_weight, *scores)
    by_autograd = torch.autograd.grad((out * g).sum(), leaves)

    mask, loop_mask = dropout_masks(opened, seed, 3)
    if dropout == 0:
        mask, loop_mask = torch.ones_like(mask), torch.ones_like(loop_mask)
    with torch.no_grad():
        edge, gate, row_sum = opened.edge, opened.gate, opened.row_sum
        dst, src = graph.dst[edge].long(), graph.src[edge].long()
        inverse = torch.where(row_sum > 0, 1 / row_sum, 0)
        coefficient, loop = reference.coefficients(opened)
        grad_x = ((loop_mask * loop)[:, None] * g).index_add(
            0, src, (mask * coefficient)[:, None] * g[dst]
        )
        # The row term g_i · out_i, without a pass over the edges.
        row_term = (g * out).sum(dim=1)
        heard = (mask * (g[dst] * x[src]).sum(dim=1) - row_term[dst]) * inverse[dst]
        grad_gate = weight[edge] * heard
        grad_weight = torch.zeros_like(weight).index_copy(0, edge, gate * heard)
        grad_loop = (loop_mask * (g * x).sum(dim=1) - row_term) * inverse
        concrete = (gate - gates.gamma) / (gates.zeta - gates.gamma)
        slope = (gates.zeta - gates.gamma) / gates.temperature
        slope = slope * concrete * (1 - concrete)
        grad_location = torch.zeros_like(weight).index_copy(
            0, edge, torch.where(gate < 1, grad_gate * slope, 0)
        )
        zeros = torch.zeros_like(row_sum)
        grad_dst = zeros.index_add(0, graph.dst, grad_location)
        grad_src = zeros.index_add(0, graph.src, grad_location)
    by_hand = (grad_x, grad_gate, grad_weight, grad_loop, grad_dst, grad_src)
    by_hand = (*by_hand, grad_location)
    for value, expected in zip(by_hand, by_autograd, strict=True):
        assert torch.allclose(value, expected, rtol=1e-10, atol=1e-10)


def test_the_penalty_and_its_gradient(awkward_graph: Graph, seed: int):
    graph, gates = awkward_graph, HardConcrete()
    dst_score, src_score = double(graph.num_nodes), double(graph.num_nodes)
    edge_score = double(graph.num_edges)
    query, key = double(graph.num_nodes, 5), double(graph.num_nodes, 5)
    scores = (dst_score, src_score, edge_score, query, key)
    opened = reference.open_edges(graph, *scores, seed=seed)
    opened.penalty.backward()
    with torch.no_grad():
        log_alpha = reference.log_alphas(graph, *scores)
        probability = 1 / (1 + (gates.threshold - log_alpha).exp())
        slope = probability * (1 - probability)
    zeros = torch.zeros_like(dst_score)
    assert torch.allclose(opened.penalty, probability.sum())
    assert torch.allclose(edge_score.grad, slope)
    assert torch.allclose(dst_score.grad, zeros.index_add(0, graph.dst, slope))
    assert torch.allclose(src_score.grad, zeros.index_add(0, graph.src, slope))
    sender, target = graph.edge_index
    dense = torch.zeros(2 * (graph.num_nodes,), dtype=torch.float64)
    dense[target, sender] = slope
    assert torch.allclose(query.grad, dense @ key)
    assert torch.allclose(key.grad, dense.T @ query)


def test_the_penalty_reaches_closed_edges_and_the_data_loss_does_not(seed: int):
    graph = GRAPHS["random directed"]()
    *scores, edge_score = scores_with_gates_of_every_kind(graph, seed)
    opened = reference.open_edges(graph, *scores, edge_score, seed=seed)
    is_closed = torch.ones(graph.num_edges, dtype=torch.bool)
    is_closed[opened.edge] = False
    assert is_closed.any()
    out = reference.aggregate(opened, double(graph.num_nodes, 3))
    loss = out.square().sum()
    (data,) = torch.autograd.grad(loss, edge_score, retain_graph=True)
    (penalty,) = torch.autograd.grad(opened.penalty, edge_score)
    assert torch.equal(data[is_closed], torch.zeros_like(data[is_closed]))
    assert (penalty[is_closed] > 0).all()


def keep_closed_edges(
    graph: Graph, *scores: Tensor | None, seed: int | None
) -> OpenEdges:
    """The open edges with the closed ones left in, at gate 0."""
    gates = HardConcrete()
    log_alpha = reference.log_alphas(graph, *scores)
    if seed is None:
        gate = gates.value(log_alpha)
    else:
        uniform = noise.edge_uniform(seed, graph, noise.GATES)
        gate = gates.sample(log_alpha, uniform.to(log_alpha))
    weight = gate if graph.weight is None else gate * graph.weight
    row_sum = graph.loop_weights.to(gate).index_add(0, graph.dst, weight)
    penalty = gates.probability_open(log_alpha).sum()
    return OpenEdges(graph, torch.arange(graph.num_edges), gate, row_sum, penalty)


@st.composite
def small_graphs(draw: st.DrawFn, dtype: torch.dtype) -> Graph:
    """Graphs with loops, duplicates, isolated nodes, and some weights of 0."""
    num_nodes = draw(st.integers(1, 13))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=61))
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    weight = None
    if draw(st.booleans()):
        value = st.sampled_from([0.0, 0.1, 1.0, 1.7, 30.0])
        weight = torch.tensor([draw(value) for _ in edges], dtype=dtype)
    return Graph.from_edges(index, num_nodes, weight)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_dropping_closed_edges_changes_no_bit_of_output_or_gradients(
    data: st.DataObject,
):
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    graph = data.draw(small_graphs(dtype))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32)))
    seed = data.draw(st.none() | st.integers(0, 2**64 - 1))
    dropout = data.draw(st.sampled_from([0.0, 0.5]))
    location = data.draw(st.floats(-5, 3))

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    num_nodes, num_edges = graph.num_nodes, graph.num_edges
    values = [random(num_nodes) + location, random(num_nodes), random(num_edges)]
    values.append(random(num_nodes, 3))
    g = random(num_nodes, 3)

    def step(open_edges) -> list[Tensor]:
        *scores, x = (value.clone().requires_grad_() for value in values)
        weight = graph.edge_weight.to(dtype).clone().requires_grad_()
        loop_weight = graph.loop_weights.to(dtype).clone().requires_grad_()
        leaves = dataclasses.replace(graph, weight=weight, loop_weight=loop_weight)
        opened = open_edges(leaves, *scores, seed=seed)
        out = reference.aggregate(opened, x, dropout=dropout, seed=7)
        (out * g).sum().backward()
        grads = [leaf.grad for leaf in (*scores, x, weight, loop_weight)]
        return [out, opened.row_sum, opened.penalty, *grads]

    dropped, kept = step(reference.open_edges), step(keep_closed_edges)
    names = ["out", "row sum", "penalty", "s", "t", "c", "x", "weight", "loop weight"]
    for name, one, other in zip(names, dropped, kept, strict=True):
        assert torch.equal(one, other), name


def test_the_comparison_really_leaves_closed_edges_in(seed: int):
    graph = GRAPHS["random directed"]()
    scores = scores_with_gates_of_every_kind(graph, seed)
    kept = keep_closed_edges(graph, *scores, seed=seed)
    assert len(kept.edge) == graph.num_edges
    assert (kept.gate == 0).sum() == (
        graph.num_edges - reference.open_edges(graph, *scores, seed=seed).num_open
    )


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
def test_the_output_has_the_type_of_the_features(dtype: torch.dtype, seed: int):
    graph = GRAPHS["random undirected"]()
    score = torch.randn(graph.num_nodes)
    opened = reference.open_edges(graph, score, score, seed=seed)
    x = torch.randn(graph.num_nodes, 3).to(dtype)
    assert reference.aggregate(opened, x).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_summed_in_float32_and_rounded_once(
    dtype: torch.dtype, seed: int
):
    graph = GRAPHS["star"]()
    score = torch.zeros(graph.num_nodes)
    opened = reference.open_edges(graph, score, score, seed=seed)
    x = torch.randn(graph.num_nodes, 3).to(dtype)
    out = reference.aggregate(opened, x)
    assert torch.equal(out, reference.aggregate(opened, x.float()).to(dtype))


def test_features_of_any_shape_are_aggregated_alike(seed: int):
    graph = GRAPHS["random directed"]()
    score, x = torch.randn(23), torch.randn(23, 2, 3, 5)
    opened = reference.open_edges(graph, score, score, seed=seed)
    out = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed)
    flat = reference.aggregate(opened, x.flatten(1), dropout=DROPOUT, seed=seed)
    assert torch.equal(out, flat.view(23, 2, 3, 5))
    column = reference.aggregate(opened, x[:, 0, 0, 0], dropout=DROPOUT, seed=seed)
    assert column.shape == (23,)
    assert torch.allclose(column, out[:, 0, 0, 0])


def test_layers_drop_different_coefficients_and_a_seed_is_needed_to_drop(seed: int):
    graph = GRAPHS["random directed"]()
    score, x = torch.ones(23), torch.randn(23, 3)
    opened = reference.open_edges(graph, score, score)
    plain = reference.aggregate(opened, x)
    first = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed, layer=0)
    second = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed, layer=1)
    again = reference.aggregate(opened, x, dropout=DROPOUT, seed=seed, layer=0)
    assert torch.equal(first, again)
    assert not torch.equal(first, second) and not torch.equal(first, plain)
    assert torch.equal(reference.aggregate(opened, x, dropout=DROPOUT), plain)


@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
@pytest.mark.parametrize("named", [False, True])
def test_sparse_and_dense_projections_agree(dropout: float, named: bool, seed: int):
    x, weight = double(13, 29).detach(), double(29, 5)
    x[torch.rand(x.shape) > 0.3] = 0
    x[4] = 0
    node_id = torch.arange(13) * 3 + (7 << 32) if named else None
    options = {"dropout": dropout, "seed": seed, "layer": 2, "node_id": node_id}
    dense = reference.project(x, weight, **options)
    sparse = reference.project(SparseFeatures.from_dense(x), weight, **options)
    assert torch.allclose(dense, sparse, rtol=1e-12, atol=1e-12)
    g = double(13, 5).detach()
    (dense_grad,) = torch.autograd.grad((dense * g).sum(), weight)
    (sparse_grad,) = torch.autograd.grad((sparse * g).sum(), weight)
    assert torch.allclose(dense_grad, sparse_grad, rtol=1e-12, atol=1e-12)
    if dropout == 0:
        assert torch.equal(dense, x @ weight)
    else:
        name = torch.arange(13) if node_id is None else node_id
        stream = noise.FEATURE_DROPOUT + 2
        mask = noise.dense_feature_mask(seed, name, 29, stream, rate=dropout)
        assert torch.equal(dense, (x * mask) @ weight)


def test_projection_needs_a_seed_to_drop():
    x, weight = torch.randn(7, 5), torch.randn(5, 3)
    assert torch.equal(reference.project(x, weight, dropout=0.5), x @ weight)


def test_a_projection_of_no_features_gives_zeros():
    empty = SparseFeatures.from_dense(torch.zeros(7, 5))
    assert torch.equal(reference.project(empty, torch.ones(5, 3)), torch.zeros(7, 3))


def test_gradients_repeat_bit_for_bit_on_several_threads(seed: int):
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(500, (2, 40_000), generator=generator)
    graph = Graph.from_edges(index, 500)
    x = torch.randn(500, 32, generator=generator)
    score = torch.randn(2, 500, generator=generator)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        found = []
        for _ in range(5):
            leaves = [t.clone().requires_grad_() for t in (x, *score)]
            opened = reference.open_edges(graph, *leaves[1:], seed=seed)
            out = reference.aggregate(opened, leaves[0])
            found.append(torch.autograd.grad(out.square().sum(), leaves))
    finally:
        torch.set_num_threads(before)
    for again in found[1:]:
        for one, other in zip(found[0], again, strict=True):
            assert torch.equal(one, other)
