"""Feature dropout, and the projection of sparse features."""

import numpy as np
import torch
from torch import Tensor

from sgat.ops.cpu.lanes import (
    HALF,
    PART,
    WORD,
    compiled,
    node_name,
    padded,
    philox,
    split_key,
)
from sgat.ops.cpu.pieces import (
    Array,
    PieceArrays,
    add_rows,
    array,
    longest_piece,
    noise_key,
    pieces,
    wide,
)
from sgat.ops.cpu.sums import sum_piece
from sgat.ops.noise import limit_and_scale
from sgat.ops.operators.project import (
    DropInputs,
    Projected,
    ProjectGradInputs,
    ProjectInputs,
)
from sgat.ops.threads import ranges, run

ONE, TWO, THREE, FOUR = (np.uint64(number) for number in (1, 2, 3, 4))


@compiled
def drop_features_kernel(first, last, x, node_id, seed, limit, scale, stream, out):
    """Dropout m ⊙ x of rows first to last; see `noise.feature_mask`."""
    key0, key1 = split_key(seed[0])
    num_columns = x.shape[1]
    factor = x.dtype.type(scale)
    zero = x.dtype.type(0)
    num_blocks = (num_columns + 7) // 8
    size = padded(num_blocks)
    words = np.empty((size, 4), np.uint32)
    for i in range(first, last):
        name = node_name(i, node_id)
        low, high = name & WORD, name >> HALF
        for block in range(size):
            w0, w1, w2, w3 = philox(
                low, np.uint64(block), np.uint64(stream), high, key0, key1
            )
            words[block, 0] = np.uint32(w0)
            words[block, 1] = np.uint32(w1)
            words[block, 2] = np.uint32(w2)
            words[block, 3] = np.uint32(w3)
        lanes = words.reshape(4 * size)
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
            for p in range(padded(size)):
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
def sum_rows_kernel(first, last, cut, entries, x, outputs):
    """out_i = Σ_p value[p] x[column[p]] over the entries p of pieces first to last.

    With `entry`, the value of entry p stands at entry[p]. Entries of value 0 are not
    read; sums of the pieces of a split row go to `partial`.
    """
    ptr, row, place = cut
    column, entry, value = entries
    out, partial = outputs
    longest = longest_piece(ptr, first, last)
    kept_column = np.empty(longest, column.dtype)
    kept_value = np.empty(longest, value.dtype)
    zero, one = x.dtype.type(0), x.dtype.type(1)
    for piece in range(first, last):
        size = 0
        for p in range(ptr[piece], ptr[piece + 1]):
            factor = value[entry[p]] if len(entry) else value[p]
            kept_column[size] = column[p]
            kept_value[size] = factor
            size += factor != 0
        i, rest = row[piece], (partial, place[piece])
        sum_piece(
            *(out, i, zero, x, kept_column, kept_value, None, 0, size),
            *(one, out, i, rest),
        )


def _sum_rows(
    cut: PieceArrays, column: Array, entry: Array, value: Tensor, x: Tensor, out: Tensor
) -> None:
    wide_x = wide(x)
    total = out if wide_x is x else torch.empty_like(out, dtype=wide_x.dtype)
    partial = np.empty((cut.num_places, x.shape[1]), array(wide_x).dtype)
    where, entries = (cut.ptr, cut.row, cut.place), (column, entry, array(value))
    given = where, entries, array(wide_x), (total.numpy(), partial)
    run(sum_rows_kernel, ranges(cut.ptr, x.shape[1]), *given)
    if cut.num_places:
        add_rows(cut.first, cut.place, partial, total.numpy())
    if total is not out:
        out.copy_(total)


def drop_features(inputs: DropInputs, out: Tensor) -> None:
    """Fill the output of the operator of this name."""
    wide_x = wide(inputs.x)
    total = out if wide_x is inputs.x else torch.empty_like(wide_x)
    num_rows, num_columns = out.shape
    row_ptr = np.arange(num_rows + 1) * num_columns
    noise = *noise_key(inputs), *limit_and_scale(inputs.rate), inputs.stream
    given = array(wide_x), *noise, total.numpy()
    run(drop_features_kernel, ranges(row_ptr, 1), *given)
    if total is not out:
        out.copy_(total)


def project_sparse(inputs: ProjectInputs, outputs: Projected) -> None:
    """Fill the outputs of the operator of this name."""
    pointers, column, value = inputs.row_ptr.numpy(), inputs.column, inputs.value
    if inputs.seed is not None:
        noise = *noise_key(inputs), *limit_and_scale(inputs.rate), inputs.stream
        given = pointers, column.numpy(), array(value), *noise, outputs.dropped.numpy()
        run(drop_entries_kernel, ranges(pointers, 8), *given)
        value = outputs.dropped
    rows = pieces(inputs.rows, len(pointers) - 1)
    nothing = np.empty(0, np.int32)
    _sum_rows(rows, column.numpy(), nothing, value, inputs.weight, outputs.out)


def project_sparse_bwd(inputs: ProjectGradInputs, out: Tensor) -> None:
    """Fill the output of the operator of this name."""
    row, entry = inputs.column_row.numpy(), inputs.column_entry.numpy()
    columns = pieces(inputs.columns, len(out))
    _sum_rows(columns, row, entry, inputs.value, inputs.grad, out)
