"""The gradient of the gate pass: its operator, what it saves and what it returns."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops.memory_pool import new_empty
from sgat.ops.operators.passes import kernels_of
from sgat.ops.operators.slots import OpenRows
from sgat.ops.reference import pair_scores


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
    kernels_of(backend).open_rows_bwd(
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


def save_open_rows(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep what the gradient of `open_rows` needs."""
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


def differentiate_open_rows(ctx: Any, *grads: Tensor | None) -> Any:
    """Gradients of the inputs of `open_rows` from those of its outputs."""
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
