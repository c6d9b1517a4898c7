"""Numba kernels of the passes in `fused.py`, and how threads share them.

A kernel is compiled without the interpreter's lock and handles the rows `first` to
`last`; a pool of `torch.get_num_threads()` threads takes one range of rows each. A row
is summed by one thread in the order of its edges, so results do not depend on the
number of threads. Sums and gates run in float64 or in the type of the features.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from sgat.gates import HardConcrete
from sgat.ops.fused import OpenRows
from sgat.ops.noise import KEY_STEPS, MULTIPLIERS, ROUNDS

Array = NDArray[Any]

M0, M1 = (np.uint64(multiplier) for multiplier in MULTIPLIERS)
STEP0, STEP1 = (np.uint64(step) for step in KEY_STEPS)
WORD, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
ONE, TWO, THREE, FOUR = (np.uint64(number) for number in (1, 2, 3, 4))

# Edges whose noise is drawn together: enough for vector lanes, few enough for a cache.
# Numbers past the last edge, up to a multiple of LANES, are drawn and not used.
PART, LANES = 256, 16
# Below this many multiply-adds a second thread costs more than it saves.
SERIAL_WORK = 1 << 20
# Edges for each row of partial sums by source; fixed, so that no result depends on the
# number of threads.
EDGES_PER_BLOCK, MAX_BLOCKS = 1 << 15, 32

# Sums may be reordered into vector lanes and fused with products; NaN and infinity keep
# their meaning.
compiled = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})


# Inlined, so that loops over it run in vector lanes: 14 times as fast with AVX-512.
@numba.njit(inline="always")
def philox(c0, c1, c2, c3, key0, key1):
    """The four words of `noise.philox`, each held in uint64."""
    for _ in range(ROUNDS):
        # The masks tell the compiler that 32 x 32 bits are multiplied.
        product0 = (c0 & WORD) * M0
        product1 = (c2 & WORD) * M1
        c0 = (product1 >> HALF) ^ c1 ^ key0
        c1 = product1 & WORD
        c2 = (product0 >> HALF) ^ c3 ^ key1
        c3 = product0 & WORD
        key0 = (key0 + STEP0) & WORD
        key1 = (key1 + STEP1) & WORD
    return c0, c1, c2, c3


@compiled
def split_key(seed):
    """Key words 0 and 1 of a seed."""
    bits = np.uint64(seed)
    return bits & WORD, bits >> HALF


@compiled
def node_name(node, node_id):
    """What names a node in the noise; without names, its number."""
    return np.uint64(node_id[node]) if len(node_id) else np.uint64(node)


@compiled
def uniform(word):
    """The number in (0, 1) of `noise.uniform` that a word stands for, in float64."""
    return (np.float64(word >> np.uint32(9)) + 0.5) * 2.0**-23


@compiled
def draw_words(dst_name, src, begin, end, node_id, stream, key0, key1, words):
    """Word 0 of philox((i, j, stream, graph), key) for src[begin] to src[end].

    The loop has no branch, so that it runs in vector lanes.
    """
    if len(node_id):
        for k in range(end - begin):
            words[k] = np.uint32(node_id[src[begin + k]])
    else:
        for k in range(end - begin):
            words[k] = np.uint32(src[begin + k])
    low, high = dst_name & WORD, dst_name >> HALF
    for k in range((end - begin + LANES - 1) // LANES * LANES):
        word = philox(low, np.uint64(words[k]), np.uint64(stream), high, key0, key1)[0]
        words[k] = np.uint32(word)


@compiled
def draw_loop(name, stream, key0, key1):
    """The number in (0, 1) of the self-loop of a node."""
    word = philox(
        name & WORD, name & WORD, np.uint64(stream), name >> HALF, key0, key1
    )[0]
    return uniform(np.uint32(word))


@compiled
def stretched(logit, shape):
    """The gate clamp(σ(logit / β)(ζ - γ) + γ, 0, 1)."""
    temperature, gamma, zeta = shape[0], shape[1], shape[2]
    concrete = 1.0 / (1.0 + math.exp(-logit / temperature))
    return min(max(concrete * (zeta - gamma) + gamma, 0.0), 1.0)


@compiled
def drawn_gate(log_alpha, odds_closed, u, shape):
    """The gate of training, by logarithms only if it is near or inside (0, 1).

    The gate is 0 up to odds u / (1 - u) of exp(τ₀ - log α) and 1 from odds of
    exp(τ₁ - log α), where shape[4] = exp(τ₁ - τ₀).
    """
    odds = u / (1.0 - u)
    if odds < odds_closed * (1.0 - 1e-9):
        return 0.0
    if odds > odds_closed * shape[4] * (1.0 + 1e-9):
        return 1.0
    return stretched(math.log(u) - math.log(1.0 - u) + log_alpha, shape)


@compiled
def open_rows_kernel(
    first,
    last,
    row_ptr,
    src,
    dst_score,
    src_score,
    edge_score,
    weight,
    loop_weight,
    node_id,
    seed,
    shape,
    open_src,
    gate,
    scaled,
    edge,
    count,
    row_sum,
    probability,
    dst_slope,
    src_slope,
):
    """Gates, the open ones at the front of each row, and the sums S, Σπ and Σπ(1-π).

    Covers rows first to last and adds Σπ(1-π) by source to its own `src_slope`, [N].
    """
    draws, weighted, scored = len(seed) > 0, len(weight) > 0, len(edge_score) > 0
    key0, key1 = split_key(seed[0]) if draws else (np.uint64(0), np.uint64(0))
    words = np.empty(PART, np.uint32)
    src_slope[:] = 0.0
    for i in range(first, last):
        begin, end = row_ptr[i], row_ptr[i + 1]
        dst_name = node_name(i, node_id)
        slot = begin
        total = np.float64(loop_weight[i]) if len(loop_weight) else 1.0
        expected, slope = 0.0, 0.0
        for part in range(begin, end, PART):
            past = min(part + PART, end)
            if draws:
                draw_words(dst_name, src, part, past, node_id, 0, key0, key1, words)
            for e in range(part, past):
                j = src[e]
                log_alpha = np.float64(dst_score[i]) + np.float64(src_score[j])
                if scored:
                    log_alpha += edge_score[e]
                odds_closed = math.exp(shape[3] - log_alpha)
                pi = 1.0 / (1.0 + odds_closed)
                expected += pi
                curvature = pi * (1.0 - pi)
                slope += curvature
                src_slope[j] += curvature
                if draws:
                    u = uniform(words[e - part])
                    z = drawn_gate(log_alpha, odds_closed, u, shape)
                else:
                    z = stretched(log_alpha, shape)
                if z > 0.0:
                    open_src[slot] = j
                    gate[slot] = z
                    edge[slot] = e
                    product = z
                    if weighted:
                        product = z * weight[e]
                        scaled[slot] = product
                    total += product
                    slot += 1
        count[i] = slot - begin
        row_sum[i] = total
        probability[i] = expected
        dst_slope[i] = slope
        open_src[slot:end] = 0
        gate[slot:end] = 0.0
        edge[slot:end] = 0
        if weighted:
            scaled[slot:end] = 0.0


@compiled
def transpose_rows_kernel(first, last, row_ptr, count, column, column_ptr, row, slot):
    """List the filled slots of each column, in the order of the rows.

    Covers columns first to last, and reads every row for it: placing is cheaper than
    sorting, and needs no second order of the edges.
    """
    filled = np.zeros(max(last - first, 0), np.int64)
    for i in range(len(count)):
        begin = row_ptr[i]
        for q in range(begin, begin + count[i]):
            j = column[q]
            if first <= j < last:
                p = column_ptr[j] + filled[j - first]
                row[p] = i
                slot[p] = q
                filled[j - first] += 1
    return filled


@compiled
def open_columns_kernel(
    first,
    last,
    row_ptr,
    count,
    open_src,
    gate,
    scaled,
    row_sum,
    source_ptr,
    dst,
    source_gate,
    source_scaled,
    source_slot,
    source_count,
):
    """The open edges once more by source; covers sources first to last."""
    filled = transpose_rows_kernel(
        first, last, row_ptr, count, open_src, source_ptr, dst, source_slot
    )
    for j in range(first, last):
        begin, end = source_ptr[j], source_ptr[j + 1]
        source_count[j] = filled[j - first]
        past = begin + source_count[j]
        for p in range(begin, past):
            total = row_sum[dst[p]]
            source_gate[p] = gate[source_slot[p]]
            source_scaled[p] = scaled[source_slot[p]] / total if total > 0 else 0.0
        dst[past:end] = 0
        source_gate[past:end] = 0.0
        source_slot[past:end] = 0
        source_scaled[past:end] = 0.0


@compiled
def add_rows(out, i, coefficient, x, pending, num_pending):
    """Add Σ coefficient · x[row] over up to four pending rows to out[i].

    Elements are indexed directly: a view of a row would count references.
    """
    if num_pending == 4:
        c0, c1, c2, c3 = coefficient[0], coefficient[1], coefficient[2], coefficient[3]
        j0, j1, j2, j3 = pending[0], pending[1], pending[2], pending[3]
        for d in range(out.shape[1]):
            out[i, d] += c0 * x[j0, d] + c1 * x[j1, d] + c2 * x[j2, d] + c3 * x[j3, d]
    else:
        for k in range(num_pending):
            c, j = coefficient[k], pending[k]
            for d in range(out.shape[1]):
                out[i, d] += c * x[j, d]


@compiled
def aggregate_rows_kernel(
    first,
    last,
    x,
    row_ptr,
    loop_weight,
    node_id,
    seed,
    open_src,
    scaled,
    count,
    row_sum,
    dropout,
    stream,
    out,
    kept,
):
    """out_i = (m_ii A_ii x_i + Σ_j m_ij A_ij z_ij x_j) / S_i for rows first to last."""
    drops = len(seed) > 0
    key0, key1 = split_key(seed[0]) if drops else (np.uint64(0), np.uint64(0))
    scale = 1.0 / (1.0 - dropout) if drops else 1.0
    # The reference compares its float32 numbers with the rate in float32.
    limit = np.float64(np.float32(dropout))
    coefficient, pending = np.empty(4, x.dtype), np.empty(4, np.int64)
    words = np.empty(PART, np.uint32)
    for i in range(first, last):
        begin = row_ptr[i]
        end = begin + count[i]
        inverse = scale / row_sum[i] if row_sum[i] > 0 else 0.0
        loop = inverse * loop_weight[i] if len(loop_weight) else inverse
        name = node_name(i, node_id)
        if drops and draw_loop(name, stream, key0, key1) < limit:
            loop = 0.0
        loop_typed = x.dtype.type(loop)
        for d in range(x.shape[1]):
            out[i, d] = loop_typed * x[i, d]
        num_pending = 0
        for part in range(begin, end, PART):
            past = min(part + PART, end)
            if drops:
                draw_words(
                    name, open_src, part, past, node_id, stream, key0, key1, words
                )
            for q in range(part, past):
                if drops:
                    kept[q] = uniform(words[q - part]) >= limit
                    if not kept[q]:
                        continue
                coefficient[num_pending] = scaled[q] * inverse
                pending[num_pending] = open_src[q]
                num_pending += 1
                if num_pending == 4:
                    add_rows(out, i, coefficient, x, pending, num_pending)
                    num_pending = 0
        add_rows(out, i, coefficient, x, pending, num_pending)
        if drops:
            kept[end : row_ptr[i + 1]] = 0


@compiled
def aggregate_rows_bwd_kernel_sums(first, last, grad, out, row_sum, grad_row_sum):
    """∂S_i = - g_i · out_i / S_i of rows first to last; 0 for an empty row."""
    for i in range(first, last):
        total = out.dtype.type(0)
        for d in range(out.shape[1]):
            total += grad[i, d] * out[i, d]
        grad_row_sum[i] = -total / row_sum[i] if row_sum[i] > 0 else 0.0


@compiled
def aggregate_rows_bwd_kernel_sources(
    first,
    last,
    grad,
    x,
    source_ptr,
    loop_weight,
    node_id,
    seed,
    dst,
    gate,
    coefficients,
    slot,
    count,
    row_sum,
    kept,
    dropout,
    stream,
    with_gates,
    grad_x,
    grad_gate,
):
    """∂x_j of sources first to last, and ∂z of their open edges, 0 where z is 1.

    See `fused.aggregate_rows_bwd` for the formulas.
    """
    drops = len(seed) > 0
    key0, key1 = split_key(seed[0]) if drops else (np.uint64(0), np.uint64(0))
    scale = 1.0 / (1.0 - dropout) if drops else 1.0
    # The reference compares its float32 numbers with the rate in float32.
    limit = np.float64(np.float32(dropout))
    coefficient, pending = np.empty(4, x.dtype), np.empty(4, np.int64)
    for j in range(first, last):
        loop = 1.0 / row_sum[j] if row_sum[j] > 0 else 0.0
        if len(loop_weight):
            loop *= loop_weight[j]
        name = node_name(j, node_id)
        if drops:
            loop_kept = draw_loop(name, stream, key0, key1) >= limit
            loop = loop * scale if loop_kept else 0.0
        loop_typed = x.dtype.type(loop)
        for d in range(x.shape[1]):
            grad_x[j, d] = loop_typed * grad[j, d]
        num_pending = 0
        begin = source_ptr[j]
        past = begin + count[j]
        for p in range(begin, past):
            i, z = dst[p], np.float64(gate[p])
            is_kept = not drops or kept[slot[p]] > 0
            a = np.float64(coefficients[p]) * scale if is_kept else 0.0
            if with_gates:
                dot = x.dtype.type(0)
                if z < 1.0 and is_kept:
                    for d in range(x.shape[1]):
                        dot += grad[i, d] * x[j, d]
                grad_gate[p] = a / z * dot
            if is_kept:
                coefficient[num_pending] = a
                pending[num_pending] = i
                num_pending += 1
                if num_pending == 4:
                    add_rows(grad_x, j, coefficient, grad, pending, num_pending)
                    num_pending = 0
        add_rows(grad_x, j, coefficient, grad, pending, num_pending)
        if with_gates:
            grad_gate[past : source_ptr[j + 1]] = 0.0


@compiled
def open_rows_bwd_kernel_sources(
    first,
    last,
    source_ptr,
    dst,
    gate,
    slot,
    count,
    weight,
    edge,
    grad_gate,
    grad_row_sum,
    shape,
    grad_src,
    grad_slot,
):
    """∂t_j of sources first to last, and ∂log α of their open edges.

    See `fused.open_rows_bwd` for the formula. ∂log α goes to the edge's slot by target;
    it is 0 where the gate is 1.
    """
    temperature, gamma, zeta = shape[0], shape[1], shape[2]
    for j in range(first, last):
        begin = source_ptr[j]
        score = 0.0
        for p in range(begin, begin + count[j]):
            q, z = slot[p], np.float64(gate[p])
            change = 0.0
            if z < 1.0:
                change = np.float64(grad_row_sum[dst[p]])
                if len(weight):
                    change *= weight[edge[q]]
                concrete = (z - gamma) / (zeta - gamma)
                slope = (zeta - gamma) * concrete * (1.0 - concrete) / temperature
                change = (change + grad_gate[p]) * slope
            grad_slot[q] = change
            score += change
        grad_src[j] = score


@compiled
def open_rows_bwd_kernel_targets(
    first, last, row_ptr, count, edge, grad_slot, grad_dst, grad_edge
):
    """∂s_i = Σ_j ∂log α_ij of rows first to last, and ∂c in the order of the graph."""
    for i in range(first, last):
        begin, end = row_ptr[i], row_ptr[i + 1]
        if len(grad_edge):
            grad_edge[begin:end] = 0.0
        total = 0.0
        for q in range(begin, begin + count[i]):
            total += grad_slot[q]
            if len(grad_edge):
                grad_edge[edge[q]] = grad_slot[q]
        grad_dst[i] = total


@compiled
def drop_features_kernel(first, last, x, node_id, seed, limit, scale, stream, out):
    """Dropout m ⊙ x of rows first to last; see `noise.feature_mask`."""
    key0, key1 = split_key(seed[0])
    num_columns = x.shape[1]
    factor = x.dtype.type(scale)
    zero = x.dtype.type(0)
    num_blocks = (num_columns + 7) // 8
    padded = (num_blocks + LANES - 1) // LANES * LANES
    words = np.empty((padded, 4), np.uint32)
    for i in range(first, last):
        name = node_name(i, node_id)
        low, high = name & WORD, name >> HALF
        for block in range(padded):
            w0, w1, w2, w3 = philox(
                low, np.uint64(block), np.uint64(stream), high, key0, key1
            )
            words[block, 0] = np.uint32(w0)
            words[block, 1] = np.uint32(w1)
            words[block, 2] = np.uint32(w2)
            words[block, 3] = np.uint32(w3)
        lanes = words.reshape(4 * padded)
        for pair in range(num_columns // 2):
            word = lanes[pair]
            k = 2 * pair
            even, odd = word & np.uint32(0xFFFF), word >> np.uint32(16)
            out[i, k] = x[i, k] * (factor if even >= limit else zero)
            out[i, k + 1] = x[i, k + 1] * (factor if odd >= limit else zero)
        if num_columns % 2:
            k = num_columns - 1
            even = lanes[k // 2] & np.uint32(0xFFFF)
            out[i, k] = x[i, k] * (factor if even >= limit else zero)


@compiled
def drop_entries_kernel(
    first, last, row_ptr, column, value, node_id, seed, limit, scale, stream, out
):
    """Dropout m ⊙ x of the entries of rows first to last; see `noise.feature_mask`."""
    key0, key1 = split_key(seed[0])
    factor = value.dtype.type(scale)
    zero = value.dtype.type(0)
    columns, lanes = np.empty(PART, np.uint32), np.empty(PART, np.int32)
    for i in range(first, last):
        name = node_name(i, node_id)
        low, high = name & WORD, name >> HALF
        for part in range(row_ptr[i], row_ptr[i + 1], PART):
            size = min(PART, row_ptr[i + 1] - part)
            for p in range(size):
                columns[p] = np.uint32(column[part + p])
            for p in range((size + LANES - 1) // LANES * LANES):
                k = np.uint64(columns[p])
                w0, w1, w2, w3 = philox(
                    low, k >> THREE, np.uint64(stream), high, key0, key1
                )
                left = w2 if k & FOUR else w0
                right = w3 if k & FOUR else w1
                word = right if k & TWO else left
                lanes[p] = np.int32((word >> ((k & ONE) << FOUR)) & np.uint64(0xFFFF))
            for p in range(size):
                out[part + p] = value[part + p] * (
                    factor if lanes[p] >= limit else zero
                )


@compiled
def sum_rows_kernel(first, last, row_ptr, column, entry, value, x, out):
    """out_i = Σ_p value[p] x[column[p]] over the entries p of rows first to last.

    With `entry`, the value of entry p stands at entry[p].
    """
    coefficient, pending = np.empty(4, x.dtype), np.empty(4, np.int64)
    for i in range(first, last):
        for d in range(out.shape[1]):
            out[i, d] = 0
        num_pending = 0
        for p in range(row_ptr[i], row_ptr[i + 1]):
            factor = value[entry[p]] if len(entry) else value[p]
            if factor == 0:
                continue
            coefficient[num_pending] = factor
            pending[num_pending] = column[p]
            num_pending += 1
            if num_pending == 4:
                add_rows(out, i, coefficient, x, pending, num_pending)
                num_pending = 0
        add_rows(out, i, coefficient, x, pending, num_pending)


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    # A forked process inherits the pool but not its threads.
    key = (os.getpid(), threads)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="sgat")
    return _pools[key]


def _ranges(row_ptr: Array, num_ranges: int) -> list[tuple[int, int]]:
    """Cut the rows into ranges with about as many entries (and rows) each."""
    num_rows = len(row_ptr) - 1
    if num_ranges <= 1 or num_rows <= 1:
        return [(0, num_rows)]
    work = row_ptr + np.arange(num_rows + 1)
    targets = np.arange(1, num_ranges) * (int(work[-1]) / num_ranges)
    cuts = np.searchsorted(work, targets).tolist()
    bounds = [0, *cuts, num_rows]
    return list(itertools.pairwise(bounds))


def _run(
    kernel: Callable[..., Any], ranges: list[tuple[int, int]], *arguments: Any
) -> None:
    """Call a kernel once for each range of rows, on as many threads."""
    if len(ranges) == 1:
        kernel(*ranges[0], *arguments)
        return
    pool = _pool(len(ranges))
    futures = [pool.submit(kernel, *bounds, *arguments) for bounds in ranges[1:]]
    kernel(*ranges[0], *arguments)
    for future in futures:
        future.result()


def _rows_for_threads(row_ptr: Array, width: int) -> list[tuple[int, int]]:
    work = (int(row_ptr[-1]) + len(row_ptr)) * width
    return _ranges(row_ptr, 1 if work < SERIAL_WORK else torch.get_num_threads())


def _array(tensor: Tensor | None, dtype: type = np.float32) -> Array:
    """The tensor's memory; an empty array for None."""
    return np.empty(0, dtype) if tensor is None else tensor.detach().numpy()


def _shape(gates: HardConcrete) -> Array:
    closed = gates.threshold
    whole = gates.temperature * math.log((1 - gates.gamma) / (gates.zeta - 1))
    return np.array(
        [
            gates.temperature,
            gates.gamma,
            gates.zeta,
            closed,
            math.exp(whole - closed),
        ]
    )


_column_ptrs = WeakIdKeyDictionary()


def column_ptr(column: Tensor, num_columns: int) -> Array:
    """Where the entries of each column begin when sorted by column, [columns + 1].

    Kept as long as `column` lives.
    """
    known = _column_ptrs.get(column)
    if known is None or len(known) != num_columns + 1:
        count = torch.bincount(column, minlength=num_columns)
        known = torch.cat([count.new_zeros(1), count.cumsum(0)]).numpy()
        _column_ptrs[column] = known
    return known


_transposed = WeakIdKeyDictionary()


def _by_column(
    row_ptr: Tensor, column: Tensor, num_columns: int
) -> tuple[Array, Array, Array]:
    """Pointers, rows and entries of a sparse matrix by column, kept with `column`."""
    known = _transposed.get(column)
    if known is None:
        pointers = column_ptr(column, num_columns)
        row = np.empty(len(column), np.int64)
        entry = np.empty(len(column), np.int64)
        rows = row_ptr.numpy()
        transpose_rows_kernel(
            0, num_columns, rows, np.diff(rows), column.numpy(), pointers, row, entry
        )
        known = _transposed[column] = (pointers, row, entry)
    return known


def _scaled(rows: OpenRows) -> Array:
    """A_ij z_ij of the slots by target: the gates themselves if all weights are 1."""
    return _array(rows.scaled if len(rows.scaled) else rows.gate)


def _wide(tensor: Tensor) -> Tensor:
    """The tensor in a type the kernels know: float32 or float64."""
    is_known = tensor.dtype in (torch.float32, torch.float64)
    return tensor if is_known else tensor.float()


def open_rows(
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    gates: HardConcrete,
    with_sources: bool,
    rows: OpenRows,
    row_sum: Tensor,
    penalty: Tensor,
    dst_slope: Tensor,
    src_slope: Tensor,
) -> None:
    """Fill the outputs of `fused.open_rows`."""
    pointers, num_nodes = row_ptr.numpy(), len(row_ptr) - 1
    num_blocks = min(max(len(src) // EDGES_PER_BLOCK, 1), MAX_BLOCKS)
    blocks = _ranges(pointers, num_blocks)
    slopes = np.empty((len(blocks), num_nodes))
    probability = np.empty(num_nodes)
    arguments = (
        pointers,
        src.numpy(),
        _array(dst_score),
        _array(src_score),
        _array(edge_score, dst_score.detach().numpy().dtype.type),
        _array(weight, dst_score.detach().numpy().dtype.type),
        _array(loop_weight, dst_score.detach().numpy().dtype.type),
        _array(node_id, np.int64),
        _array(seed, np.int64),
        _shape(gates),
        rows.src.numpy(),
        rows.gate.numpy(),
        rows.scaled.numpy(),
        rows.edge.numpy(),
        rows.filled.numpy(),
        row_sum.numpy(),
        probability,
        dst_slope.numpy(),
    )

    def gate_blocks(first: int, last: int) -> None:
        for block in range(first, last):
            open_rows_kernel(*blocks[block], *arguments, slopes[block])

    threads = min(torch.get_num_threads(), len(blocks))
    cuts = [len(blocks) * k // threads for k in range(threads + 1)]
    _run(gate_blocks, list(itertools.pairwise(cuts)))
    penalty.fill_(float(probability.sum()))
    if not with_sources:
        return
    src_slope.copy_(torch.from_numpy(slopes.sum(axis=0)))
    source_ptr = column_ptr(src, num_nodes)
    _run(
        open_columns_kernel,
        _rows_for_threads(source_ptr, 8),
        pointers,
        rows.filled.numpy(),
        rows.src.numpy(),
        rows.gate.numpy(),
        _scaled(rows),
        row_sum.numpy(),
        source_ptr,
        rows.dst.numpy(),
        rows.source_gate.numpy(),
        rows.source_scaled.numpy(),
        rows.source_edge.numpy(),
        rows.source_filled.numpy(),
    )


def open_rows_bwd(
    grad_gate: Tensor,
    grad_row_sum: Tensor,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    rows: OpenRows,
    gates: HardConcrete,
    grad_dst: Tensor,
    grad_src: Tensor,
    grad_edge: Tensor,
) -> None:
    """Fill the outputs of `fused.open_rows_bwd`."""
    pointers = row_ptr.numpy()
    source_ptr = column_ptr(src, len(grad_dst))
    grad_slot = np.empty(len(src), _array(grad_dst).dtype)
    _run(
        open_rows_bwd_kernel_sources,
        _rows_for_threads(source_ptr, 8),
        source_ptr,
        rows.dst.numpy(),
        _array(rows.source_gate),
        rows.source_edge.numpy(),
        rows.source_filled.numpy(),
        _array(weight, grad_slot.dtype.type),
        rows.edge.numpy(),
        _array(grad_gate.contiguous()),
        _array(grad_row_sum.contiguous()),
        _shape(gates),
        grad_src.numpy(),
        grad_slot,
    )
    _run(
        open_rows_bwd_kernel_targets,
        _rows_for_threads(pointers, 1),
        pointers,
        rows.filled.numpy(),
        rows.edge.numpy(),
        grad_slot,
        grad_dst.numpy(),
        grad_edge.numpy(),
    )


def aggregate_rows(
    x: Tensor,
    rows: OpenRows,
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    out: Tensor,
    wide_out: Tensor,
    kept: Tensor,
) -> None:
    """Fill the outputs of `fused.aggregate_rows`."""
    wide = _wide(x)
    total = out if wide is x else wide_out
    pointers = row_ptr.numpy()
    sums = _array(row_sum)
    _run(
        aggregate_rows_kernel,
        _rows_for_threads(pointers, x.shape[1]),
        _array(wide),
        pointers,
        _array(loop_weight, sums.dtype.type),
        _array(node_id, np.int64),
        _array(seed, np.int64),
        rows.src.numpy(),
        _scaled(rows),
        rows.filled.numpy(),
        sums,
        dropout,
        stream,
        total.numpy(),
        kept.numpy(),
    )
    if total is not out:
        out.copy_(total)


def aggregate_rows_bwd(
    grad: Tensor,
    x: Tensor,
    out: Tensor,
    kept: Tensor,
    rows: OpenRows,
    row_sum: Tensor,
    row_ptr: Tensor,
    graph_src: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    with_gates: bool,
    grad_x: Tensor,
    grad_gate: Tensor,
    grad_row_sum: Tensor,
) -> None:
    """Fill the outputs of `fused.aggregate_rows_bwd`."""
    wide_x, wide_grad = _wide(x), _wide(grad)
    total = grad_x if wide_x is x else torch.empty_like(wide_x)
    num_nodes, width = x.shape
    sums = _array(row_sum)
    source_ptr = column_ptr(graph_src, num_nodes)
    _run(
        aggregate_rows_bwd_kernel_sources,
        _rows_for_threads(source_ptr, width),
        _array(wide_grad),
        _array(wide_x),
        source_ptr,
        _array(loop_weight, sums.dtype.type),
        _array(node_id, np.int64),
        _array(seed, np.int64),
        rows.dst.numpy(),
        _array(rows.source_gate),
        rows.source_scaled.numpy(),
        rows.source_edge.numpy(),
        rows.source_filled.numpy(),
        sums,
        kept.numpy(),
        dropout,
        stream,
        with_gates,
        total.numpy(),
        grad_gate.numpy(),
    )
    if total is not grad_x:
        grad_x.copy_(total)
    if with_gates:
        _run(
            aggregate_rows_bwd_kernel_sums,
            _rows_for_threads(row_ptr.numpy(), 1),
            _array(wide_grad),
            _array(out),
            sums,
            grad_row_sum.numpy(),
        )


def _limit(rate: float) -> tuple[int, float]:
    """The 16-bit limit below which an entry is dropped, and the scale of the others.

    The scale is rounded to float32, as the mask of `noise.feature_mask` is.
    """
    limit = round(rate * 65536)
    return limit, float(np.float32(65536 / (65536 - limit)))


def drop_features(
    x: Tensor,
    node_id: Tensor | None,
    seed: Tensor,
    rate: float,
    stream: int,
    out: Tensor,
) -> None:
    """Fill the output of `fused.drop_features`."""
    wide = _wide(x)
    total = out if wide is x else torch.empty_like(wide)
    num_rows, num_columns = x.shape
    row_ptr = np.arange(num_rows + 1) * num_columns
    _run(
        drop_features_kernel,
        _rows_for_threads(row_ptr, 1),
        _array(wide),
        _array(node_id, np.int64),
        _array(seed, np.int64),
        *_limit(rate),
        stream,
        total.numpy(),
    )
    if total is not out:
        out.copy_(total)


def project_sparse(
    weight: Tensor,
    row_ptr: Tensor,
    column: Tensor,
    value: Tensor,
    node_id: Tensor | None,
    seed: Tensor | None,
    rate: float,
    stream: int,
    out: Tensor,
    dropped: Tensor,
) -> None:
    """Fill the outputs of `fused.project_sparse`."""
    wide = _wide(weight)
    total = out if wide is weight else torch.empty_like(out, dtype=wide.dtype)
    pointers = row_ptr.numpy()
    if seed is not None:
        _run(
            drop_entries_kernel,
            _rows_for_threads(pointers, 8),
            pointers,
            column.numpy(),
            _array(value),
            _array(node_id, np.int64),
            _array(seed, np.int64),
            *_limit(rate),
            stream,
            dropped.numpy(),
        )
        value = dropped
    _run(
        sum_rows_kernel,
        _rows_for_threads(pointers, weight.shape[1]),
        pointers,
        column.numpy(),
        np.empty(0, np.int64),
        _array(value),
        _array(wide),
        total.numpy(),
    )
    if total is not out:
        out.copy_(total)


def project_sparse_bwd(
    grad: Tensor, row_ptr: Tensor, column: Tensor, value: Tensor, out: Tensor
) -> None:
    """Fill the output of `fused.project_sparse_bwd`."""
    wide = _wide(grad)
    total = out if wide is grad else torch.empty_like(out, dtype=wide.dtype)
    pointers, row, entry = _by_column(row_ptr, column, len(out))
    _run(
        sum_rows_kernel,
        _rows_for_threads(pointers, grad.shape[1]),
        pointers,
        row,
        entry,
        _array(value),
        _array(wide),
        total.numpy(),
    )
    if total is not out:
        out.copy_(total)
