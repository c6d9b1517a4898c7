"""Weighted sums of rows, and products of two, held in registers while rows are read.

Vectors of nodes are such rows: gates take their products, and gradients their sums.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import Array, add_pieces
from sgat.ops.reference import rounded

INDEX = ir.IntType(64)
VECTOR = 16  # Numbers in one vector; where registers are narrower, it takes several.


def columns_from(builder, vector, d, align):
    """Functions that find column d of a row, find its k-th vector, and load that."""

    def block(array, row):
        width = cgutils.unpack_tuple(builder, array.shape)[1]
        offset = builder.add(builder.mul(row, width), d)
        return builder.gep(array.data, [offset])

    def part(pointer, k):
        place = builder.gep(pointer, [ir.Constant(INDEX, k * vector.count)])
        return builder.bitcast(place, vector.as_pointer())

    def load(pointer, k):
        return builder.load(part(pointer, k), align=align)

    return block, part, load


def block_of(size):
    """A function for `size` columns of `sum_row`, from column d on.

    Written in LLVM, since the compiler leaves the sums of a Python loop in memory.
    """
    lanes = min(size, VECTOR)
    num_vectors = size // lanes

    @intrinsic
    def sum_block(
        context, base, b, start, x, index, value, scale, begin, end, gain, out, o, d
    ):
        signature = types.void(
            *(base, types.int64, x.dtype),
            *(x, index, value, scale, types.int64, types.int64, x.dtype),
            *(out, types.int64, types.int64),
        )
        align = x.dtype.bitwidth // 8

        def generate(context, builder, signature, arguments):
            base_rows, b, start, x_rows, indices, values, *rest = arguments
            scales, begin, end, gain, out_rows, o, d = rest
            vector = ir.VectorType(context.get_value_type(x.dtype), lanes)
            block, part, load = columns_from(builder, vector, d, align)
            base_rows = context.make_array(base)(context, builder, base_rows)
            x_rows = context.make_array(x)(context, builder, x_rows)
            out_rows = context.make_array(out)(context, builder, out_rows)
            indices = context.make_array(index)(context, builder, indices).data
            values = context.make_array(value)(context, builder, values).data

            def spread(scalar):
                undefined = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(
                    undefined, scalar, ir.Constant(ir.IntType(32), 0)
                )
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
                return builder.shuffle_vector(first, undefined, zeros)

            # Without a start the place of the result is read instead, and not used.
            zero = ir.Constant(vector, None)
            starts = builder.fcmp_unordered("!=", start, ir.Constant(start.type, 0.0))
            target = block(out_rows, o)
            origin = builder.select(starts, block(base_rows, b), target)
            sums = []
            for k in range(num_vectors):
                scaled = builder.fmul(load(origin, k), spread(start))
                sums.append(builder.select(starts, scaled, zero))

            before = builder.block
            head = builder.append_basic_block("sum.head")
            body = builder.append_basic_block("sum.body")
            done = builder.append_basic_block("sum.done")
            builder.branch(head)
            builder.position_at_end(head)
            q = builder.phi(INDEX)
            q.add_incoming(begin, before)
            running = [builder.phi(vector) for _ in sums]
            for total, first in zip(running, sums, strict=True):
                total.add_incoming(first, before)
            builder.cbranch(builder.icmp_signed("<", q, end), body, done)

            builder.position_at_end(body)
            j = builder.load(builder.gep(indices, [q]))
            j = context.cast(builder, j, index.dtype, types.int64)
            coefficient = builder.load(builder.gep(values, [q]))
            coefficient = context.cast(builder, coefficient, value.dtype, x.dtype)
            if isinstance(scale, types.Array):
                scales = context.make_array(scale)(context, builder, scales).data
                scaling = builder.load(builder.gep(scales, [j]))
                scaling = context.cast(builder, scaling, scale.dtype, x.dtype)
                coefficient = builder.fmul(coefficient, scaling)
            coefficient = spread(coefficient)
            row = block(x_rows, j)
            for k, total in enumerate(running):
                product = builder.fmul(load(row, k), coefficient, flags=("contract",))
                added = builder.fadd(total, product, flags=("contract",))
                total.add_incoming(added, body)
            q.add_incoming(builder.add(q, ir.Constant(INDEX, 1)), body)
            builder.branch(head)

            builder.position_at_end(done)
            for k, total in enumerate(running):
                result = builder.fmul(total, spread(gain))
                builder.store(result, part(target, k), align=align)
            return context.get_dummy_value()

        return signature, generate

    return sum_block


sum_64, sum_32, sum_16, sum_4, sum_1 = (block_of(size) for size in (64, 32, 16, 4, 1))


@compiled
def sum_row(base, b, start, x, index, value, scale, begin, end, gain, out, o):
    """A weighted sum of rows of x, for begin ≤ q < end, in this order.

        out[o] = gain · (start · base[b] + Σ_q value[q] scale[index[q]] x[index[q]])

    `scale` may be None. With start 0, base[b] is not read.
    """
    width = out.shape[1]
    d = 0
    while d < width:
        left = width - d
        if left >= 64:
            sum_64(base, b, start, x, index, value, scale, begin, end, gain, out, o, d)
            d += 64
        elif left >= 32:
            sum_32(base, b, start, x, index, value, scale, begin, end, gain, out, o, d)
            d += 32
        elif left >= 16:
            sum_16(base, b, start, x, index, value, scale, begin, end, gain, out, o, d)
            d += 16
        elif left >= 4:
            sum_4(base, b, start, x, index, value, scale, begin, end, gain, out, o, d)
            d += 4
        else:
            sum_1(base, b, start, x, index, value, scale, begin, end, gain, out, o, d)
            d += 1


@compiled
def sum_piece(base, b, start, x, index, value, scale, begin, end, gain, out, i, rest):
    """`sum_row` into row i of `out` or, for a piece of a split row, where `rest` says.

    `rest` is an array for sums of pieces and a place in it, -1 for a whole row.
    """
    partial, o = rest
    if o < 0:
        sum_row(base, b, start, x, index, value, scale, begin, end, gain, out, i)
    else:
        sum_row(base, b, start, x, index, value, scale, begin, end, gain, partial, o)


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
        align = left.dtype.bitwidth // 8
        block, _, load = columns_from(builder, vector, d, align)
        left_rows = context.make_array(left)(context, builder, left_rows)
        right_rows = context.make_array(right)(context, builder, right_rows)
        columns = context.make_array(column)(context, builder, columns).data
        sums = context.make_array(log_alpha)(context, builder, sums).data

        add_lanes = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(real, [real, vector]),
            f"llvm.vector.reduce.fadd.v{lanes}f{left.dtype.bitwidth}",
        )
        own_row = block(left_rows, i)
        own = [load(own_row, k) for k in range(num_vectors)]
        step = ir.Constant(INDEX, 1)
        with cgutils.for_range_slice(builder, begin, end, step) as (q, _):
            j = builder.load(builder.gep(columns, [q]))
            j = context.cast(builder, j, column.dtype, types.int64)
            row = block(right_rows, j)
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
    return out.new_empty((num_pieces, rank)).numpy()


def finish_vectors(partial: Array, first: Array, out: Tensor) -> None:
    """Fill `out` with the sums over the pieces of each row."""
    if len(partial) != len(out):
        add_pieces(partial, first, out.numpy())
