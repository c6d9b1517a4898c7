"""The Numba kernels against the float64 reference: outputs, gradients, noise."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from sgat import ops
from sgat.features import SparseFeatures
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import fused, noise, reference


def star(num_leaves: int) -> Graph:
    leaves = torch.arange(1, num_leaves + 1)
    return Graph.from_edges(torch.stack([leaves, torch.zeros_like(leaves)]))


def chain(num_nodes: int) -> Graph:
    node = torch.arange(num_nodes - 1)
    return Graph.from_edges(torch.stack([node, node + 1]), make_undirected=True)


def scattered(num_nodes: int, num_edges: int, *, weighted: bool = False) -> Graph:
    generator = torch.Generator().manual_seed(num_edges)
    edges = torch.randint(num_nodes, (2, num_edges), generator=generator)
    weight = torch.rand(num_edges, generator=generator) if weighted else None
    if weight is not None:
        weight[::5] = 0
    return Graph.from_edges(edges, num_nodes, weight)


def empty_rows() -> Graph:
    """Loops of weight 0: rows whose sum is 0 whenever their edges close."""
    node = torch.arange(7)
    edges = torch.cat([torch.stack([node, node]), torch.tensor([[1, 2], [2, 1]])], 1)
    return Graph.from_edges(edges, 7, torch.tensor([0.0] * 7 + [1.0, 2.0]))


GRAPHS = {
    "no edges": lambda: Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 5),
    "one node": lambda: Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 1),
    "isolated node": lambda: Graph.from_edges(torch.tensor([[0, 1], [1, 0]]), 3),
    "star": lambda: star(1301),
    "chain": lambda: chain(11),
    "weights, loops, duplicates": lambda: scattered(17, 211, weighted=True),
    "empty rows": empty_rows,
    "random": lambda: scattered(53, 701),
    "two graphs": lambda: Graph.merge([scattered(13, 53), scattered(19, 67)]),
}


@pytest.fixture(params=list(GRAPHS))
def graph(request: pytest.FixtureRequest) -> Graph:
    return GRAPHS[request.param]()


@pytest.fixture(params=[3, 2**63 + 11])
def seed(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill what `new_empty` allocates with NaN or the largest integer."""
    new_empty = Tensor.new_empty

    def poisoned(self: Tensor, *args, **kwargs) -> Tensor:
        out = new_empty(self, *args, **kwargs)
        bad = math.nan if out.is_floating_point() else torch.iinfo(out.dtype).max
        return out.fill_(bad)

    monkeypatch.setattr(Tensor, "new_empty", poisoned)


def step(
    graph: Graph,
    dtype: torch.dtype,
    *,
    wide: bool = False,
    backend: ops.Backend,
    seed: int | None,
    dropout: float = 0.0,
    with_edges: bool = False,
    width: int = 19,
) -> dict[str, Tensor]:
    """Outputs and gradients of two layers that share their gates.

    Inputs are drawn in `dtype` and used in it, or in float64 if `wide`.
    """
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int) -> Tensor:
        values = torch.randn(*shape, generator=generator).to(dtype)
        return (values.double() if wide else values).requires_grad_()

    num_nodes = graph.num_nodes
    score_type = torch.promote_types(dtype, torch.float32)
    dst_score, src_score = draw(num_nodes), draw(num_nodes)
    edge_score = draw(graph.num_edges) if with_edges else None
    x, left, right = draw(num_nodes, width), draw(width), draw(num_nodes, 2, 3)
    scores = [
        score if score is None or wide else score.to(score_type)
        for score in (dst_score, src_score, edge_score)
    ]
    opened = ops.open_edges(graph, *scores, seed=seed, backend=backend)
    first = ops.aggregate(opened, x, dropout=dropout, seed=seed, layer=0)
    second = ops.aggregate(opened, right, dropout=dropout, seed=seed, layer=1)
    loss = (first * left).square().sum() + second.square().sum()
    (loss.to(opened.penalty) + 0.3 * opened.penalty).backward()
    result = {
        "edge": opened.edge.double(),
        "gate": opened.gate,
        "row sum": opened.row_sum,
        "penalty": opened.penalty,
        "out": first,
        "second out": second,
        "x": x.grad,
        "right": right.grad,
        "dst": dst_score.grad,
        "src": src_score.grad,
    }
    if edge_score is not None:
        result["c"] = edge_score.grad
    return {name: value.detach() for name, value in result.items()}


def assert_as_close(fast: dict, plain: dict, exact: dict, dtype: torch.dtype) -> None:
    """The fast error is at most a small multiple of the plain one, or of rounding."""
    for name, value in exact.items():
        assert fast[name].shape == value.shape, name
        assert fast[name].isfinite().all(), name
        if not value.numel():
            continue
        scale = max(float(value.abs().max()), 1e-30)
        error = float((fast[name].double() - value).abs().max()) / scale
        allowed = float((plain[name].double() - value).abs().max()) / scale
        # In float64 the reference is its own yardstick; where g · x and g · out cancel, a
        # few digits go.
        rounding = max(32 * torch.finfo(dtype).eps, 1e-11)
        assert error <= 4 * allowed + rounding, (name, error, allowed)


def check_step(graph: Graph, dtype: torch.dtype, backend: ops.Backend, **kwargs):
    exact = step(graph, dtype, wide=True, backend="reference", **kwargs)
    plain = step(graph, dtype, backend="reference", **kwargs)
    fast = step(graph, dtype, backend=backend, **kwargs)
    assert_as_close(fast, plain, exact, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("with_edges", [False, True])
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
    check_step(GRAPHS["random"](), torch.float32, "cpu", seed=3, width=width)


def test_threads_do_not_change_a_bit() -> None:
    graph = scattered(211, 200_003)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(
                step(graph, torch.float32, backend="cpu", seed=3, dropout=0.4)
            )
    finally:
        torch.set_num_threads(threads)
    for result in results[1:]:
        for name, value in result.items():
            assert torch.equal(value, results[0][name]), name


@pytest.mark.parametrize("location", [-300.0, 300.0])
def test_extreme_scores_close_or_open_every_edge(location: float) -> None:
    graph = GRAPHS["random"]()
    score = torch.full((graph.num_nodes,), location, requires_grad=True)
    opened = ops.open_edges(graph, score, score, seed=3, backend="cpu")
    out = ops.aggregate(opened, torch.ones(graph.num_nodes, 3))
    (out.sum() + opened.penalty).backward()
    assert opened.num_open == (graph.num_edges if location > 0 else 0)
    assert torch.allclose(out, torch.ones_like(out))
    assert torch.equal(score.grad, torch.zeros_like(score))


def test_uniform_numbers_are_those_of_noise_bit_for_bit(seed: int) -> None:
    from sgat.ops import cpu

    graph = GRAPHS["two graphs"]()
    name = graph.noise_id.numpy().astype(np.uint64)
    signed = fused.seed_tensor(seed, torch.device("cpu"))
    key = [np.uint64(word) for word in cpu.split_key(signed.numpy()[0])]
    words = np.empty(cpu.PART, np.uint32)
    expected = noise.edge_uniform(seed, graph, 7).double()
    for edge in range(graph.num_edges):
        cpu.draw_words(
            name[graph.dst[edge]],
            graph.src.numpy(),
            edge,
            edge + 1,
            graph.node_id.numpy(),
            7,
            *key,
            words,
        )
        assert cpu.uniform(words[0]) == float(expected[edge])


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


def operator_arguments(graph: Graph, *, drops: bool) -> tuple[tuple, tuple]:
    """Arguments of `fused.open_rows` and `fused.aggregate_rows` for a graph."""
    gates = HardConcrete()
    scores = [
        torch.randn(size, requires_grad=True)
        for size in (graph.num_nodes, graph.num_nodes, graph.num_edges)
    ]
    seed = torch.tensor([3])
    shape = (gates.temperature, gates.gamma, gates.zeta)
    weights = (graph.weight, graph.loop_weight, graph.node_id)
    ends = (graph.row_ptr, graph.src)
    gate = (*scores, *ends, *weights, seed, *shape, True)
    *slots, row_sum, _, _, _ = fused.open_rows(*gate, "cpu")
    x = torch.randn(graph.num_nodes, 5, requires_grad=True)
    key = seed if drops else None
    rows = [slot.detach() for slot in slots]
    options = (0.4 if drops else 0.0, 9, *shape, "cpu")
    aggregate = (
        *(x, *scores, *ends, *weights[1:], key),
        *(rows, row_sum.detach(), *options),
    )
    return (*gate, "cpu"), aggregate


@pytest.mark.parametrize("name", ["weights, loops, duplicates", "two graphs"])
@pytest.mark.parametrize("drops", [False, True])
def test_operators_are_registered_as_torch_expects(
    name: str, drops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    gate, aggregate = operator_arguments(GRAPHS[name](), drops=drops)
    torch.library.opcheck(fused.open_rows, gate)
    torch.library.opcheck(fused.aggregate_rows, aggregate)
    weight = torch.randn(7, 5, requires_grad=True)
    seed = torch.tensor([3]) if drops else None
    sparse = SparseFeatures.from_dense(torch.eye(7))
    entries = (sparse.row_ptr, sparse.column, sparse.value)
    options = (0.5, 1, "cpu")
    torch.library.opcheck(
        fused.project_sparse, (weight, *entries, None, seed, *options)
    )
    if seed is not None:
        torch.library.opcheck(fused.drop_features, (weight, None, seed, *options))


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


def losses(backend: ops.Backend, graph: Graph, x: Tensor, label: Tensor) -> list[float]:
    torch.manual_seed(0)
    model = SGAT(x.shape[1], 5, 3, backend=backend)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    values = []
    for epoch in range(15):
        optimizer.zero_grad()
        out = model.compute(x, graph, seed=noise.derive(7, epoch))
        loss = torch.nn.functional.cross_entropy(out.logits, label)
        loss = loss + 1e-3 * out.opened.penalty
        loss.backward()
        optimizer.step()
        values.append(float(loss.detach()))
    return values


def test_training_follows_the_losses_of_the_reference() -> None:
    graph = scattered(101, 997)
    x, label = torch.randn(101, 23), torch.randint(3, (101,))
    fast = losses("cpu", graph, x, label)
    plain = losses("reference", graph, x, label)
    assert fast == pytest.approx(plain, rel=1e-4)
    assert fast[-1] < fast[0]


def test_auto_takes_the_cpu_kernels() -> None:
    graph = chain(5)
    score = torch.zeros(5)
    opened = ops.open_edges(graph, score, score)
    assert isinstance(opened, fused.OpenEdges)
    assert opened.backend == "cpu"


def test_gates_drawn_without_gradients_can_be_trained_through() -> None:
    graph = GRAPHS["random"]()
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


def test_trained_edge_weights_go_to_the_reference() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    graph = Graph.from_edges(edges, 2, torch.ones(2, requires_grad=True))
    score = torch.zeros(2)
    opened = ops.open_edges(graph, score, score)
    assert isinstance(opened, reference.OpenEdges)
    with pytest.raises(ValueError, match=r"weights .* that require no gradient"):
        ops.open_edges(graph, score, score, backend="cpu")


def test_a_forced_backend_that_cannot_run_says_what_is_missing() -> None:
    graph = chain(5)
    score = torch.zeros(5)
    with pytest.raises(ValueError, match="choose one of auto, reference, cpu, gpu"):
        ops.open_edges(graph, score, score, backend="cuda")
    with pytest.raises(ValueError, match="floating-point features"):
        ops.open_edges(graph, score.long(), score.long(), backend="cpu")
    meta = score.to("meta")
    with pytest.raises(ValueError, match="on the CPU, and these are on meta"):
        ops.open_edges(graph, meta, meta, backend="cpu")
    opened = ops.open_edges(graph, score, score, backend="cpu")
    with pytest.raises(ValueError, match="drawn by the backend 'cpu'"):
        ops.aggregate(opened, torch.ones(5, 2), backend="reference")


def test_importing_sgat_imports_neither_numba_nor_triton() -> None:
    code = "import sys, sgat; assert not {'numba', 'triton'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
