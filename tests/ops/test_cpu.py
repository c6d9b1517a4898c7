"""The Numba kernels against the float64 reference: outputs, gradients, noise."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from support.agreement import (
    LOSSES,
    assert_as_close,
    check_loss,
    check_rounding,
    check_step,
    gates_both_ways,
    losses,
    operator_arguments,
    poison,
    step,
)
from support.awkward import GRAPHS, scattered
from support.covering import covering
from torch import Tensor

from sgat import ops
from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import noise, reference
from sgat.ops.operators.aggregate import aggregate_rows
from sgat.ops.operators.gates import open_rows
from sgat.ops.operators.pieces import SPLIT
from sgat.ops.operators.project import (
    DropInputs,
    drop_features,
    project_sparse,
    sparse_inputs,
)
from sgat.ops.operators.slotted_edges import SlottedEdges

SEEDS = (3, 2**63 + 11)


@pytest.fixture(params=list(GRAPHS))
def graph(request: pytest.FixtureRequest) -> Graph:
    return GRAPHS[request.param]()


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    poison(monkeypatch)


@covering(
    {
        "graph": list(GRAPHS),
        "dtype": [torch.float32, torch.float64],
        "dropout": [0.0, 0.4],
        "with_edges": [False, True],
        "seed": SEEDS,
    },
    indirect=["graph", "seed"],
)
def test_outputs_and_gradients_follow_the_reference(
    graph: Graph, dtype: torch.dtype, dropout: float, with_edges: bool, seed: int
) -> None:
    check_step(graph, dtype, "cpu", seed=seed, dropout=dropout, with_edges=with_edges)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_summed_in_float32(graph: Graph, dtype: torch.dtype) -> None:
    check_step(graph, dtype, "cpu", seed=3, dropout=0.4)


def test_evaluation_gates_follow_the_reference(graph: Graph) -> None:
    check_step(graph, torch.float32, "cpu", seed=None)


@pytest.mark.parametrize("width", [1, 8, 131])
def test_any_width(width: int) -> None:
    check_step(GRAPHS["random directed"](), torch.float32, "cpu", seed=3, width=width)


@pytest.mark.parametrize("rank", [1, 7, 16, 64])
def test_vectors_of_pairs_follow_the_reference(graph: Graph, rank: int) -> None:
    check_step(graph, torch.float32, "cpu", seed=3, rank=rank)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_vectors_of_pairs_in_other_types(graph: Graph, dtype: torch.dtype) -> None:
    check_step(graph, dtype, "cpu", seed=3, rank=5, with_edges=True)


def test_vectors_of_pairs_over_hubs_in_pieces(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SPLIT, "cpu", 16)
    check_step(graph, torch.float32, "cpu", seed=None, rank=23, with_edges=True)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rank", [0, 5])
def test_a_loss_may_reach_the_scores_by_some_paths_only(
    graph: Graph, loss: str, rank: int
) -> None:
    check_loss(graph, loss, "cpu", rank=rank)


def test_vectors_count_in_the_numbers_of_bfloat16() -> None:
    check_rounding("cpu")


@pytest.mark.parametrize("rank", [1, 7, 16, 64])
@pytest.mark.parametrize("draw", [3, None])
def test_both_directions_open_the_same_edges(rank: int, draw: int | None) -> None:
    graph = scattered(53, 1301)
    scores = torch.randn(2, 53), torch.randn(2, 53, rank)
    (s, t), (query, key) = scores
    opened = ops.open_edges(graph, s, t, None, query, key, seed=draw, backend="cpu")
    by_target, by_source = gates_both_ways(opened)
    assert by_target == by_source
    assert 0 < len(by_target) < graph.num_edges


def test_vectors_that_need_no_gradient_get_none() -> None:
    graph = scattered(31, 201)
    score = torch.randn(31, requires_grad=True)
    query, key = torch.randn(2, 31, 5)
    opened = ops.open_edges(graph, score, score, None, query, key, backend="cpu")
    (opened.penalty + opened.row_sum.square().sum()).backward()
    plain = score.grad.clone()
    score.grad = None
    query.requires_grad_()
    opened = ops.open_edges(graph, score, score, None, query, key, backend="cpu")
    (opened.penalty + opened.row_sum.square().sum()).backward()
    assert torch.equal(score.grad, plain)
    assert key.grad is None and query.grad.abs().max() > 0


def test_threads_do_not_change_a_bit() -> None:
    graph = scattered(211, 200_003)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            options = {"backend": "cpu", "seed": 3, "dropout": 0.4, "rank": 7}
            results.append(step(graph, torch.float32, **options))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        for name, value in result.items():
            assert torch.equal(value, results[0][name]), name


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_hubs_in_pieces_follow_the_reference(
    graph: Graph, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SPLIT, "cpu", 16)
    check_step(
        graph, torch.float32, "cpu", seed=3, dropout=dropout, with_edges=dropout > 0
    )


def test_threads_share_a_hub_and_do_not_change_a_bit() -> None:
    leaves = torch.arange(1, 100_003)
    edges = torch.stack([leaves, torch.zeros_like(leaves)])
    graph = Graph.from_edges(torch.cat([edges, edges.flip(0)], 1), 100_003)
    assert graph.num_edges > 10 * SPLIT["cpu"]
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(step(graph, torch.float32, backend="cpu", seed=3, rank=3))
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        for name, value in result.items():
            assert torch.equal(value, results[0][name]), name


def test_open_edges_are_counted_where_no_row_is_cut() -> None:
    graph = scattered(307, 30_011)
    assert graph.num_edges > 2 * SPLIT["cpu"]
    score = torch.randn(graph.num_nodes)
    opened = ops.open_edges(graph, score, score, seed=3, backend="cpu")
    assert int(opened.num_open) == len(opened.gate)
    assert int(opened.rows.source_filled.sum()) == len(opened.gate)


@pytest.mark.parametrize("location", [-300.0, 300.0])
def test_extreme_scores_close_or_open_every_edge(location: float) -> None:
    graph = GRAPHS["random directed"]()
    score = torch.full((graph.num_nodes,), location, requires_grad=True)
    opened = ops.open_edges(graph, score, score, seed=3, backend="cpu")
    out = ops.aggregate(opened, torch.ones(graph.num_nodes, 3))
    (out.sum() + opened.penalty).backward()
    assert opened.num_open == (graph.num_edges if location > 0 else 0)
    assert torch.allclose(out, torch.ones_like(out))
    assert torch.equal(score.grad, torch.zeros_like(score))


def test_uniform_numbers_are_those_of_noise_bit_for_bit(seed: int) -> None:
    from sgat.ops.cpu import lanes

    graph = GRAPHS["two graphs"]()
    name = graph.noise_id.numpy().astype(np.uint64)
    signed = noise.seed_tensor(seed, torch.device("cpu"))
    key = [np.uint64(word) for word in lanes.split_key(signed.numpy()[0])]
    words = np.empty(lanes.PART, np.uint32)
    expected = noise.edge_uniform(seed, graph, 7).double()
    for edge in range(graph.num_edges):
        lanes.draw_words(
            name[graph.dst[edge]],
            graph.src.numpy(),
            edge,
            edge + 1,
            graph.node_id.numpy(),
            7,
            *key,
            words,
        )
        assert lanes.uniform(words[0]) == float(expected[edge])


@pytest.mark.parametrize("rate", [0.3, 0.5])
@pytest.mark.parametrize("names", [None, torch.tensor([5, 3, 2**32 + 3, 8, 1])])
def test_feature_dropout_has_the_mask_of_noise(
    rate: float, names: Tensor | None, seed: int
) -> None:
    x = torch.ones(5, 37)
    node = torch.arange(5) if names is None else names
    mask = noise.dense_feature_mask(
        seed, node, 37, noise.FEATURE_DROPOUT + 2, rate=rate
    )
    options = {"dropout": rate, "seed": seed, "layer": 2, "node_id": names}
    eye = torch.eye(37)
    assert torch.equal(ops.project(x, eye, backend="cpu", **options), mask)
    sparse = SparseFeatures.from_dense(x)
    assert torch.equal(ops.project(sparse, eye, backend="cpu", **options), mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.6])
def test_projection_and_its_gradient_follow_the_reference(
    dtype: torch.dtype, sparse: bool, dropout: float
) -> None:
    generator = torch.Generator().manual_seed(1)
    filled = torch.rand(29, 41, generator=generator) < 0.2
    dense = torch.randn(29, 41, generator=generator) * filled
    dense[3] = 0
    start = torch.randn(41, 13, generator=generator).to(dtype)

    def run(dtype: torch.dtype, backend: ops.Backend) -> dict[str, Tensor]:
        weight = start.to(dtype, copy=True).requires_grad_()
        features = dense.to(dtype)
        x = SparseFeatures.from_dense(features) if sparse else features
        out = ops.project(x, weight, dropout=dropout, seed=9, layer=1, backend=backend)
        out.square().sum().backward()
        return {"out": out.detach(), "weight": weight.grad}

    # The reference's embedding bag knows no bfloat16; its rounding is half an eps.
    known = not sparse or dtype != torch.bfloat16
    exact = run(torch.float64, "reference")
    plain = run(dtype, "reference") if known else exact
    assert_as_close(run(dtype, "cpu"), plain, exact, dtype)


def test_dropped_dense_features_pass_their_gradient_back() -> None:
    x = torch.randn(7, 11, requires_grad=True)
    options = {"dropout": 0.5, "seed": 3}
    grads = [
        torch.autograd.grad(
            ops.project(x, torch.eye(11), backend=backend, **options).square().sum(), x
        )[0]
        for backend in ("cpu", "reference")
    ]
    assert torch.equal(*grads)


@pytest.mark.parametrize("name", ["loops in the input", "two graphs"])
@pytest.mark.parametrize("drops", [False, True])
def test_operators_are_registered_as_torch_expects(
    name: str, drops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    gate, aggregate = operator_arguments(GRAPHS[name](), drops=drops)
    # Slots past the count are not written, so values cannot be compared.
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(open_rows, tuple(gate), test_utils=checks)
    torch.library.opcheck(aggregate_rows, tuple(aggregate))
    weight = torch.randn(7, 5, requires_grad=True)
    seed = torch.tensor([3]) if drops else None
    sparse = SparseFeatures.from_dense(torch.eye(7))
    options = (0.5, 1, "cpu")
    sparse_given = sparse_inputs(sparse, weight, None, seed, *options)
    torch.library.opcheck(project_sparse, tuple(sparse_given))
    if seed is not None:
        given = DropInputs(weight, None, seed, *options)
        torch.library.opcheck(drop_features, tuple(given))


@pytest.mark.parametrize("sparse", [False, True])
def test_compiles_as_one_graph(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    graph = scattered(31, 201)
    dense = torch.randn(31, 7)
    x = SparseFeatures.from_dense(dense) if sparse else dense
    model = SGAT(7, 3, 2, backend="cpu")
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    seed = torch.tensor([5])
    outputs, grads = [], []
    for run in (model, compiled):
        out = run(x, graph, seed=seed)
        outputs.append(out)
        grads.append(torch.autograd.grad(out.square().sum(), model.parameters()))
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(*grads)


def test_training_follows_the_losses_of_the_reference() -> None:
    graph = scattered(101, 997)
    x, label = torch.randn(101, 23), torch.randint(3, (101,))
    fast = losses("cpu", graph, x, label)
    plain = losses("reference", graph, x, label)
    assert fast == pytest.approx(plain, rel=1e-4)
    assert fast[-1] < fast[0]


def test_auto_takes_the_cpu_kernels() -> None:
    graph = GRAPHS["chain"]()
    score = torch.zeros(graph.num_nodes)
    opened = ops.open_edges(graph, score, score)
    assert isinstance(opened, SlottedEdges)
    assert opened.backend == "cpu"


def test_gates_drawn_without_gradients_can_be_trained_through() -> None:
    graph = GRAPHS["random directed"]()
    score = torch.zeros(graph.num_nodes)
    with torch.no_grad():
        opened = ops.open_edges(graph, score, score, seed=3)
        plain = ops.open_edges(graph, score, score, seed=3, backend="reference")
    x = torch.randn(graph.num_nodes, 5, requires_grad=True)
    grads = [
        torch.autograd.grad(ops.aggregate(gates, x).square().sum(), x)[0]
        for gates in (opened, plain)
    ]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("learns", [False, True])
def test_slopes_by_source_are_found_where_scores_learn(
    learns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sgat.ops.cpu import gates

    kernels, run = [], gates.run

    def counted(kernel: Any, *given: Any) -> None:
        kernels.append(kernel)
        run(kernel, *given)

    monkeypatch.setattr(gates, "run", counted)
    graph = GRAPHS["random directed"]()
    score = torch.zeros(graph.num_nodes, requires_grad=learns)
    ops.open_edges(graph, score, score, seed=3)
    assert gates.open_columns_kernel in kernels
    assert (gates.column_slopes_kernel in kernels) == learns


def test_a_second_gradient_is_refused_not_wrong() -> None:
    graph = GRAPHS["random directed"]()
    score = torch.zeros(graph.num_nodes, requires_grad=True)
    opened = ops.open_edges(graph, score, score, seed=3, backend="cpu")
    with pytest.raises(RuntimeError, match="differentiated only once"):
        torch.autograd.grad(opened.penalty, score, create_graph=True)
    out = ops.aggregate(opened, torch.randn(graph.num_nodes, 3))
    (first,) = torch.autograd.grad(out.square().sum(), score, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        torch.autograd.grad(first.sum(), score)


def test_trained_edge_weights_go_to_the_reference() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = Graph.from_edges(edges, 2, torch.ones(2, requires_grad=True))
    score = torch.zeros(2)
    opened = ops.open_edges(graph, score, score)
    assert isinstance(opened, reference.OpenEdges)
    with pytest.raises(ValueError, match=r"weights .* that require no gradient"):
        ops.open_edges(graph, score, score, backend="cpu")


def test_a_forced_backend_that_cannot_run_says_what_is_missing() -> None:
    graph = GRAPHS["chain"]()
    score = torch.zeros(graph.num_nodes)
    with pytest.raises(ValueError, match="choose one of auto, reference, cpu, gpu"):
        ops.open_edges(graph, score, score, backend="cuda")
    with pytest.raises(ValueError, match="floating-point features"):
        ops.open_edges(graph, score.long(), score.long(), backend="cpu")
    meta = score.to("meta")
    with pytest.raises(ValueError, match="on the CPU, and these are on meta"):
        ops.open_edges(graph, meta, meta, backend="cpu")
    opened = ops.open_edges(graph, score, score, backend="cpu")
    with pytest.raises(ValueError, match="drawn by the backend 'cpu'"):
        ops.aggregate(opened, score[:, None], backend="reference")


def test_importing_sgat_imports_neither_numba_nor_triton() -> None:
    code = "import sys, sgat; assert not {'numba', 'triton'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
