"""Sums over the columns that two sparse rows have in common, on a GPU."""

from typing import Any

import torch
import triton
import triton.language as tl

from sgat.ops.device_array import DeviceArray

# Neighbours of a row, and of a sum of rows, that a program takes at a time.
SHARED, SUMMED = 128, 16
# No number of a column is as large.
NO_COLUMN = tl.constexpr(2**31 - 1)
# Entries that are looked up by one program, and columns that one sums.
LOOKED_UP, COLUMNS = 256, 64


@triton.jit
def find_columns(p_columns, b_wanted, length):
    """How many of so many sorted columns are below each of those wanted, int32.

    Every lane takes the same steps, so none waits to learn whether another is done.
    """
    o_low = tl.zeros_like(b_wanted).to(tl.int32)
    while length > 1:
        half = length // 2
        b_column = tl.load(p_columns + o_low + half - 1)
        o_low += tl.where(b_column < b_wanted, half, 0)
        length -= half
    if length > 0:
        o_low += (tl.load(p_columns + o_low) < b_wanted).to(tl.int32)
    return o_low


@triton.jit
def row_products_kernel(
    p_ptr,
    p_column,
    p_entry,
    p_weight,
    p_a,
    p_b,
    p_value,
    p_total,
    NUM_PRODUCTS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """total_p = Σ over the columns k of both rows; one program has one pair.

    The first NUM_PRODUCTS of WIDTH values of k are times the entries of both rows, or
    their weights; those of the shorter row are looked up in the longer one.
    """
    i_pair = tl.program_id(0).to(tl.int64)
    i_a = tl.load(p_a + i_pair).to(tl.int64)
    i_b = tl.load(p_b + i_pair).to(tl.int64)
    first_a = tl.load(p_ptr + i_a).to(tl.int64)
    first_b = tl.load(p_ptr + i_b).to(tl.int64)
    length_a = (tl.load(p_ptr + i_a + 1) - first_a).to(tl.int32)
    length_b = (tl.load(p_ptr + i_b + 1) - first_b).to(tl.int32)
    is_less = length_a <= length_b
    short = tl.where(is_less, first_a, first_b)
    long = tl.where(is_less, first_b, first_a)
    length = tl.minimum(length_a, length_b)
    left = tl.maximum(length_a, length_b)
    o_value = tl.arange(0, WIDTH)
    b_total = tl.zeros([BLOCK, WIDTH], tl.float32)
    for first in range(0, length, BLOCK):
        o_entry = first + tl.arange(0, BLOCK)
        m_entry = o_entry < length
        b_column = tl.load(p_column + short + o_entry, mask=m_entry, other=NO_COLUMN)
        o_other = find_columns(p_column + long, b_column, left)
        m_there = o_other < left
        b_other = tl.load(p_column + long + o_other, mask=m_there, other=-1)
        m_shared = m_there & (b_other == b_column)
        if tl.max(m_shared.to(tl.int32), 0) > 0:
            b_one = tl.load(p_entry + short + o_entry, mask=m_shared, other=1)
            b_two = tl.load(p_entry + long + o_other, mask=m_shared, other=1)
            if p_weight is not None:
                b_one = tl.load(
                    p_weight + b_one.to(tl.int64) - 1, mask=m_shared, other=0
                )
                b_two = tl.load(
                    p_weight + b_two.to(tl.int64) - 1, mask=m_shared, other=0
                )
            b_product = b_one.to(tl.float32) * b_two.to(tl.float32)
            p_row = p_value + b_column.to(tl.int64)[:, None] * WIDTH + o_value[None, :]
            b_value = tl.load(p_row, mask=m_shared[:, None], other=0)
            is_product = (o_value < NUM_PRODUCTS)[None, :]
            b_total += b_value * tl.where(is_product, b_product[:, None], 1.0)
        # Later columns are not before the place of the first one.
        passed = tl.min(o_other, 0).to(tl.int32)
        long += passed
        left -= passed
    p_out = p_total + i_pair * WIDTH + o_value
    tl.store(p_out, tl.sum(b_total, 0))


def row_products(
    matrix: Any, a: Any, b: Any, value: Any, weight: Any, plain: Any
) -> DeviceArray:
    """As `sgat.ops.common_neighbours.row_products`, in float32."""
    parts = [part.tensor.float() for part in (value, plain) if part is not None]
    number = sum(part.shape[1] for part in parts)
    width = triton.next_power_of_2(number)
    parts.append(parts[0].new_zeros(len(parts[0]), width - number))
    total = parts[0].new_empty(len(a), width)
    if len(a):
        row_products_kernel[(len(a),)](
            p_ptr=matrix.indptr.tensor,
            p_column=matrix.indices.tensor,
            p_entry=matrix.data.tensor,
            p_weight=None if weight is None else weight.tensor,
            p_a=a.tensor.contiguous(),
            p_b=b.tensor.contiguous(),
            p_value=torch.cat(parts, dim=1),
            p_total=total,
            NUM_PRODUCTS=value.shape[1],
            WIDTH=width,
            BLOCK=SHARED,
            num_warps=1,
        )
    return DeviceArray(total[:, :number])


@triton.jit
def find_entries_kernel(
    p_ptr, p_columns, p_row, p_column, p_place, number, BLOCK: tl.constexpr
):
    """place_p = that of the column among those of the row, -1 if it has none such."""
    o_pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m_pair = o_pair < number
    b_row = tl.load(p_row + o_pair, mask=m_pair, other=0).to(tl.int64)
    b_wanted = tl.load(p_column + o_pair, mask=m_pair, other=0)
    o_found = tl.load(p_ptr + b_row, mask=m_pair, other=0).to(tl.int64)
    o_end = tl.load(p_ptr + b_row + 1, mask=m_pair, other=0).to(tl.int64)
    b_length = o_end - o_found
    while tl.max(b_length, 0) > 0:
        b_half = b_length // 2
        m_look = b_length > 0
        b_column = tl.load(p_columns + o_found + b_half, mask=m_look, other=0)
        m_above = m_look & (b_column < b_wanted)
        o_found = tl.where(m_above, o_found + b_half + 1, o_found)
        b_length = tl.where(m_above, b_length - b_half - 1, b_half)
    m_there = m_pair & (o_found < o_end)
    b_column = tl.load(p_columns + o_found, mask=m_there, other=-1)
    b_place = tl.where(m_there & (b_column == b_wanted), o_found, -1)
    tl.store(p_place + o_pair, b_place, mask=m_pair)


def find_entries(ptr: Any, columns: Any, row: Any, column: Any) -> DeviceArray:
    """As `sgat.ops.common_neighbours.find_entries`."""
    place = torch.empty(len(row), dtype=torch.int64, device=row.tensor.device)
    if len(row):
        find_entries_kernel[(triton.cdiv(len(row), LOOKED_UP),)](
            p_ptr=ptr.tensor,
            p_columns=columns.tensor.contiguous(),
            p_row=row.tensor.contiguous(),
            p_column=column.tensor.contiguous(),
            p_place=place,
            number=len(row),
            BLOCK=LOOKED_UP,
            num_warps=4,
        )
    return DeviceArray(place)


def fill_rows(low: Any, high: Any, ptr: Any, columns: Any, number: Any) -> None:
    """As `sgat.ops.common_neighbours.fill_rows`; the entries are sorted."""
    low, high, size = low.tensor, high.tensor, len(low)
    # Those of a row to lower nodes come first: by the other end, then as edges are.
    row, order = torch.cat([high, low]).sort(stable=True)
    del row
    torch.cat([low, high], out=columns.tensor)
    columns.tensor.copy_(columns.tensor[order])
    number.tensor.copy_(order % size + 1)


@triton.jit
def row_sums_kernel(
    p_ptr,
    p_column,
    p_entry,
    p_x,
    p_out,
    width,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out_i = Σ_j m_ij x_j over the entries of row i; one program, WIDTH columns."""
    i_row = tl.program_id(0).to(tl.int64)
    o_entry = tl.load(p_ptr + i_row).to(tl.int64)
    o_end = tl.load(p_ptr + i_row + 1).to(tl.int64)
    o_column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    m_column = (o_column < width)[None, :]
    b_total = tl.zeros([BLOCK, WIDTH], p_x.dtype.element_ty)
    for _ in range(tl.cdiv((o_end - o_entry).to(tl.int32), BLOCK)):
        o_here = o_entry + tl.arange(0, BLOCK)
        m_here = o_here < o_end
        b_node = tl.load(p_column + o_here, mask=m_here, other=0).to(tl.int64)
        b_entry = tl.load(p_entry + o_here, mask=m_here, other=0)
        p_row = p_x + b_node[:, None] * width + o_column[None, :]
        b_x = tl.load(p_row, mask=m_here[:, None] & m_column, other=0)
        b_total += b_entry[:, None].to(b_x.dtype) * b_x
        o_entry += BLOCK
    p_row = p_out + i_row * width + o_column
    tl.store(p_row, tl.sum(b_total, 0), mask=o_column < width)


def row_sums(matrix: Any, columns: DeviceArray) -> DeviceArray:
    """As `sgat.ops.common_neighbours.row_sums`."""
    x = columns.tensor.contiguous()
    out = torch.empty_like(x)
    width = min(triton.next_power_of_2(x.shape[1]), COLUMNS)
    row_sums_kernel[(len(x), triton.cdiv(x.shape[1], width))](
        p_ptr=matrix.indptr.tensor,
        p_column=matrix.indices.tensor,
        p_entry=matrix.data.tensor,
        p_x=x,
        p_out=out,
        width=x.shape[1],
        WIDTH=width,
        BLOCK=SUMMED,
        num_warps=4,
    )
    return DeviceArray(out)
