"""The gate pass as an operator, and its gradient."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.graph.compressed_rows import index_type
from sgat.ops.operators.operator import gradients, operator
from sgat.ops.operators.pieces import SPLIT, unpacked
from sgat.ops.reference import pair_scores


class OpenRows(NamedTuple):
    """The slots of the open edges, which the gate pass fills and the others read.

    Open edges are compacted in place: those of node i fill the first slots of the
    extent that all edges of i have in the graph. Nothing is counted across rows, so no
    pass waits for another and no size leaves the device. Slots past the count of their
    row hold nothing to be read. `edge` and all by source are empty if no gradient is
    wanted, `scaled` and `source_scaled` if all weights are 1.
    """

    gate: Tensor  # gate z of each slot, by target, [E]
    src: Tensor  # source of each slot, [E]
    scaled: Tensor  # A_ij z_ij of each slot
    edge: Tensor  # slot of each edge, -1 if it is closed, [E]; empty on the GPU
    filled: Tensor  # number of open edges of each piece of a row, [N + E // split]
    dst: Tensor  # target of each slot, by source
    # Through these, and through the row sums, gradients reach the scores.
    source_gate: Tensor  # gate of each slot by source
    source_scaled: Tensor  # A_ij z_ij of each slot by source
    # Where a slot by source stands among the slots by target (CPU) or the edges of the
    # graph (GPU). There it is empty for scores in float32, unless edges have weights or
    # scores of their own, or gradients of vectors are wanted.
    source_edge: Tensor
    # Open edges of each piece of a row by source; half-open ones on the GPU, where
    # edges with gate 1 stand at the end of the piece, without gate and edge.
    source_filled: Tensor
    source_whole: Tensor  # number of those with gate 1; empty on the CPU

    @property
    def by_source(self) -> tuple[Tensor, ...]:
        """The slots by source, from `dst` on."""
        return self[5:]


NUM_SLOTS = len(OpenRows._fields)


class GateInputs(NamedTuple):
    """Inputs of the gate pass, see `sgat.ops.open_edges` for the formula.

    The pass itself takes vectors as `reference.rounded` does, here and in its gradient.
    `sources`, `source_dst` and `source_edge` are None if no gradient is wanted.
    """

    dst_score: Tensor  # score of each node as a target, [N]
    src_score: Tensor  # score of each node as a source, [N]
    edge_score: Tensor | None  # score of each edge, [E]
    query: Tensor | None  # vector of each node as a target, [N, R]
    key: Tensor | None  # vector of each node as a source, [N, R]
    src: Tensor  # source of each edge, [E]
    weight: Tensor | None  # weight of each edge, [E]; None if all are 1
    loop_weight: Tensor | None  # weight of each self-loop, [N]; None if all are 1
    node_id: Tensor | None  # name of each node in the noise, [N]; None for 0 … N-1
    seed: Tensor | None  # key of the noise, [1]; None for the gates of evaluation
    targets: Tensor  # the edges by target in pieces, see `cut_rows`
    sources: Tensor | None  # the edges by source in pieces
    source_dst: Tensor | None  # target of each edge in the order by source, [E]
    source_edge: Tensor | None  # position in the graph, in the order by source, [E]
    temperature: float  # β of the distribution
    gamma: float  # γ of the distribution
    zeta: float  # ζ of the distribution
    with_slopes: bool  # whether gradients of the penalty are wanted; needs sources
    with_pairs: bool  # whether gradients of the vectors are wanted; needs sources
    backend: str  # whose kernels run


class GateSums(NamedTuple):
    """Sums of the gate pass; the slopes are the gradients of the penalty Σ π_ij.

    The last two are empty unless `with_pairs`.
    """

    row_sum: Tensor  # S_i = A_ii + Σ_j A_ij z_ij, [N]
    penalty: Tensor  # Σ π_ij = Σ P(z_ij ≠ 0) over all edges, a scalar
    dst_slope: Tensor  # by s_i: Σ_j π_ij (1 - π_ij), [N]
    src_slope: Tensor  # by t_j: Σ_i π_ij (1 - π_ij), [N]; empty without sources, and
    # perhaps 0 unless `with_slopes`
    query_slope: Tensor  # by q_i: Σ_j π_ij (1 - π_ij) k_j, [N, R]
    key_slope: Tensor  # by k_j: Σ_i π_ij (1 - π_ij) q_i, [N, R]


def _empty(inputs: GateInputs) -> tuple[OpenRows, GateSums]:
    score, src, query = inputs.dst_score, inputs.src, inputs.query
    with_sources, on_cpu = inputs.sources is not None, inputs.backend == "cpu"
    weighted = inputs.weight is not None
    num_nodes, num_edges = score.shape[0], src.shape[0]
    num_source = num_edges if with_sources else 0
    num_pieces = num_nodes + num_edges // SPLIT[inputs.backend]
    num_source_pieces = num_pieces if with_sources else 0
    num_whole = 0 if on_cpu else num_source_pieces
    rank = query.shape[1] if query is not None and inputs.with_pairs else 0
    pair_shape = (num_nodes if rank else 0, rank)
    # Float64 is worth more digits than sums in integers have.
    is_double = score.dtype == torch.float64
    scored = inputs.edge_score is not None
    knows_edge = on_cpu or scored or weighted or is_double or rank > 0
    edge_type = index_type(num_edges)
    rows = OpenRows(
        gate=score.new_empty(num_edges),
        src=src.new_empty(num_edges),
        scaled=score.new_empty(num_edges if weighted else 0),
        edge=src.new_empty(num_source if on_cpu else 0, dtype=edge_type),
        filled=src.new_empty(num_pieces, dtype=torch.int32),
        dst=src.new_empty(num_source),
        source_gate=score.new_empty(num_source),
        source_scaled=score.new_empty(num_source if weighted else 0),
        source_edge=src.new_empty(num_source if knows_edge else 0, dtype=edge_type),
        source_filled=src.new_empty(num_source_pieces, dtype=torch.int32),
        source_whole=src.new_empty(num_whole, dtype=torch.int32),
    )
    sums = GateSums(
        row_sum=score.new_empty(num_nodes),
        penalty=score.new_empty(()),
        dst_slope=score.new_empty(num_nodes),
        src_slope=score.new_empty(num_nodes if with_sources else 0),
        query_slope=score.new_empty(pair_shape),
        key_slope=score.new_empty(pair_shape),
    )
    return rows, sums


open_rows = operator("open_rows", GateInputs, _empty)


class GateGradInputs(NamedTuple):
    """Inputs of the gradient of the gate pass.

        ∂log α_ij = (∂z_ij + A_ij ∂S_i) dz/dlog α     for 0 < z_ij < 1, else 0
        ∂q_i = Σ_j ∂log α_ij k_j,   ∂k_j = Σ_i ∂log α_ij q_i

    Fields without a comment are those of `GateInputs`; `query` and `key` are None if
    no gradient of them is wanted.
    """

    grad_gate: Tensor  # ∂z of each slot by source, [E]
    grad_row_sum: Tensor  # ∂S of each row, [N]
    query: Tensor | None
    key: Tensor | None
    src: Tensor
    weight: Tensor | None
    targets: Tensor
    sources: Tensor
    rows: list[Tensor]  # the slots, the fields of `OpenRows`
    temperature: float
    gamma: float
    zeta: float
    with_edges: bool  # whether the gradient of the score of each edge is wanted
    backend: str


def gates_of(inputs: GateInputs | GateGradInputs) -> HardConcrete:
    """The distribution of the gates."""
    return HardConcrete(inputs.temperature, inputs.gamma, inputs.zeta)


class GateGrads(NamedTuple):
    """Gradients of the scores and vectors; empty where not wanted."""

    dst_score: Tensor
    src_score: Tensor
    edge_score: Tensor
    query: Tensor
    key: Tensor


def _empty_grads(inputs: GateGradInputs) -> GateGrads:
    like, query = inputs.grad_row_sum, inputs.query
    pair_shape = (0, 0) if query is None else query.shape
    return GateGrads(
        like.new_empty(like.shape),
        like.new_empty(like.shape),
        like.new_empty(inputs.src.shape[0] if inputs.with_edges else 0),
        like.new_empty(pair_shape),
        like.new_empty(pair_shape),
    )


open_rows_bwd = operator("open_rows_bwd", GateGradInputs, _empty_grads)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    given = GateInputs(*inputs)
    rows, sums = OpenRows(*output[:NUM_SLOTS]), GateSums(*output[NUM_SLOTS:])
    fixed = rows._asdict()
    del fixed["source_gate"]
    ctx.mark_non_differentiable(*fixed.values(), *sums[2:])
    ctx.set_materialize_grads(False)
    ctx.shape = (given.temperature, given.gamma, given.zeta)
    ctx.with_pairs, ctx.backend = given.with_pairs, given.backend
    # The penalty of a score per edge needs the scores again.
    scored = given.edge_score is not None
    scores = given[:3] if scored else [None] * 3
    pair = (given.query, given.key) if scored or given.with_pairs else (None, None)
    edges = (given.src, given.weight, given.targets, given.sources)
    ctx.save_for_backward(*scores, *pair, *edges, *sums, *rows)


def _differentiate(ctx: Any, *grads: Tensor | None) -> Any:
    """Gradients of the inputs of `open_rows` from those of its outputs."""
    grad_gate = OpenRows(*grads[:NUM_SLOTS]).source_gate  # type: ignore[arg-type]
    grad_row_sum, grad_penalty, *_ = grads[NUM_SLOTS:]
    scores, edges = ctx.saved_tensors[:5], ctx.saved_tensors[5:9]
    sums, rows = GateSums(*ctx.saved_tensors[9:15]), ctx.saved_tensors[15:]
    with_edges = ctx.needs_input_grad[2]
    pair = scores[3:] if ctx.with_pairs else (None, None)
    found: list[Tensor | None] = [None] * 5
    if grad_gate is not None or grad_row_sum is not None:
        if grad_gate is None:
            grad_gate = torch.zeros_like(OpenRows(*rows).source_gate)
        if grad_row_sum is None:
            grad_row_sum = torch.zeros_like(sums.row_sum)
        given = grad_gate, grad_row_sum, *pair, *edges, list(rows), *ctx.shape
        found = list(open_rows_bwd(*given, with_edges, ctx.backend))
    wanted = [True, True, with_edges, ctx.with_pairs, ctx.with_pairs]
    if grad_penalty is not None:
        if torch.is_grad_enabled():
            # The slopes would count as constants, and the result be wrong.
            raise RuntimeError(
                "The penalty can be differentiated only once by this backend;"
                " backend='reference' differentiates it again."
            )
        edge_slope = None
        if with_edges:
            gates = HardConcrete(*ctx.shape)
            edge_slope = _edge_slope(scores, edges[0], edges[2], gates)
        slopes = (*sums[2:4], edge_slope, *sums[4:])
        found = [
            base if slope is None or not wants else _plus(base, slope, grad_penalty)
            for base, slope, wants in zip(found, slopes, wanted, strict=True)
        ]
    named = zip(GateGrads._fields, found, wanted, strict=True)
    return gradients(
        GateInputs, **{name: grad for name, grad, is_wanted in named if is_wanted}
    )


def _plus(base: Tensor | None, left: Tensor, right: Tensor) -> Tensor:
    return left * right if base is None else torch.addcmul(base, left, right)


def _edge_slope(
    scores: tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None],
    src: Tensor,
    targets: Tensor,
    gates: HardConcrete,
) -> Tensor:
    """π_ij (1 - π_ij) of every edge, the slope of the penalty by its score, [E]."""
    dst_score, src_score, edge_score, query, key = scores
    pieces = unpacked(targets, len(dst_score))
    dst = pieces.row.repeat_interleave(pieces.bound.diff(), output_size=len(src))
    log_alpha = dst_score[dst] + src_score[src] + edge_score
    if query is not None and key is not None:
        log_alpha += pair_scores(dst, src, query, key)
    probability = torch.sigmoid(log_alpha - gates.threshold)
    return probability * (1 - probability)


open_rows.register_autograd(_differentiate, setup_context=_save)
