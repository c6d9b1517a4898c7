"""How the tests hold a fast backend against the reference.

One step over a graph with every gradient, and the error that is allowed.
"""

from __future__ import annotations

import math

import pytest
import torch
from support.awkward import scattered
from torch import Tensor

from sgat import ops
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import noise
from sgat.ops.operators.aggregate import AggregateInputs
from sgat.ops.operators.gates import NUM_SLOTS, GateInputs, OpenRows, open_rows
from sgat.ops.operators.pieces import SPLIT
from sgat.ops.operators.slotted_edges import (
    SlottedEdges,
    aggregate_inputs,
    gate_inputs,
)


def poison(monkeypatch: pytest.MonkeyPatch) -> None:
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
    rank: int = 0,
    width: int = 19,
    device: str = "cpu",
) -> dict[str, Tensor]:
    """Outputs and gradients of two layers that share their gates.

    Inputs are drawn in `dtype` and used in it, or in float64 if `wide`.
    """
    graph = graph.to(device)
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int, drawn: torch.dtype = dtype) -> Tensor:
        values = torch.randn(*shape, generator=generator).to(drawn).to(dtype)
        values = values.to(device)
        return (values.double() if wide else values).requires_grad_()

    num_nodes = graph.num_nodes
    score_type = torch.promote_types(dtype, torch.float32)
    dst_score, src_score = draw(num_nodes), draw(num_nodes)
    edge_score = draw(graph.num_edges) if with_edges else None
    x, left, right = draw(num_nodes, width), draw(width), draw(num_nodes, 2, 3)
    query, key = None, None
    if rank:
        # Vectors that rounding would change were not the same in float64.
        query, key = (draw(num_nodes, rank, drawn=torch.bfloat16) for _ in range(2))
    scores = [
        score if score is None or wide else score.to(score_type)
        for score in (dst_score, src_score, edge_score, query, key)
    ]
    opened = ops.open_edges(graph, *scores, seed=seed, backend=backend)
    first = ops.aggregate(opened, x, dropout=dropout, seed=seed, layer=0)
    second = ops.aggregate(opened, right, dropout=dropout, seed=seed, layer=1)
    first.retain_grad()
    second.retain_grad()
    loss = (first * left).square().sum() + second.square().sum()
    (loss.to(opened.penalty) + 0.3 * opened.penalty).backward()
    result = {
        "edge": opened.edge.double(),
        "gate": opened.gate,
        "open": opened.num_open.double(),
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
    if query is not None and key is not None:
        result |= {"query": query.grad, "key": key.grad}
    # ∂z is a difference of two terms of this size; rounding is relative to them.
    terms = [(out * out.grad).flatten(1).sum(1).abs() for out in (first, second)]
    row_sum = opened.row_sum.to(x)
    term = torch.where(row_sum > 0, (terms[0] + terms[1]) / row_sum, 0)
    result["term"] = term.max() if num_nodes else term.sum()
    return {name: value.detach().cpu() for name, value in result.items()}


def assert_as_close(fast: dict, plain: dict, exact: dict, dtype: torch.dtype) -> None:
    """The fast error is at most a small multiple of the plain one, or of rounding."""
    for name, value in exact.items():
        assert fast[name].shape == value.shape, name
        assert fast[name].isfinite().all(), name
        if not value.numel():
            continue
        scale = max(float(value.abs().max()), 1e-30)
        if name in ("dst", "src", "c", "query", "key"):
            scale = max(scale, float(exact["term"]))
        error = float((fast[name].double() - value).abs().max()) / scale
        allowed = float((plain[name].double() - value).abs().max()) / scale
        rounding = 32 * torch.finfo(dtype).eps
        assert error <= 4 * allowed + rounding, (name, error, allowed)


def check_step(
    graph: Graph,
    dtype: torch.dtype,
    backend: ops.Backend,
    *,
    device: str = "cpu",
    **kwargs,
) -> None:
    """Run a step three times and hold the fast one against the other two."""
    exact = step(graph, dtype, wide=True, backend="reference", **kwargs)
    plain = step(graph, dtype, backend="reference", **kwargs)
    fast = step(graph, dtype, backend=backend, device=device, **kwargs)
    assert_as_close(fast, plain, exact, dtype)


LOSSES = ("penalty", "row sum", "first layer", "both layers", "without gates")


def score_grads(
    graph: Graph,
    loss: str,
    dtype: torch.dtype,
    *,
    backend: ops.Backend,
    rank: int = 0,
    device: str = "cpu",
) -> dict[str, Tensor]:
    """Gradients of one loss by the scores and by x, those that the loss has."""
    graph = graph.to(device)
    generator = torch.Generator().manual_seed(5)
    size = graph.num_nodes
    draws = [
        torch.randn(*shape, generator=generator)
        for shape in [(size,), (size,), (size, 7), *[(size, rank)] * (2 * (rank > 0))]
    ]
    draws[3:] = [vector.bfloat16() for vector in draws[3:]]
    dst_score, src_score, x, *pair = (
        values.to(device, dtype).requires_grad_() for values in draws
    )
    if loss == "without gates":
        dst_score, src_score = dst_score.detach(), src_score.detach()
        pair = [vector.detach() for vector in pair]
    if loss == "both layers":
        x = x.detach()
    opened = ops.open_edges(
        graph, dst_score, src_score, None, *pair, seed=3, backend=backend
    )
    first = ops.aggregate(opened, x, layer=0)
    second = ops.aggregate(opened, 2 * x[:, :3], layer=1)
    value = {
        "penalty": opened.penalty,
        "row sum": opened.row_sum.square().sum(),
        "first layer": first.square().sum(),
        "both layers": first.square().sum() + second.square().sum(),
        "without gates": second.square().sum(),
    }[loss]
    value.backward()
    named = {"dst score": dst_score, "src score": src_score, "x": x}
    named |= dict(zip(("query", "key"), pair, strict=False))
    return {
        name: leaf.grad.cpu() for name, leaf in named.items() if leaf.grad is not None
    }


def check_loss(
    graph: Graph, loss: str, backend: ops.Backend, device: str = "cpu", rank: int = 0
) -> None:
    """Hold the gradients of a loss that misses some paths against the reference."""
    exact = score_grads(graph, loss, torch.float64, backend="reference", rank=rank)
    options = {"backend": backend, "rank": rank, "device": device}
    fast = score_grads(graph, loss, torch.float32, **options)
    assert fast.keys() == exact.keys()
    # Where all gates of a row are alike its terms cancel, so rounding is absolute.
    for name, value in exact.items():
        torch.testing.assert_close(
            fast[name].double(), value, rtol=1e-4, atol=1e-4, msg=name
        )


def check_rounding(backend: ops.Backend, device: str = "cpu") -> None:
    """Vectors count as the nearest of bfloat16, and their gradients as if they did."""
    graph = scattered(5, 23).to(device)
    score, query, key = (
        torch.randn(*shape).to(device) for shape in [(5,), (5, 7), (5, 7)]
    )

    def found(score: Tensor, *pair: Tensor) -> list[Tensor]:
        pair = tuple(vector.detach().requires_grad_() for vector in pair)
        opened = ops.open_edges(
            graph, score, score, None, *pair, seed=3, backend=backend
        )
        (opened.penalty + opened.row_sum.square().sum()).backward()
        grads = [vector.grad for vector in pair]
        return [opened.penalty.detach(), opened.edge, opened.gate, *grads]

    nearest = [vector.bfloat16().float() for vector in (query, key)]
    for scores in (score, score.double()):
        given = found(scores, query, key)
        for one, other in zip(given, found(scores, *nearest), strict=True):
            assert torch.equal(one, other)
        assert given[3].dtype == torch.float32
        assert not torch.equal(given[3], given[3].bfloat16().float())
    exact = found(score.double(), query.double(), key.double())
    assert not torch.equal(exact[0], given[0]), "float64 is not rounded"


def operator_arguments(
    graph: Graph, *, drops: bool, backend: ops.Backend = "cpu"
) -> tuple[GateInputs, AggregateInputs]:
    """Arguments of `open_rows` and `aggregate_rows` for a graph."""
    gates, device = HardConcrete(), graph.device
    num_nodes = graph.num_nodes
    shapes = [(num_nodes,), (num_nodes,), (graph.num_edges,), *[(num_nodes, 7)] * 2]
    scores = [
        torch.randn(*shape, device=device, requires_grad=True) for shape in shapes
    ]
    seed = torch.tensor([3], device=device)
    gate = gate_inputs(graph, scores, seed, gates, backend)
    outputs = [output.detach() for output in open_rows(*gate)]
    rows, (row_sum, penalty, *_) = OpenRows(*outputs[:NUM_SLOTS]), outputs[NUM_SLOTS:]
    rows.source_gate.requires_grad_()
    row_sum.requires_grad_()
    opened = SlottedEdges(graph, rows, row_sum, penalty, scores, seed, gates, backend)
    x = torch.randn(graph.num_nodes, 5, device=device, requires_grad=True)
    drop = (seed, 0.4, 9) if drops else (None, 0.0, 9)
    return gate, aggregate_inputs(opened, x, *drop)


def gates_both_ways(opened: SlottedEdges) -> tuple[dict, dict]:
    """Gates by (target, source), as the pass by target and that by source drew them."""
    rows, graph = opened.rows, opened.graph
    whole = rows.source_whole if len(rows.source_whole) else None
    targets = (graph.row_ptr, rows.src, rows.gate, rows.filled, None)
    sources = (graph.by_source.ptr, rows.dst, rows.source_gate)
    split = SPLIT[opened.backend]
    by_target = _gates(split, *targets)
    by_source = _gates(split, *sources, rows.source_filled, whole)
    return by_target, {(i, j): gate for (j, i), gate in by_source.items()}


def _gates(split: int, *slots: Tensor | None) -> dict[tuple[int, int], float]:
    """Gates by (row, column); those at the end of a piece are 1."""
    ptr, column, gate, filled, whole = (
        None if part is None else part.tolist() for part in slots
    )
    found, piece = {}, 0
    for row in range(len(ptr) - 1):
        begin, end = ptr[row], ptr[row + 1]
        for start in range(begin, max(end, begin + 1), split):
            past = min(start + split, end)
            for slot in range(start, start + filled[piece]):
                found[row, column[slot]] = gate[slot]
            for slot in range(past - (whole[piece] if whole else 0), past):
                found[row, column[slot]] = 1.0
            piece += 1
    return found


def losses(
    backend: ops.Backend, graph: Graph, x: Tensor, label: Tensor, device: str = "cpu"
) -> list[float]:
    """The losses of a short training run from fixed weights."""
    torch.manual_seed(0)
    model = SGAT(x.shape[1], 5, 3, backend=backend).to(device)
    graph, x, label = graph.to(device), x.to(device), label.to(device)
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
