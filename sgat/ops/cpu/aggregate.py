"""Weighted sums of each row's open neighbours, and their gradients."""

import numpy as np
import torch

from sgat.ops.cpu.lanes import (
    PART,
    compiled,
    draw_loop,
    draw_words,
    node_name,
    split_key,
    uniform,
)
from sgat.ops.cpu.pieces import add_rows, array, longest_piece, noise_key, pieces, wide
from sgat.ops.cpu.sums import sum_piece
from sgat.ops.operators.aggregate import (
    Aggregated,
    AggregateGradInputs,
    AggregateGrads,
    AggregateInputs,
)
from sgat.ops.operators.gates import OpenRows
from sgat.ops.threads import ranges, run


@compiled
def aggregate_rows_kernel(
    first, last, cut, x, loop_weight, noise, slots, row_sum, outputs
):
    """out_i = (m_ii A_ii x_i + Σ_j m_ij A_ij z_ij x_j) / S_i for pieces first to last.

    The first piece of a row has the loop; sums of a split row's go to `partial`.
    """
    ptr, row, row_first, place = cut
    node_id, seed, dropout, stream = noise
    open_src, scaled, count = slots
    out, partial, kept = outputs
    drops = len(seed) > 0
    key0, key1 = split_key(seed[0]) if drops else (np.uint64(0), np.uint64(0))
    scale = 1.0 / (1.0 - dropout) if drops else 1.0
    # The reference compares its float32 numbers with the rate in float32.
    limit = np.float64(np.float32(dropout))
    longest = longest_piece(ptr, first, last) if drops else 0
    kept_src = np.empty(longest, open_src.dtype)
    kept_scaled = np.empty(longest, scaled.dtype)
    words = np.empty(PART, np.uint32)
    zero = x.dtype.type(0)
    for piece in range(first, last):
        i, begin = row[piece], ptr[piece]
        end = begin + count[piece]
        factor = x.dtype.type(scale / row_sum[i] if row_sum[i] > 0 else 0.0)
        loop, rest = zero, (partial, place[piece])
        if piece == row_first[i]:
            loop = x.dtype.type(loop_weight[i] if len(loop_weight) else 1.0)
        if not drops:
            sum_piece(
                *(x, i, loop, x, open_src, scaled, None, begin, end),
                *(factor, out, i, rest),
            )
            continue
        name = node_name(i, node_id)
        if draw_loop(name, stream, key0, key1) < limit:
            loop = zero
        size = 0
        for part in range(begin, end, PART):
            past = min(part + PART, end)
            draw_words(name, open_src, part, past, node_id, stream, key0, key1, words)
            for q in range(part, past):
                kept[q] = uniform(words[q - part]) >= limit
                kept_src[size] = open_src[q]
                kept_scaled[size] = scaled[q]
                size += kept[q]
        kept[end : ptr[piece + 1]] = 0
        sum_piece(
            *(x, i, loop, x, kept_src, kept_scaled, None, 0, size),
            *(factor, out, i, rest),
        )


@compiled
def aggregate_rows_bwd_kernel(
    first, last, cut, features, loop_weight, noise, slots, inverse, with_gates, grads
):
    """∂x of the pieces first to last by source, ∂z of their open edges, and ∂S.

    See `AggregateGradInputs` for the formulas. ∂z is 0 where z is 1.
    """
    ptr, source, row_first, place = cut
    grad, x, out = features
    node_id, seed, dropout, stream = noise
    dst, gate, scaled, slot, count, kept = slots
    grad_x, partial, grad_gate, grad_row_sum = grads
    drops = len(seed) > 0
    key0, key1 = split_key(seed[0]) if drops else (np.uint64(0), np.uint64(0))
    # The reference compares its float32 numbers with the rate in float32.
    limit = np.float64(np.float32(dropout))
    scale = 1.0 / (1.0 - dropout) if drops else 1.0
    longest = longest_piece(ptr, first, last) if drops else 0
    kept_dst, kept_scaled = np.empty(longest, dst.dtype), np.empty(longest, gate.dtype)
    zero, factor = x.dtype.type(0), x.dtype.type(scale)
    width = x.shape[1]
    for piece in range(first, last):
        j, begin = source[piece], ptr[piece]
        past = begin + count[piece]
        loop, is_first, rest = zero, piece == row_first[j], (partial, place[piece])
        if is_first:
            loop = x.dtype.type(
                inverse[j] * (loop_weight[j] if len(loop_weight) else 1)
            )
            if drops:
                drawn = draw_loop(node_name(j, node_id), stream, key0, key1)
                loop = loop if drawn >= limit else zero
        if drops:
            size = 0
            for p in range(begin, past):
                kept_dst[size] = dst[p]
                kept_scaled[size] = scaled[p]
                size += kept[slot[p]] > 0
            sum_piece(
                *(grad, j, loop, grad, kept_dst, kept_scaled, inverse, 0, size),
                *(factor, grad_x, j, rest),
            )
        else:
            sum_piece(
                *(grad, j, loop, grad, dst, scaled, inverse, begin, past),
                *(factor, grad_x, j, rest),
            )
        if not with_gates:
            continue
        for p in range(begin, past):
            is_kept = not drops or kept[slot[p]] > 0
            dot = zero
            if gate[p] < 1 and is_kept:
                i = dst[p]
                for d in range(width):
                    dot += grad[i, d] * x[j, d]
                dot *= scaled[p] / gate[p] * inverse[i] * factor
            grad_gate[p] = dot
        for p in range(past, ptr[piece + 1]):
            grad_gate[p] = 0
        if is_first:
            total = zero
            for d in range(width):
                total += grad[j, d] * out[j, d]
            grad_row_sum[j] = -total * inverse[j]


def aggregate_rows(inputs: AggregateInputs, outputs: Aggregated) -> None:
    """Fill the outputs of the operator of this name."""
    x, out, slots = inputs.x, outputs.out, OpenRows(*map(array, inputs.rows))
    wide_x = wide(x)
    total = out if wide_x is x else outputs.wide_out
    targets = pieces(inputs.targets, len(x))
    sums = array(inputs.row_sum)
    partial = np.empty((targets.num_places, x.shape[1]), array(wide_x).dtype)
    loop_weight = array(inputs.loop_weight, sums.dtype)
    noise = *noise_key(inputs), inputs.dropout, inputs.stream
    scaled = slots.scaled if len(slots.scaled) else slots.gate
    by_target = slots.src, scaled, slots.filled
    given = targets[:4], array(wide_x), loop_weight, noise, by_target, sums
    found = array(total), partial, array(outputs.kept)
    run(aggregate_rows_kernel, ranges(targets.ptr, x.shape[1]), *given, found)
    if targets.num_places:
        add_rows(targets.first, targets.place, partial, array(total))
    if total is not out:
        out.copy_(total)


def aggregate_rows_bwd(inputs: AggregateGradInputs, grads: AggregateGrads) -> None:
    """Fill the outputs of the operator of this name."""
    x, slots = inputs.x, OpenRows(*map(array, inputs.rows))
    wide_x, wide_grad = wide(x), wide(inputs.grad)
    total = grads.x if wide_x is x else torch.empty_like(wide_x)
    sources = pieces(inputs.sources, len(x))
    sums = array(inputs.row_sum)
    inverse = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
    partial = np.empty((sources.num_places, x.shape[1]), array(wide_x).dtype)
    features = array(wide_grad), array(wide_x), array(inputs.out)
    loop_weight = array(inputs.loop_weight, sums.dtype)
    noise = *noise_key(inputs), inputs.dropout, inputs.stream
    gate = slots.source_gate
    scaled = slots.source_scaled if len(slots.source_scaled) else gate
    order = slots.source_edge, slots.source_filled, array(inputs.kept)
    given = sources[:4], features, loop_weight, noise
    found = array(total), partial, array(grads.gate), array(grads.row_sum)
    rest = (slots.dst, gate, scaled, *order), inverse, inputs.with_gates, found
    run(aggregate_rows_bwd_kernel, ranges(sources.ptr, x.shape[1]), *given, *rest)
    if sources.num_places:
        add_rows(sources.first, sources.place, partial, array(total))
    if total is not grads.x:
        grads.x.copy_(total)
