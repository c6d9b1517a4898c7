"""The gate pass: gates and their sums, by target and by source.

Each loop over a part has a function of its own, so that the compiler puts it into
vector lanes: among others it cannot tell that arrays do not overlap.
"""

import numpy as np

from sgat.gates import HardConcrete
from sgat.ops.cpu.lanes import (
    HALF,
    PART,
    WORD,
    compiled,
    lane_exp,
    lane_log,
    name_words,
    node_name,
    padded,
    philox,
    split_key,
)
from sgat.ops.cpu.pieces import Array, add_pieces, array, noise_key, pieces
from sgat.ops.cpu.sums import (
    add_products,
    add_vectors,
    finish_vectors,
    vector_pieces,
    vectors,
)
from sgat.ops.operators.gates import GateInputs, GateSums, OpenRows, gates_of
from sgat.ops.threads import blocks, ranges, run

# What one edge of the gate pass costs, in multiply-adds.
GATE_WORK = 16


def shape_of(gates: HardConcrete) -> Array:
    """The numbers β, γ, ζ and τ of the distribution."""
    numbers = (gates.temperature, gates.gamma, gates.zeta, gates.threshold)
    return np.array(numbers)


@compiled
def chances(log_alpha, threshold, size, chance):
    """π = σ(log α - τ) = P(z ≠ 0)."""
    one = chance.dtype.type(1)
    for k in range(size):
        chance[k] = one / (one + lane_exp(threshold - log_alpha[k]))


@compiled
def draw_logits(low, high, words, key0, key1, size, log_alpha):
    """Add log u - log(1 - u) with u of philox((i, j, 0, graph), key)."""
    for k in range(size):
        i, j, graph = np.uint64(low[k]), np.uint64(words[k]), np.uint64(high[k])
        word = philox(i, j, np.uint64(0), graph, key0, key1)[0]
        words[k] = np.uint32(word)
    one, half = log_alpha.dtype.type(1), log_alpha.dtype.type(0.5)
    unit = log_alpha.dtype.type(2.0**-23)
    for k in range(size):
        # Exact in float32, and so is 1 - u.
        u = (log_alpha.dtype.type(np.int32(words[k] >> np.uint32(9))) + half) * unit
        log_alpha[k] += lane_log(u / (one - u))


@compiled
def stretch(logit, shape, size, gate):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1), and 0 if it is not a number."""
    zero, one = gate.dtype.type(0), gate.dtype.type(1)
    slope = gate.dtype.type(-1.0 / shape[0])
    gamma, width = gate.dtype.type(shape[1]), gate.dtype.type(shape[2] - shape[1])
    for k in range(size):
        z = min(width / (one + lane_exp(logit[k] * slope)) + gamma, one)
        gate[k] = z if z > zero else zero


@compiled
def add_scores(score, index, begin, size, log_alpha):
    """Add score[index[begin + k]] to each log α."""
    for k in range(size):
        log_alpha[k] += score[index[begin + k]]


@compiled
def sum_slopes(chance, begin, end):
    """Σ π (1 - π), in float64."""
    total = 0.0
    for k in range(begin, end):
        pi = np.float64(chance[k])
        total += pi * (1.0 - pi)
    return total


@compiled
def slopes(chance, size, steep):
    """π (1 - π)."""
    for k in range(size):
        steep[k] = chance[k] * (chance.dtype.type(1) - chance[k])


@compiled
def sum_wide(values, begin, end):
    """Σ values, in float64."""
    total = 0.0
    for k in range(begin, end):
        total += np.float64(values[k])
    return total


@compiled
def copy_slots(values, slot, begin, end, out):
    """out[p] = values[slot[p]] for begin ≤ p < end."""
    for p in range(begin, end):
        out[p] = values[slot[p]]


@compiled
def open_rows_kernel(
    first, last, cut, src, scores, pair, weight, noise, shape, slots, sums
):
    """Gates, the open ones at the front of each piece, and Σ Az, Σπ and Σπ(1-π).

    Covers the pieces first to last, whose edges are taken PART by PART: arithmetic runs
    over all edges of a part, whatever their rows. `slot_of` and `query_slope`, which is
    Σπ(1-π)k, are filled if not empty.
    """
    ptr, row = cut
    dst_score, src_score, edge_score = scores
    query, key = pair
    node_id, seed = noise
    open_src, gate, scaled, slot_of, count = slots
    total, expected, slope, query_slope = sums
    dtype = dst_score.dtype
    draws, weighted, scored = len(seed) > 0, len(weight) > 0, len(edge_score) > 0
    paired, sloped = len(query) > 0, len(query_slope) > 0
    steep = np.empty(PART if sloped else 0, dtype)
    key0, key1 = split_key(seed[0]) if draws else (np.uint64(0), np.uint64(0))
    low, high = np.empty(PART, np.uint32), np.empty(PART, np.uint32)
    words = np.empty(PART, np.uint32)
    log_alpha, chance = np.empty(PART, dtype), np.empty(PART, dtype)
    z = np.empty(PART, dtype)
    product = np.empty(PART if weighted else 0, dtype)
    threshold = dtype.type(shape[3])
    begin, end = ptr[first], ptr[last]
    piece, slot = first, begin
    opened, sum_chance, sum_slope = 0.0, 0.0, 0.0
    # An empty piece after the last edge is closed by one more, empty, part.
    for part in range(begin, end + 1, PART):
        past = min(part + PART, end)
        size = padded(past - part)
        p, e = piece, part
        while e < past:
            until = min(ptr[p + 1], past)
            name = node_name(row[p], node_id)
            name_low, name_high = np.uint32(name & WORD), np.uint32(name >> HALF)
            score = dst_score[row[p]]
            for k in range(e - part, until - part):
                low[k] = name_low
                high[k] = name_high
                log_alpha[k] = score
            e = until
            if ptr[p + 1] == e:
                p += 1
        add_scores(src_score, src, part, past - part, log_alpha)
        if paired:
            p, e = piece, part
            while e < past:
                until = min(ptr[p + 1], past)
                add_products(query, row[p], key, src, e, until, log_alpha, part)
                e = until
                if ptr[p + 1] == e:
                    p += 1
        if scored:
            for k in range(past - part):
                log_alpha[k] += edge_score[part + k]
        chances(log_alpha, threshold, size, chance)
        if sloped:
            slopes(chance, past - part, steep)
        if draws:
            name_words(src, part, past, node_id, words)
            draw_logits(low, high, words, key0, key1, size, log_alpha)
        stretch(log_alpha, shape, size, z)
        if weighted:
            for k in range(past - part):
                product[k] = z[k] * weight[part + k]
        e = part
        while piece < last:
            until = min(ptr[piece + 1], past)
            sum_chance += sum_wide(chance, e - part, until - part)
            sum_slope += sum_slopes(chance, e - part, until - part)
            if sloped:
                sources, is_first = src[part:past], e == ptr[piece]
                add_vectors(
                    *(steep, key, sources, e - part, until - part, is_first),
                    *(query_slope, piece),
                )
            if weighted:
                # In a sum of its own, for the bits of a graph without weights.
                opened += sum_wide(product, e - part, until - part)
                p = slot
                for k in range(e - part, until - part):
                    scaled[p] = product[k]
                    p += z[k] > 0
            else:
                opened += sum_wide(z, e - part, until - part)
            for k in range(e - part, until - part):
                open_src[slot] = src[part + k]
                gate[slot] = z[k]
                if len(slot_of):
                    slot_of[part + k] = slot if z[k] > 0 else -1
                slot += z[k] > 0
            e = until
            if e < ptr[piece + 1]:
                break
            count[piece] = slot - ptr[piece]
            total[piece], expected[piece], slope[piece] = opened, sum_chance, sum_slope
            opened, sum_chance, sum_slope = 0.0, 0.0, 0.0
            piece += 1
            slot = e


@compiled
def finish_rows_kernel(first, loop_weight, total, expected, slope, row_sum, dst_slope):
    """S and Σπ(1-π) of each row from its pieces; returns Σπ over all."""
    everything = 0.0
    for i in range(len(row_sum)):
        added = np.float64(loop_weight[i]) if len(loop_weight) else 1.0
        steepness = 0.0
        for p in range(first[i], first[i + 1]):
            added += total[p]
            steepness += slope[p]
            everything += expected[p]
        row_sum[i] = added
        dst_slope[i] = steepness
    return everything


@compiled
def column_slopes_kernel(first, last, cut, order, scores, pair, shape, sums):
    """Σπ(1-π) of the pieces first to last by source, and Σπ(1-π)q if wanted."""
    ptr, source = cut
    row, entry = order
    dst_score, src_score, edge_score = scores
    query, key = pair
    slope, key_slope = sums
    paired, sloped = len(query) > 0, len(key_slope) > 0
    dtype = dst_score.dtype
    threshold = dtype.type(shape[3])
    log_alpha, chance = np.zeros(PART, dtype), np.empty(PART, dtype)
    steep = np.empty(PART if sloped else 0, dtype)
    for piece in range(first, last):
        begin, end = ptr[piece], ptr[piece + 1]
        if sloped:
            key_slope[piece] = 0
        score = src_score[source[piece]]
        steepness = 0.0
        for part in range(begin, end, PART):
            size = min(part + PART, end) - part
            for k in range(size):
                log_alpha[k] = score + dst_score[row[part + k]]
            if paired:
                j, until = source[piece], part + size
                add_products(key, j, query, row, part, until, log_alpha, part)
            if len(edge_score):
                add_scores(edge_score, entry, part, size, log_alpha)
            chances(log_alpha, threshold, padded(size), chance)
            steepness += sum_slopes(chance, 0, size)
            if sloped:
                slopes(chance, size, steep)
                targets = row[part : part + size]
                is_first = part == begin
                add_vectors(steep, query, targets, 0, size, is_first, key_slope, piece)
        slope[piece] = steepness


@compiled
def open_columns_kernel(first, last, ptr, order, slots, source_slots):
    """The open edges of the pieces first to last by source."""
    row, entry = order
    slot_of, gate, scaled = slots
    dst, source_gate, source_scaled, source_slot, count, _ = source_slots
    for piece in range(first, last):
        begin, end = ptr[piece], ptr[piece + 1]
        slot = begin
        for p in range(begin, end):
            q = slot_of[entry[p]]
            dst[slot] = row[p]
            source_slot[slot] = q
            slot += q >= 0
        count[piece] = slot - begin
    # Not in the loop before: slots just written one by one are slow to load as vectors.
    for piece in range(first, last):
        begin, past = ptr[piece], ptr[piece] + count[piece]
        copy_slots(gate, source_slot, begin, past, source_gate)
        if len(source_scaled):
            copy_slots(scaled, source_slot, begin, past, source_scaled)


def open_rows(inputs: GateInputs, rows: OpenRows, sums: GateSums) -> None:
    """Fill the outputs of the operator of this name."""
    num_nodes = len(inputs.dst_score)
    targets = pieces(inputs.targets, num_nodes)
    num_pieces = len(targets.row)
    # The counts have room for every possible cut; the rest stays 0.
    rows.filled[num_pieces:].zero_()
    dtype = array(inputs.dst_score).dtype
    scores = tuple(array(score, dtype) for score in inputs[:3])
    pair = (vectors(inputs.query, dtype), vectors(inputs.key, dtype))
    slots = OpenRows(*(array(slot) for slot in rows))
    shape = shape_of(gates_of(inputs))
    noise = noise_key(inputs)
    by_target = slots.src, slots.gate, slots.scaled, slots.edge, slots.filled
    total, expected, slope = np.empty((3, num_pieces))
    vector_parts = vector_pieces(sums.query_slope, num_pieces)
    found = total, expected, slope, vector_parts
    cut, weight = (targets.ptr, targets.row), array(inputs.weight, dtype)
    given = cut, array(inputs.src), scores, pair, weight, noise, shape
    run(open_rows_kernel, blocks(targets.ptr), *given, by_target, found)
    finish_vectors(vector_parts, targets.first, sums.query_slope)
    by_row = array(sums.row_sum), array(sums.dst_slope)
    looped = array(inputs.loop_weight, dtype)
    sums.penalty.fill_(
        finish_rows_kernel(targets.first, looped, total, expected, slope, *by_row)
    )
    if inputs.sources is None:
        return
    sources = pieces(inputs.sources, num_nodes)
    order = (array(inputs.source_dst), array(inputs.source_edge))
    num_pieces = len(sources.row)
    rows.source_filled[num_pieces:].zero_()
    by_source = ranges(sources.ptr, GATE_WORK)
    if inputs.with_slopes:
        source_slope = np.empty(num_pieces)
        vector_parts = vector_pieces(sums.key_slope, num_pieces)
        cut, found = (sources.ptr, sources.row), (source_slope, vector_parts)
        run(column_slopes_kernel, by_source, cut, order, scores, pair, shape, found)
        finish_vectors(vector_parts, sources.first, sums.key_slope)
        slope = array(sums.src_slope)[:, None]
        add_pieces(source_slope[:, None], sources.first, slope)
    else:
        sums.src_slope.zero_()
    by_target = slots.edge, slots.gate, slots.scaled
    given = sources.ptr, order, by_target, slots.by_source
    run(open_columns_kernel, by_source, *given)
