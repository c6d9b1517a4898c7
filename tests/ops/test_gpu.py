"""The Triton kernels against the float64 reference.

With a CUDA device the tests marked `gpu` run on it. Without one, the small ones run in
Triton's interpreter if Triton can be imported (see `triton_device.py`).
"""

from __future__ import annotations

import itertools
import math

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
    step,
)
from support.awkward import GRAPHS, hub, scattered
from support.triton_device import DEVICE, gpu_test, needs_triton
from torch import Tensor

from sgat import ops
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops.operators.aggregate import aggregate_rows
from sgat.ops.operators.gates import open_rows
from sgat.ops.operators.slotted_edges import SlottedEdges

pytestmark = needs_triton


def in_turn(names, values):
    """Both axes crossed. The interpreter is slow: fast are as many as cover each."""
    size = max(len(names), len(values))
    fast = {(names[k % len(names)], values[k % len(values)]) for k in range(size)}
    return [
        pytest.param(*case, marks=() if case in fast else pytest.mark.slow)
        for case in itertools.product(names, values)
    ]


def small(name: str) -> Graph:
    """A graph of that name that the interpreter gets through in a second.

    Each row takes it a fixed time, so there are fewer rows than in the list of awkward
    graphs. The hub has more edges than two short pieces hold, and stands for the star;
    two graphs have more rows than the 16 that one program divides.
    """
    if name == "hub":
        return hub(37)
    if name == "two graphs":
        return Graph.merge([scattered(7, 29, weighted=True), scattered(11, 43)])
    return GRAPHS[name]()


# Of a kind one graph is fast.
@pytest.mark.parametrize(
    "name",
    [
        *("no edges", "isolated node", "hub", "loops in the input"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                *("one node", "chain", "duplicate edges", "weights of zero"),
                *("random directed", "random undirected", "two graphs"),
            )
        ),
    ],
)
def test_split_rows_follow_the_reference(name: str, short_pieces: None) -> None:
    check_step(
        small(name),
        torch.float32,
        "gpu",
        device=DEVICE,
        seed=3,
        dropout=0.4,
        with_edges=True,
        width=5,
    )


@pytest.mark.parametrize(
    ("name", "rank"),
    in_turn(["isolated node", "no edges", "two graphs"], [16, 1, 7, 64]),
)
def test_vectors_of_pairs_follow_the_reference(
    name: str, rank: int, short_pieces: None
) -> None:
    options = {"seed": 3, "rank": rank, "with_edges": rank == 7, "width": 5}
    check_step(small(name), torch.float32, "gpu", device=DEVICE, **options)


@pytest.mark.parametrize(
    "name", ["hub", pytest.param("random directed", marks=pytest.mark.slow)]
)
def test_vectors_of_pairs_over_split_rows(name: str, short_pieces: None) -> None:
    options = {"seed": None, "rank": 5, "width": 5}
    # Two pieces are enough to show that vectors are summed over pieces.
    graph = hub(17) if name == "hub" else small(name)
    for dtype in (torch.float32, torch.float64):
        check_step(graph, dtype, "gpu", device=DEVICE, **options)


def test_vectors_count_in_the_numbers_of_bfloat16() -> None:
    check_rounding("gpu", DEVICE)


@pytest.mark.parametrize(("rank", "draw"), in_turn([7, 16], [3, None]))
def test_both_directions_open_the_same_edges(rank: int, draw: int | None) -> None:
    graph = scattered(11, 101).to(DEVICE)
    (s, t), (query, key) = torch.randn(2, 11), torch.randn(2, 11, rank)
    scores = [part.to(DEVICE) for part in (s, t, query, key)]
    opened = ops.open_edges(
        graph, *scores[:2], None, *scores[2:], seed=draw, backend="gpu"
    )
    by_target, by_source = gates_both_ways(opened)
    assert by_target == by_source
    assert 0 < len(by_target) < graph.num_edges


@gpu_test
@pytest.mark.parametrize("rank", [1, 3, 7, 8, 16, 23, 32, 33, 64])
@pytest.mark.parametrize("draw", [3, None])
def test_both_directions_open_the_same_edges_of_a_large_graph(
    rank: int, draw: int | None
) -> None:
    graph = scattered(1009, 300_007).to("cuda")
    (s, t), (query, key) = torch.randn(2, 1009), torch.randn(2, 1009, rank)
    scores = [part.cuda() for part in (s, t, query / rank**0.5, key)]
    opened = ops.open_edges(graph, *scores[:2], None, *scores[2:], seed=draw)
    by_target, by_source = gates_both_ways(opened)
    assert by_target == by_source
    assert 0 < len(by_target) < graph.num_edges


@gpu_test
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rank", [1, 7, 16, 33, 64])
@pytest.mark.parametrize("name", list(GRAPHS))
def test_vectors_of_pairs_on_a_device(name: str, rank: int, dtype: torch.dtype) -> None:
    for seed in (3, None):
        options = {"seed": seed, "rank": rank, "with_edges": rank == 7}
        check_step(GRAPHS[name](), dtype, "gpu", device="cuda", **options)


@gpu_test
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_loss_may_reach_the_vectors_by_some_paths_only(name: str, loss: str) -> None:
    check_loss(GRAPHS[name](), loss, "gpu", device="cuda", rank=5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_types_follow_the_reference(dtype: torch.dtype) -> None:
    # Types differ in their numbers, not in how rows are divided.
    graph = scattered(7, 29, weighted=True)
    check_step(graph, dtype, "gpu", device=DEVICE, seed=3)


def test_wide_features_go_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    from sgat.ops.gpu import sum_rows

    monkeypatch.setattr(sum_rows, "MAX_WIDTH", 16)
    graph = scattered(7, 29, weighted=True)
    check_step(graph, torch.float32, "gpu", device=DEVICE, seed=3, width=37)


def test_evaluation_gates_follow_the_reference() -> None:
    graph = scattered(7, 29)
    check_step(graph, torch.float32, "gpu", device=DEVICE, seed=None)


@gpu_test
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("name", list(GRAPHS))
def test_outputs_and_gradients_follow_the_reference(
    name: str, dropout: float, dtype: torch.dtype
) -> None:
    for seed in (3, 2**63 + 11, None):
        check_step(
            GRAPHS[name](), dtype, "gpu", device="cuda", seed=seed, dropout=dropout
        )


@gpu_test
@pytest.mark.parametrize("name", ["random directed", "two graphs"])
def test_double_precision_follows_the_reference(name: str) -> None:
    for seed in (3, None):
        check_step(GRAPHS[name](), torch.float64, "gpu", device="cuda", seed=seed)


@gpu_test
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_loss_may_reach_the_scores_by_some_paths_only(name: str, loss: str) -> None:
    check_loss(GRAPHS[name](), loss, "gpu", device="cuda")


@gpu_test
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_stays_so(bad: float) -> None:
    graph = scattered(53, 701).to("cuda")
    score = torch.zeros(53, device="cuda", requires_grad=True)
    opened = ops.open_edges(graph, score, torch.zeros_like(score), seed=3)
    opened.row_sum.backward(torch.full((53,), bad, device="cuda"))
    assert not score.grad.isfinite().any()


@gpu_test
def test_anomaly_detection_finds_no_fault_in_unread_slots() -> None:
    with torch.autograd.set_detect_anomaly(True):
        check_step(
            GRAPHS["random directed"](), torch.float32, "gpu", device="cuda", seed=3
        )


@gpu_test
@pytest.mark.parametrize("width", [1, 8, 41, 128, 131, 602])
def test_any_width(width: int) -> None:
    graph = scattered(211, 7001)
    check_step(graph, torch.float32, "gpu", device="cuda", seed=3, width=width)


@gpu_test
def test_a_hub_of_a_million_edges() -> None:
    graph = hub(1_000_003)
    exact = step(graph, torch.float32, wide=True, backend="reference", seed=3)
    plain = step(graph, torch.float32, backend="reference", seed=3)
    fast = step(graph, torch.float32, backend="gpu", device="cuda", seed=3)
    assert_as_close(fast, plain, exact, torch.float32)


@gpu_test
def test_a_second_run_is_equal_bit_for_bit() -> None:
    graph = scattered(1009, 200_003)
    options = {"backend": "gpu", "device": "cuda", "seed": 3, "dropout": 0.4, "rank": 7}
    first, second = (step(graph, torch.float32, **options) for _ in range(2))
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


@gpu_test
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_step_does_not_wait_and_can_be_captured() -> None:
    graph = scattered(211, 7001).to("cuda")
    x = torch.randn(211, 23, device="cuda")
    label = torch.randint(3, (211,), device="cuda")
    model = SGAT(23, 5, 3, dropout=0.1, attention_dropout=0.1).to("cuda")
    optimizer = torch.optim.Adam(
        model.parameters(), lr=0.02, capturable=True, fused=True
    )
    seed = torch.zeros(1, dtype=torch.int64, device="cuda")

    def train_step() -> Tensor:
        optimizer.zero_grad(set_to_none=False)
        out = model.compute(x, graph, seed=seed)
        loss = torch.nn.functional.cross_entropy(out.logits, label)
        (loss + 1e-4 * out.opened.penalty).backward()
        optimizer.step()
        return loss.detach()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            train_step()
        torch.cuda.synchronize()
        try:
            torch.cuda.set_sync_debug_mode("error")
            train_step()
        finally:
            # Or every test that comes after would fail with this one.
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = train_step()
    values = []
    for epoch in range(40):
        seed.fill_(epoch)
        captured.replay()
        values.append(float(loss))
    assert sum(values[-5:]) < sum(values[:5])
    assert len(set(values)) == len(values)


@gpu_test
def test_training_follows_the_losses_of_the_reference() -> None:
    graph = scattered(101, 997)
    x, label = torch.randn(101, 23), torch.randint(3, (101,))
    fast = losses("gpu", graph, x, label, "cuda")
    plain = losses("reference", graph, x, label)
    assert fast == pytest.approx(plain, rel=1e-3)


@gpu_test
@pytest.mark.parametrize("drops", [False, True])
def test_operators_are_registered_as_torch_expects(
    drops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    graph = GRAPHS["two graphs"]().to("cuda")
    gate, aggregate = operator_arguments(graph, drops=drops, backend="gpu")
    # Slots past the count, and their gradients, are not written, so values cannot be
    # compared.
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(open_rows, tuple(gate), test_utils=checks)
    torch.library.opcheck(aggregate_rows, tuple(aggregate), test_utils=checks)


@gpu_test
@pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores")
def test_compiles_as_one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    graph = scattered(31, 201).to("cuda")
    x = torch.randn(31, 7, device="cuda")
    model = SGAT(7, 3, 2, backend="gpu").to("cuda")
    compiled = torch.compile(model, fullgraph=True)
    seed = torch.tensor([5], device="cuda")
    outputs = [run(x, graph, seed=seed) for run in (model, compiled)]
    torch.testing.assert_close(*outputs)
    grads = [
        torch.autograd.grad(out.square().sum(), model.parameters()) for out in outputs
    ]
    torch.testing.assert_close(*grads)


@gpu_test
def test_auto_takes_the_gpu_kernels() -> None:
    graph = GRAPHS["chain"]().to("cuda")
    score = torch.zeros(graph.num_nodes, device="cuda")
    opened = ops.open_edges(graph, score, score)
    assert isinstance(opened, SlottedEdges)
    assert opened.backend == "gpu"
    with pytest.raises(ValueError, match="on the CPU, and these are on cuda"):
        ops.open_edges(graph, score, score, backend="cpu")


def test_tensors_elsewhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    graph = Graph.from_edges(torch.tensor([[0], [1]]))
    score = torch.zeros(2)
    with pytest.raises(ValueError, match="on a CUDA device, and these are on cpu"):
        ops.open_edges(graph, score, score, backend="gpu")
