"""Weighted sums of rows, held in registers while the rows are read."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sgat.ops.cpu.lanes import compiled

INDEX = ir.IntType(64)
VECTOR = 16  # Numbers in one vector; where registers are narrower, it takes several.


def block_of(size):
    """A function for `size` columns of `sum_row`, from column d on.

    Written in LLVM, since the compiler leaves the sums of a Python loop in memory.
    """

    @intrinsic
    def sum_block(
        context, base, b, start, x, index, value, scale, begin, end, gain, out, o, d
    ):
        signature = types.void(
            *(base, types.int64, x.dtype),
            *(x, index, value, scale, types.int64, types.int64, x.dtype),
            *(out, types.int64, types.int64),
        )
        lanes = min(size, VECTOR)
        num_vectors = size // lanes

        def generate(context, builder, signature, arguments):
            base_rows, b, start, x_rows, indices, values, *rest = arguments
            scales, begin, end, gain, out_rows, o, d = rest
            vector = ir.VectorType(context.get_value_type(x.dtype), lanes)
            array = {
                "base": context.make_array(base)(context, builder, base_rows),
                "x": context.make_array(x)(context, builder, x_rows),
                "out": context.make_array(out)(context, builder, out_rows),
            }
            indices = context.make_array(index)(context, builder, indices).data
            values = context.make_array(value)(context, builder, values).data

            def number(integer):
                return ir.Constant(INDEX, integer)

            def block(name, row):
                width = cgutils.unpack_tuple(builder, array[name].shape)[1]
                offset = builder.add(builder.mul(row, width), d)
                return builder.gep(array[name].data, [offset])

            def part(pointer, k):
                place = builder.gep(pointer, [number(k * lanes)])
                return builder.bitcast(place, vector.as_pointer())

            def spread(scalar):
                undefined = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(
                    undefined, scalar, ir.Constant(ir.IntType(32), 0)
                )
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
                return builder.shuffle_vector(first, undefined, zeros)

            def load(pointer, k):
                return builder.load(part(pointer, k), align=x.dtype.bitwidth // 8)

            # Without a start the place of the result is read instead, and not used.
            zero = ir.Constant(vector, None)
            starts = builder.fcmp_unordered("!=", start, ir.Constant(start.type, 0.0))
            target = block("out", o)
            origin = builder.select(starts, block("base", b), target)
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
            row = block("x", j)
            for k, total in enumerate(running):
                product = builder.fmul(load(row, k), coefficient, flags=("contract",))
                added = builder.fadd(total, product, flags=("contract",))
                total.add_incoming(added, body)
            q.add_incoming(builder.add(q, number(1)), body)
            builder.branch(head)

            builder.position_at_end(done)
            for k, total in enumerate(running):
                result = builder.fmul(total, spread(gain))
                builder.store(result, part(target, k), align=x.dtype.bitwidth // 8)
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
