"""Vectors of nodes: products of two for all edges of a row, and sums along it.

Tested by tests/ops/test_cpu.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.memory import Array
from sgat.ops.cpu.sums import INDEX, VECTOR, sum_row
from sgat.ops.memory_pool import new_empty
from sgat.ops.reference import rounded


def vectors(tensor: Tensor | None, dtype: Any) -> Array:
    """The memory of the vectors of nodes, `rounded`; of no node for None."""
    if tensor is None:
        return np.empty((0, 0), dtype)
    return rounded(tensor.detach()).numpy()


def vector_pieces(out: Tensor, num_pieces: int) -> Array:
    """Room for one vector of each piece of a row: `out` itself if no row is cut."""
    num_rows, rank = out.shape
    if num_rows in (0, num_pieces):
        return out.numpy()
    return new_empty(out, (num_pieces, rank)).numpy()


def finish_vectors(partial: Array, first: Array, out: Tensor) -> None:
    """Fill `out` with the sums over the pieces of each row."""
    if len(partial) != len(out):
        add_vector_pieces(partial, first, out.numpy())


@intrinsic(prefer_literal=True)
def add_block(context, size, left, i, right, column, begin, end, log_alpha, shift, d):
    """The columns d to d + size of `add_products`, where size is a literal.

    Written in LLVM, so that the row of `left` stays in registers and products are
    added in vector lanes whatever the number of columns.
    """
    signature = types.void(
        *(size, left, types.int64, right, column, types.int64, types.int64),
        *(log_alpha, types.int64, types.int64),
    )
    lanes = min(size.literal_value, VECTOR)
    num_vectors = size.literal_value // lanes

    def generate(context, builder, signature, arguments):
        _, left_rows, i, right_rows, columns, begin, end, sums, shift, d = arguments
        real = context.get_value_type(left.dtype)
        vector = ir.VectorType(real, lanes)
        array = {
            "left": context.make_array(left)(context, builder, left_rows),
            "right": context.make_array(right)(context, builder, right_rows),
        }
        columns = context.make_array(column)(context, builder, columns).data
        sums = context.make_array(log_alpha)(context, builder, sums).data

        def number(integer):
            return ir.Constant(INDEX, integer)

        def block(name, row):
            width = cgutils.unpack_tuple(builder, array[name].shape)[1]
            offset = builder.add(builder.mul(row, width), d)
            return builder.gep(array[name].data, [offset])

        def load(pointer, k):
            place = builder.gep(pointer, [number(k * lanes)])
            place = builder.bitcast(place, vector.as_pointer())
            return builder.load(place, align=left.dtype.bitwidth // 8)

        add_lanes = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(real, [real, vector]),
            f"llvm.vector.reduce.fadd.v{lanes}f{left.dtype.bitwidth}",
        )
        own_row = block("left", i)
        own = [load(own_row, k) for k in range(num_vectors)]
        with cgutils.for_range_slice(builder, begin, end, number(1)) as (q, _):
            j = builder.load(builder.gep(columns, [q]))
            j = context.cast(builder, j, column.dtype, types.int64)
            row = block("right", j)
            total = builder.fmul(own[0], load(row, 0))
            for k in range(1, num_vectors):
                product = builder.fmul(own[k], load(row, k), flags=("contract",))
                total = builder.fadd(total, product, flags=("contract",))
            zero = ir.Constant(real, 0.0)
            dot = builder.call(add_lanes, [zero, total], fastmath=("reassoc", "nsz"))
            place = builder.gep(sums, [builder.sub(q, shift)])
            builder.store(builder.fadd(builder.load(place), dot), place)
        return context.get_dummy_value()

    return signature, generate


@compiled
def add_products(left, i, right, column, begin, end, log_alpha, shift):
    """Add left_i · right_j, j = column[q], to log_alpha[q - shift], begin ≤ q < end."""
    width = left.shape[1]
    d = 0
    while d < width:
        rest = width - d
        if rest >= 64:
            add_block(64, left, i, right, column, begin, end, log_alpha, shift, d)
            d += 64
        elif rest >= 32:
            add_block(32, left, i, right, column, begin, end, log_alpha, shift, d)
            d += 32
        elif rest >= 16:
            add_block(16, left, i, right, column, begin, end, log_alpha, shift, d)
            d += 16
        elif rest >= 4:
            add_block(4, left, i, right, column, begin, end, log_alpha, shift, d)
            d += 4
        else:
            add_block(1, left, i, right, column, begin, end, log_alpha, shift, d)
            d += 1


@compiled
def add_vectors(value, right, column, begin, end, is_first, out, o):
    """Add Σ value[q] right[column[q]] over begin ≤ q < end to row o, or begin it."""
    one = out.dtype.type(1)
    start = out.dtype.type(0) if is_first else one
    sum_row(out, o, start, right, column, value, None, begin, end, one, out, o)


@compiled
def add_vector_pieces(partial, first, out):
    """out_i = Σ partial over the pieces of row i, in their order."""
    for i in range(len(out)):
        for r in range(out.shape[1]):
            total = partial[first[i], r]
            for p in range(first[i] + 1, first[i + 1]):
                total += partial[p, r]
            out[i, r] = total
