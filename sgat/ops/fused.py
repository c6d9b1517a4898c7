"""The operations over compacted open edges, shared by the CPU and GPU kernels.

Each pass is a `torch.library` operator with a fake kernel and its gradient, so that
autograd, `torch.compile` and CUDA graphs see one node per pass. `cpu/` and `gpu.py`
supply the passes themselves, imported when a backend is first used.

Open edges are compacted in place: those of node i fill the first slots of the extent
that all edges of i have in the graph. Nothing is counted across rows, so no pass waits
for another and no size leaves the device.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise
from sgat.ops.noise import Seed
from sgat.ops.recycled import new_empty
from sgat.ops.reference import pair_scores, rounded

FusedBackend = Literal["cpu", "gpu"]

SPLIT = {"cpu": 1 << 13, "gpu": 1024}
"""Longest piece of a row that one GPU program, or one thread at a time, handles."""


OpenRowsOutput = tuple[
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
]
"""The fields of `OpenRows`, the row sums, the penalty and its four slopes."""


class OpenRows(NamedTuple):
    """The slots of the open edges, by target and by source.

    Slots past the count of their row hold nothing to be read.

    Attributes:
        gate: Gate z of each slot, by target, [E].
        src: Source of each slot, [E].
        scaled: A_ij z_ij of each slot; empty if all weights are 1.
        edge: Slot of each edge, -1 if it is closed, [E]; empty on the GPU.
        filled: Number of open edges of each piece of a row, [N + E // split].
        dst: Target of each slot, by source; this, `edge` and the next four are empty
            if no gradient is wanted.
        source_gate: Gate of each slot by source; through these, and through the row
            sums, gradients of a loss on outputs reach the scores.
        source_scaled: A_ij z_ij of each slot by source; empty if all weights are 1.
        source_edge: Where a slot by source stands among the slots by target (CPU) or
            the edges of the graph (GPU); empty there for scores in float32 unless edges
            have weights or scores of their own, or gradients of vectors are wanted.
        source_filled: Number of open edges of each piece of a row by source; on the
            GPU, of half-open edges.
        source_whole: Number of edges with gate 1 of each piece, which then stand at
            its end, without gate and edge; empty on the CPU.
    """

    gate: Tensor
    src: Tensor
    scaled: Tensor
    edge: Tensor
    filled: Tensor
    dst: Tensor
    source_gate: Tensor
    source_scaled: Tensor
    source_edge: Tensor
    source_filled: Tensor
    source_whole: Tensor


class OpenEdges(NamedTuple):
    """Open edges in slots; the attributes of `sgat.ops.reference.OpenEdges`.

    `edge` and `gate` are computed when asked for and wait for the device.
    Gradients reach the scores through `penalty`, `row_sum` and `aggregate`, not through
    `gate`.

    Attributes:
        graph: The graph they were drawn from.
        rows: The slots.
        row_sum: S_i = A_ii + Σ_j A_ij z_ij, [N].
        penalty: Expected number of open edges Σ P(z_ij ≠ 0) over all edges, a scalar.
        scores: dst_score, src_score, edge_score, query and key the gates were drawn
            with.
        seed: Key of the gate noise, one int64; None at evaluation.
        gates: Shape of the hard-concrete distribution.
        backend: Whose kernels drew them.
    """

    graph: Graph
    rows: OpenRows
    row_sum: Tensor
    penalty: Tensor
    scores: tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]
    seed: Tensor | None
    gates: HardConcrete
    backend: FusedBackend

    @property
    def num_open(self) -> Tensor:
        """Number of open edges, a scalar on the device."""
        return self.rows.filled.sum()

    @property
    def edge(self) -> Tensor:
        """Positions of the open edges in the graph, ascending, [O]."""
        graph, filled = self.graph, self._filled
        dst, num_nodes = graph.dst.long(), graph.num_nodes
        key = dst * num_nodes + graph.src
        return torch.searchsorted(
            key, dst[filled] * num_nodes + self.rows.src[filled].long()
        )

    @property
    def gate(self) -> Tensor:
        """Gate z_ij in (0, 1] of each open edge, [O]."""
        return self.rows.gate[self._filled]

    @property
    def _filled(self) -> Tensor:
        """Whether each slot holds an open edge, [E]."""
        graph, split = self.graph, SPLIT[self.backend]
        dst = graph.dst.long()
        pieces = ((graph.row_ptr.diff() - 1) // split + 1).clamp(1)
        first = torch.cat([pieces.new_zeros(1), pieces.cumsum(0)])
        position = torch.arange(graph.num_edges, device=graph.device)
        position = position - graph.row_ptr[dst]
        piece = first[dst] + torch.div(position, split, rounding_mode="floor")
        return position % split < self.rows.filled[piece]


def _kernels(backend: str) -> ModuleType:
    return importlib.import_module(f"sgat.ops.{backend}")


def seed_tensor(seed: Seed, device: torch.device) -> Tensor:
    """The seed as one int64 on the device, without waiting for it."""
    if isinstance(seed, int):
        bits = seed & (2**64 - 1)
        signed = bits - 2**64 if bits >= 2**63 else bits
        return torch.full((1,), signed, dtype=torch.int64, device=device)
    return seed.reshape(1).to(device, non_blocking=True)


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type sums run in: float32 at least."""
    return torch.promote_types(dtype, torch.float32)


@torch.library.custom_op("sgat::open_rows", mutates_args=())
def open_rows(
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None,
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    temperature: float,
    gamma: float,
    zeta: float,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> OpenRowsOutput:
    """Gate pass: the fields of `OpenRows`, then S, the penalty and its slopes.

    The vectors are `reference.rounded` by the pass itself, here and in its gradient.

    The slopes are the gradients of the penalty Σ π_ij: Σ_j π_ij (1 - π_ij) by s_i and
    Σ_i π_ij (1 - π_ij) by t_j, [N], that by source empty without sources; the same sums
    over the vectors, Σ_j π_ij (1 - π_ij) k_j by q_i and Σ_i π_ij (1 - π_ij) q_i by k_j,
    [N, R], empty unless `with_pairs`, which needs sources.
    """
    outputs = _empty_open_rows(
        dst_score,
        edge_score,
        query,
        row_ptr,
        src,
        weight,
        with_sources,
        with_pairs,
        backend,
    )
    _kernels(backend).open_rows(
        dst_score,
        src_score,
        edge_score,
        query,
        key,
        row_ptr,
        src,
        weight,
        loop_weight,
        node_id,
        seed,
        HardConcrete(temperature, gamma, zeta),
        with_sources,
        OpenRows(*outputs[:11]),
        *outputs[11:],
    )
    return outputs


def _empty_open_rows(
    dst_score: Tensor,
    edge_score: Tensor | None,
    query: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> OpenRowsOutput:
    score, scored, on_cpu = dst_score, edge_score is not None, backend == "cpu"
    rank = query.shape[1] if query is not None and with_pairs else 0
    pair_shape = (row_ptr.shape[0] - 1 if rank else 0, rank)
    num_nodes, num_edges = row_ptr.shape[0] - 1, src.shape[0]
    num_source = num_edges if with_sources else 0
    # Float64 is worth more digits than sums in integers have.
    is_double = score.dtype == torch.float64
    knows_edge = on_cpu or scored or weight is not None or is_double or rank > 0
    num_pieces = num_nodes + num_edges // SPLIT[backend]
    edge_type = torch.int32 if num_edges < 2**31 else torch.int64
    return (
        new_empty(score, num_edges),
        new_empty(src, num_edges),
        new_empty(score, 0 if weight is None else num_edges),
        new_empty(src, num_source if on_cpu else 0, dtype=edge_type),
        new_empty(src, num_pieces, dtype=torch.int32),
        new_empty(src, num_source),
        new_empty(score, num_source),
        new_empty(score, 0 if weight is None else num_source),
        new_empty(src, num_source if knows_edge else 0, dtype=edge_type),
        new_empty(src, num_pieces if with_sources else 0, dtype=torch.int32),
        new_empty(
            src, 0 if on_cpu or not with_sources else num_pieces, dtype=torch.int32
        ),
        new_empty(score, num_nodes),
        new_empty(score, ()),
        new_empty(score, num_nodes),
        new_empty(score, num_nodes if with_sources else 0),
        new_empty(score, pair_shape),
        new_empty(score, pair_shape),
    )


@open_rows.register_fake
def _(
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None,
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    temperature: float,
    gamma: float,
    zeta: float,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> Any:
    return _empty_open_rows(
        dst_score,
        edge_score,
        query,
        row_ptr,
        src,
        weight,
        with_sources,
        with_pairs,
        backend,
    )


@torch.library.custom_op("sgat::open_rows_bwd", mutates_args=())
def open_rows_bwd(
    grad_gate: Tensor,
    grad_row_sum: Tensor,
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    rows: list[Tensor],
    temperature: float,
    gamma: float,
    zeta: float,
    with_edges: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of s, t, c, q and k from those of the gates and row sums.

    That of c may be empty, and those of q and k are without `query` and `key`.

        ∂log α_ij = (∂z_ij + A_ij ∂S_i) dz/dlog α     for 0 < z_ij < 1, else 0
        ∂q_i = Σ_j ∂log α_ij k_j,   ∂k_j = Σ_i ∂log α_ij q_i
    """
    outputs = _empty_open_rows_bwd(grad_row_sum, query, src, with_edges)
    _kernels(backend).open_rows_bwd(
        grad_gate,
        grad_row_sum,
        query,
        key,
        row_ptr,
        src,
        weight,
        OpenRows(*rows),
        HardConcrete(temperature, gamma, zeta),
        *outputs,
    )
    return outputs


def _empty_open_rows_bwd(
    grad_row_sum: Tensor, query: Tensor | None, src: Tensor, with_edges: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    pair_shape = (0, 0) if query is None else query.shape
    return (
        new_empty(grad_row_sum, grad_row_sum.shape),
        new_empty(grad_row_sum, grad_row_sum.shape),
        new_empty(grad_row_sum, src.shape[0] if with_edges else 0),
        new_empty(grad_row_sum, pair_shape),
        new_empty(grad_row_sum, pair_shape),
    )


@open_rows_bwd.register_fake
def _(
    grad_gate: Tensor,
    grad_row_sum: Tensor,
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    rows: list[Tensor],
    temperature: float,
    gamma: float,
    zeta: float,
    with_edges: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return _empty_open_rows_bwd(grad_row_sum, query, src, with_edges)


def _save_open_rows(ctx: Any, inputs: Any, output: Any) -> None:
    edge_score, query, key, row_ptr, src, weight = inputs[2:8]
    slots, (row_sum, _, *slopes) = output[:11], output[11:]
    fixed = OpenRows(*slots)._asdict()
    del fixed["source_gate"]
    ctx.mark_non_differentiable(*fixed.values(), *slopes)
    ctx.set_materialize_grads(False)
    ctx.shape, ctx.with_pairs, ctx.backend = inputs[11:14], inputs[15], inputs[16]
    # The penalty of a score per edge needs the scores again.
    scores = [None] * 3 if edge_score is None else inputs[:3]
    needs_pair = ctx.with_pairs or edge_score is not None
    pair = (query, key) if needs_pair else (None, None)
    ctx.save_for_backward(
        *scores, *pair, row_ptr, src, weight, row_sum, *slopes, *slots
    )


def _open_rows_bwd(ctx: Any, *grads: Tensor | None) -> Any:
    grad_gate, grad_row_sum, grad_penalty = grads[6], grads[11], grads[12]
    scores, (row_ptr, src, weight, row_sum) = (
        ctx.saved_tensors[:5],
        ctx.saved_tensors[5:9],
    )
    slopes, slots = ctx.saved_tensors[9:13], ctx.saved_tensors[13:]
    with_edges = ctx.needs_input_grad[2]
    pair = scores[3:] if ctx.with_pairs else (None, None)
    found: list[Tensor | None] = [None] * 5
    if grad_gate is not None or grad_row_sum is not None:
        source_gate = OpenRows(*slots).source_gate
        found = list(
            open_rows_bwd(
                torch.zeros_like(source_gate) if grad_gate is None else grad_gate,
                torch.zeros_like(row_sum) if grad_row_sum is None else grad_row_sum,
                *pair,
                row_ptr,
                src,
                weight,
                list(slots),
                *ctx.shape,
                with_edges,
                ctx.backend,
            )
        )
    wanted = [True, True, with_edges, ctx.with_pairs, ctx.with_pairs]
    if grad_penalty is not None:
        if torch.is_grad_enabled():
            # The slopes would count as constants, and the result be wrong.
            raise RuntimeError(
                "The penalty can be differentiated only once by this backend;"
                " backend='reference' differentiates it again."
            )
        dst_slope, src_slope, query_slope, key_slope = slopes
        edge_slope = None
        if with_edges:
            edge_slope = _penalty_slope(scores, row_ptr, src, HardConcrete(*ctx.shape))
        every = (dst_slope, src_slope, edge_slope, query_slope, key_slope)
        found = [
            base if slope is None or not wants else _plus(base, slope, grad_penalty)
            for base, slope, wants in zip(found, every, wanted, strict=True)
        ]
    given = (
        grad if is_wanted else None
        for grad, is_wanted in zip(found, wanted, strict=True)
    )
    return *given, *[None] * 12


def _plus(base: Tensor | None, left: Tensor, right: Tensor) -> Tensor:
    return left * right if base is None else torch.addcmul(base, left, right)


def _penalty_slope(
    scores: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    row_ptr: Tensor,
    src: Tensor,
    gates: HardConcrete,
) -> Tensor:
    """π_ij (1 - π_ij) of every edge, [E]."""
    dst_score, src_score, edge_score, query, key = scores
    dst = torch.repeat_interleave(row_ptr.diff(), output_size=len(src))
    log_alpha = dst_score[dst] + src_score[src] + edge_score
    if query is not None and key is not None:
        log_alpha += pair_scores(dst, src, query, key)
    probability = torch.sigmoid(log_alpha - gates.threshold)
    return probability * (1 - probability)


open_rows.register_autograd(_open_rows_bwd, setup_context=_save_open_rows)


@torch.library.custom_op("sgat::aggregate_rows", mutates_args=())
def aggregate_rows(
    x: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted sum of each row's open neighbours, and what its gradient needs.

    Returns:
        The sums in the type of x, [N, D]; the same in float32, empty if x is as wide;
        which slots dropout kept, uint8, empty without dropout and on the GPU.
    """
    outputs = _empty_aggregate(x, graph_src, seed, backend)
    _kernels(backend).aggregate_rows(
        x,
        OpenRows(*rows),
        row_sum,
        row_ptr,
        graph_src,
        loop_weight,
        node_id,
        seed,
        dropout,
        stream,
        *outputs,
    )
    return outputs


def _empty_aggregate(
    x: Tensor, graph_src: Tensor, seed: Tensor | None, backend: str
) -> tuple[Tensor, Tensor, Tensor]:
    wide = wide_type(x.dtype)
    num_kept = graph_src.shape[0] if backend == "cpu" and seed is not None else 0
    return (
        new_empty(x, x.shape),
        new_empty(x, (0, 0) if wide == x.dtype else x.shape, dtype=wide),
        new_empty(x, num_kept, dtype=torch.uint8),
    )


@aggregate_rows.register_fake
def _(
    x: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_aggregate(x, graph_src, seed, backend)


@torch.library.custom_op("sgat::aggregate_rows_bwd", mutates_args=())
def aggregate_rows_bwd(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of `aggregate_rows` by x, the gates by source and the row sums.

    With the dropout mask m, and the last two empty unless `with_gates`:

        ∂x_j = Σ_i m_ij a_ij g_i
        ∂z_ij = m_ij A_ij g_i · x_j / S_i       for 0 < z_ij < 1; other slots hold
        ∂S_i = - g_i · out_i / S_i              nothing to be read
    """
    outputs = _empty_aggregate_bwd(x, graph_src, row_sum, with_gates)
    _kernels(backend).aggregate_rows_bwd(
        grad,
        x,
        out,
        kept,
        OpenRows(*rows),
        row_sum,
        row_ptr,
        graph_src,
        loop_weight,
        node_id,
        seed,
        dropout,
        stream,
        with_gates,
        *outputs,
    )
    return outputs


def _empty_aggregate_bwd(
    x: Tensor, graph_src: Tensor, row_sum: Tensor, with_gates: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return (
        new_empty(x, x.shape),
        new_empty(row_sum, graph_src.shape[0] if with_gates else 0),
        new_empty(row_sum, x.shape[0] if with_gates else 0),
    )


@aggregate_rows_bwd.register_fake
def _(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: list[Tensor],
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_aggregate_bwd(x, graph_src, row_sum, with_gates)


def _save_aggregate(ctx: Any, inputs: Any, output: Any) -> None:
    x, rows, *others = inputs[:8]
    out, wide_out, kept = output
    ctx.mark_non_differentiable(wide_out, kept)
    ctx.set_materialize_grads(False)
    ctx.options = inputs[8:]
    saved_out = out if wide_out.shape != out.shape else wide_out
    ctx.save_for_backward(x, saved_out, kept, *others, *rows)


def _aggregate_bwd(ctx: Any, grad: Tensor | None, *_: None) -> Any:
    grad_rows: list[Tensor | None] = [None] * 11
    if grad is None:
        return None, grad_rows, *[None] * 9
    x, out, kept, *others = ctx.saved_tensors[:9]
    rows = list(ctx.saved_tensors[9:])
    *options, backend = ctx.options
    with_gates = any(ctx.needs_input_grad[1]) or ctx.needs_input_grad[2]
    grad_x, grad_gate, grad_row_sum = aggregate_rows_bwd(
        grad.contiguous(), x, out, kept, rows, *others, *options, with_gates, backend
    )
    if with_gates:
        grad_rows[6] = grad_gate
    return grad_x, grad_rows, grad_row_sum if with_gates else None, *[None] * 8


aggregate_rows.register_autograd(_aggregate_bwd, setup_context=_save_aggregate)


def open_edges(
    graph: Graph,
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None = None,
    query: Tensor | None = None,
    key: Tensor | None = None,
    *,
    seed: Seed | None = None,
    gates: HardConcrete | None = None,
    backend: FusedBackend,
) -> OpenEdges:
    """See `sgat.ops.open_edges`."""
    gates = gates or HardConcrete()
    wide = torch.float32
    for score in (dst_score, src_score, edge_score, query, key):
        wide = wide if score is None else torch.promote_types(wide, score.dtype)
    scores = (
        dst_score.to(wide).contiguous(),
        src_score.to(wide).contiguous(),
        _in_type(edge_score, wide),
        _vectors_in_type(query, wide),
        _vectors_in_type(key, wide),
    )
    with_sources = torch.is_grad_enabled()
    with_pairs = with_sources and any(
        vector is not None and vector.requires_grad for vector in scores[3:]
    )
    seed_key = None if seed is None else seed_tensor(seed, graph.device)
    outputs = open_rows(
        *scores,
        graph.row_ptr,
        graph.src,
        _in_type(graph.weight, wide),
        _in_type(graph.loop_weight, wide),
        graph.node_id,
        seed_key,
        gates.temperature,
        gates.gamma,
        gates.zeta,
        with_sources,
        with_pairs,
        backend,
    )
    slots, row_sum, penalty = outputs[:11], outputs[11], outputs[12]
    return OpenEdges(
        graph, OpenRows(*slots), row_sum, penalty, scores, seed_key, gates, backend
    )


def _in_type(values: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if values is None else values.to(dtype).contiguous()


def _vectors_in_type(vector: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Vectors of a narrow type `rounded` before the passes take them for wide ones."""
    if vector is not None and dtype == torch.float64:
        vector = rounded(vector)
    return _in_type(vector, dtype)


def aggregate(
    opened: OpenEdges,
    x: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
) -> Tensor:
    """See `sgat.ops.aggregate`."""
    graph = opened.graph
    if torch.is_grad_enabled() and opened.rows.source_filled.shape[0] == 0:
        # Gates drawn without gradients know the edges by target only.
        opened = open_edges(
            graph,
            *opened.scores,
            seed=opened.seed,
            gates=opened.gates,
            backend=opened.backend,
        )
    drops = dropout > 0 and seed is not None
    key = seed_tensor(seed, graph.device) if drops and seed is not None else None
    out: Tensor
    out, _, _ = aggregate_rows(
        (x.flatten(1) if x.dim() > 1 else x[:, None]).contiguous(),
        list(opened.rows),
        opened.row_sum,
        graph.row_ptr,
        graph.src,
        _in_type(graph.loop_weight, opened.row_sum.dtype),
        graph.node_id,
        key,
        dropout,
        noise.ATTENTION_DROPOUT + layer,
        opened.backend,
    )
    return out.reshape(x.shape)
