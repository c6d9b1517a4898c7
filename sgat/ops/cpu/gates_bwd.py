"""The gradient of the gate pass by the scores and vectors of its nodes."""

import numpy as np

from sgat.ops.cpu.gates import GATE_WORK, shape_of
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import add_pieces, array, longest_piece, pieces
from sgat.ops.cpu.sums import add_vectors, finish_vectors, vector_pieces, vectors
from sgat.ops.operators.gates import GateGradInputs, GateGrads, OpenRows, gates_of
from sgat.ops.threads import ranges, run


@compiled
def open_rows_bwd_kernel_sources(
    first, last, ptr, slots, grad_gate, grad_row_sum, query, shape, grads
):
    """∂t of the pieces first to last by source, and ∂log α of their open edges.

    See `GateGradInputs` for the formula. ∂log α goes to the edge's slot
    by target; it is 0 where the gate is 1. ∂k is computed if not empty.
    """
    dst, gate, scaled, slot, count, _ = slots
    grad_src, grad_slot, grad_key = grads
    temperature, gamma, zeta = shape[0], shape[1], shape[2]
    paired = len(grad_key) > 0
    changes = np.empty(
        longest_piece(ptr, first, last) if paired else 0, grad_slot.dtype
    )
    for piece in range(first, last):
        begin = ptr[piece]
        past = begin + count[piece]
        score = 0.0
        for p in range(begin, past):
            z = np.float64(gate[p])
            change = np.float64(grad_row_sum[dst[p]])
            if len(scaled):
                change *= scaled[p] / z
            concrete = (z - gamma) / (zeta - gamma)
            slope = (zeta - gamma) * concrete * (1.0 - concrete) / temperature
            change = (change + grad_gate[p]) * slope if z < 1.0 else 0.0
            grad_slot[slot[p]] = change
            if paired:
                changes[p - begin] = change
            score += change
        grad_src[piece] = score
        if paired:
            targets = dst[begin:past]
            add_vectors(changes, query, targets, 0, past - begin, True, grad_key, piece)


@compiled
def open_rows_bwd_kernel_targets(first, last, ptr, slots, key, grad_slot, grads):
    """∂s = Σ ∂log α of the pieces first to last, ∂c in the order of the graph, and ∂q.

    The last two are computed if not empty.
    """
    count, slot_of, open_src = slots
    grad_dst, grad_edge, grad_query = grads
    for piece in range(first, last):
        begin, end = ptr[piece], ptr[piece + 1]
        total = 0.0
        for q in range(begin, begin + count[piece]):
            total += grad_slot[q]
        grad_dst[piece] = total
        if len(grad_query):
            past = begin + count[piece]
            add_vectors(grad_slot, key, open_src, begin, past, True, grad_query, piece)
        if len(grad_edge):
            for e in range(begin, end):
                grad_edge[e] = grad_slot[slot_of[e]] if slot_of[e] >= 0 else 0.0


def open_rows_bwd(inputs: GateGradInputs, grads: GateGrads) -> None:
    """Fill the outputs of the operator of this name."""
    num_nodes, num_edges = len(grads.dst_score), len(inputs.src)
    targets = pieces(inputs.targets, num_nodes)
    sources = pieces(inputs.sources, num_nodes)
    dtype = array(grads.dst_score).dtype
    grad_slot = np.empty(num_edges, dtype)
    queries = vector_pieces(grads.query, len(targets.row))
    keys = vector_pieces(grads.key, len(sources.row))
    by_source, by_target = np.empty(len(sources.row)), np.empty(len(targets.row))
    slots = OpenRows(*(array(slot) for slot in inputs.rows))
    gradients = inputs.grad_gate.contiguous(), inputs.grad_row_sum.contiguous()
    query, shape = vectors(inputs.query, dtype), shape_of(gates_of(inputs))
    given = sources.ptr, slots.by_source, *map(array, gradients), query, shape
    parts, found = ranges(sources.ptr, GATE_WORK), (by_source, grad_slot, keys)
    run(open_rows_bwd_kernel_sources, parts, *given, found)
    key, open_slots = vectors(inputs.key, dtype), (slots.filled, slots.edge, slots.src)
    found = by_target, array(grads.edge_score), queries
    given = targets.ptr, open_slots, key, grad_slot
    run(open_rows_bwd_kernel_targets, ranges(targets.ptr, 1), *given, found)
    add_pieces(by_source[:, None], sources.first, array(grads.src_score)[:, None])
    add_pieces(by_target[:, None], targets.first, array(grads.dst_score)[:, None])
    finish_vectors(keys, sources.first, grads.key)
    finish_vectors(queries, targets.first, grads.query)
