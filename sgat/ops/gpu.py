"""Triton launchers of the passes in `fused.py`.

Rows are cut into pieces of at most `SPLIT` edges and one program handles a piece, so a
hub costs no more time than its edges do. Pieces of one row are added in their order by
a second, small kernel; no atomics are used, and results repeat bit for bit. What a
graph needs for this is worked out at its first use, with a wait for the device, and
kept as long as the graph lives; later calls never wait.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import triton
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from sgat.gates import HardConcrete
from sgat.ops import gpu_kernels as kernels
from sgat.ops.fused import SPLIT, OpenRows, wide_type

MAX_WIDTH = 256
"""Columns of x one program covers; wider x goes in slices."""

ALIGNED = 16
"""Columns to a multiple of which x is padded."""

GATE_TILE = {"BLOCK": 64, "num_warps": 1}
"""Edges of a block of the gate pass and warps of its program."""


class Pieces(NamedTuple):
    """Rows cut into pieces.

    Attributes:
        bound: Piece k covers the entries bound[k] to bound[k + 1], [P + 1].
        row: Row of each piece, [P] int32.
        first: Pieces of row i are first[i] to first[i + 1], [N + 1].
        partial: Where a piece of a split row leaves its sum, [P] int32; -1 for a row
            of one piece.
        split_row: The split rows.
        num_partial: Number of pieces of split rows.
        longest: Entries of the longest row, 1 at least.
    """

    bound: Tensor
    row: Tensor
    first: Tensor
    partial: Tensor
    split_row: Tensor
    num_partial: int
    longest: int


class Order(NamedTuple):
    """Entries of a sparse matrix by column, then by row.

    Attributes:
        pieces: Pieces of the columns.
        row: Row of each entry in this order.
        entry: Position of each entry in the order by row.
    """

    pieces: Pieces
    row: Tensor
    entry: Tensor


_pieces = WeakIdKeyDictionary()
_orders = WeakIdKeyDictionary()
_entry_rows = WeakIdKeyDictionary()


def cut(row_ptr: Tensor) -> Pieces:
    """Cut rows into pieces of at most `SPLIT` entries, at least one for each row."""
    split, device = SPLIT["gpu"], row_ptr.device
    num_rows = len(row_ptr) - 1
    count = torch.div(row_ptr.diff() + split - 1, split, rounding_mode="floor")
    count = count.clamp(min=1)
    first = torch.cat([count.new_zeros(1), count.cumsum(0)])
    row = torch.repeat_interleave(torch.arange(num_rows, device=device), count)
    within = torch.arange(len(row), device=device) - first[row]
    bound = torch.cat([row_ptr[row] + within * split, row_ptr[-1:]])
    is_split = (count > 1)[row]
    partial = torch.where(is_split, is_split.cumsum(0) - 1, -1)
    return Pieces(
        bound,
        row.to(torch.int32),
        first,
        partial.to(torch.int32),
        (count > 1).nonzero().squeeze(1).to(torch.int32),
        int(is_split.sum()),
        max(int(row_ptr.diff().max()), 1) if num_rows else 1,
    )


def pieces_of(row_ptr: Tensor) -> Pieces:
    """The pieces of these rows, kept as long as `row_ptr` lives."""
    known = _pieces.get(row_ptr)
    if known is None:
        known = _pieces[row_ptr] = cut(row_ptr)
    return known


def order_of(row_ptr: Tensor, column: Tensor, num_columns: int) -> Order:
    """The entries by column, kept as long as `column` lives."""
    known = _orders.get(column)
    if known is None:
        # Stable, so that entries of a column stay in the order of their rows.
        sorted_column, entry = torch.sort(column, stable=True)
        bounds = torch.arange(num_columns + 1, device=column.device)
        column_ptr = torch.searchsorted(sorted_column, bounds.to(column.dtype))
        row = entry_rows(row_ptr, column)[entry]
        index = torch.int32 if len(column) < 2**31 else torch.int64
        order = Order(cut(column_ptr), row, entry.to(index))
        known = _orders[column] = order
    return known


def entry_rows(row_ptr: Tensor, column: Tensor) -> Tensor:
    """Row of each entry in the type of `column`, kept as long as `column` lives."""
    known = _entry_rows.get(column)
    if known is None:
        row = torch.arange(len(row_ptr) - 1, device=column.device, dtype=column.dtype)
        known = torch.repeat_interleave(row, row_ptr.diff(), output_size=len(column))
        _entry_rows[column] = known
    return known


def _slices(width: int) -> list[tuple[int, int]]:
    """First column and padded width of each slice of x."""
    block = min(max(triton.next_power_of_2(max(width, 1)), 16), MAX_WIDTH)
    return [(first, block) for first in range(0, max(width, 1), block)]


def _tile(block_d: int, dtype: torch.dtype, with_dots: bool) -> dict[str, int]:
    """Neighbours of a tile and warps of a program, measured in `docs/kernels.md`."""
    is_tight = dtype.itemsize == 8 or (
        with_dots and dtype.itemsize == 4 and block_d > 64
    )
    size = 1024 if is_tight else 4096
    return {"BLOCK_E": min(max(size // block_d, 4), 32), "num_warps": 1}


def _aligned_width(width: int) -> int:
    """Columns that let rows begin at multiples of 16 bytes and be read in vectors."""
    return width if width <= ALIGNED else width + -width % ALIGNED


def _aligned(x: Tensor) -> Tensor:
    """Rows of x, padded with zeros if that lets them be read in vectors."""
    padding = _aligned_width(x.shape[1]) - x.shape[1]
    return F.pad(x, (0, padding)) if padding else x


def _sum_pieces(pieces: Pieces, part: Tensor, base: Tensor | None, out: Tensor) -> None:
    """Write out_i = base_i + Σ part over the pieces of row i; base is 0 if None."""
    num_rows = len(out)
    block = 128
    kernels.sum_pieces_kernel[(triton.cdiv(num_rows, block),)](
        p_first=pieces.first,
        p_part=part,
        p_base=base,
        p_out=out,
        num_rows=num_rows,
        BASED=base is not None,
        BLOCK=block,
        num_warps=4,
    )


def _open_direction(
    pieces: Pieces,
    column: Tensor,
    entry: Tensor | None,
    row_score: Tensor,
    column_score: Tensor,
    edge_score: Tensor | None,
    weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    gates: HardConcrete,
    outputs: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None],
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the gate pass in one direction; return the sums of each piece."""
    open_column, gate, scaled, open_edge, filled, whole = outputs
    num_pieces = len(pieces.row)
    total, probability, slope = row_score.new_empty(3, num_pieces)
    # The counts have room for every possible cut; the rest stays 0.
    filled[num_pieces:].zero_()
    if whole is not None:
        whole[num_pieces:].zero_()
    kernels.open_rows_kernel[(num_pieces,)](
        p_bound=pieces.bound,
        p_row=pieces.row,
        p_column=column,
        p_entry=entry,
        p_row_score=row_score,
        p_column_score=column_score,
        p_edge_score=edge_score,
        p_weight=weight,
        p_node_id=node_id,
        p_seed=seed,
        p_open_column=open_column,
        p_gate=gate,
        p_scaled=scaled,
        p_open_edge=open_edge,
        p_filled=filled,
        p_whole=whole,
        p_total=total,
        p_probability=probability,
        p_slope=slope,
        TEMPERATURE=gates.temperature,
        GAMMA=gates.gamma,
        ZETA=gates.zeta,
        THRESHOLD=gates.threshold,
        BY_SOURCE=entry is not None,
        DRAWS=seed is not None,
        WEIGHTED=weight is not None,
        SCORED=edge_score is not None,
        NAMED=node_id is not None,
        PLACES=entry is not None and len(open_edge) > 0,
        **GATE_TILE,
    )
    return total, probability, slope


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
    if not len(row_sum):
        penalty.zero_()
        return
    shared = (edge_score, weight, node_id, seed, gates)
    with torch.cuda.device_of(src):
        pieces = pieces_of(row_ptr)
        total, probability, slope = _open_direction(
            pieces,
            src,
            None,
            dst_score,
            src_score,
            *shared,
            (rows.src, rows.gate, rows.scaled, rows.edge, rows.filled, None),
        )
        loop = torch.ones_like(row_sum) if loop_weight is None else loop_weight
        _sum_pieces(pieces, total, loop, row_sum)
        _sum_pieces(pieces, slope, None, dst_slope)
        penalty.copy_(probability.sum())
        if not with_sources:
            return
        order = order_of(row_ptr, src, len(row_sum))
        _, _, slope = _open_direction(
            order.pieces,
            order.row,
            order.entry,
            src_score,
            dst_score,
            *shared,
            (
                rows.dst,
                rows.source_gate,
                rows.source_scaled,
                rows.source_edge,
                rows.source_filled,
                rows.source_whole,
            ),
        )
        _sum_pieces(order.pieces, slope, None, src_slope)


def _sum_rows(
    pieces: Pieces,
    filled: Tensor | None,
    column: Tensor,
    value: Tensor,
    x: Tensor,
    out: Tensor,
    wide_out: Tensor | None = None,
    *,
    scale: Tensor | None = None,
    loop: Tensor | None = None,
    sparse: bool = False,
    whole: Tensor | None = None,
    whole_value: bool = False,
    other: Tensor | None = None,
    gate: Tensor | None = None,
    grad_gate: Tensor | None = None,
) -> None:
    """Write scale_i Σ_j value_ij x_j + loop_i x_i for each row, and ∂z on request.

    Rows of x may be wider than those of `out`, which says how many columns count.
    """
    width = out.shape[1]
    x = _aligned(x)
    options: dict[str, Any] = {
        "p_x": x,
        "p_scale": scale,
        "p_loop": loop,
        "p_out": out,
        "p_wide_out": wide_out,
        "p_partial": x.new_empty((pieces.num_partial, width), dtype=wide_type(x.dtype)),
        "width": width,
        "stride": x.shape[1],
        "SCALES": scale is not None,
        "LOOPS": loop is not None,
        "WIDE_OUT": wide_out is not None,
    }
    for first_column, block_d in _slices(width):
        kernels.sum_rows_kernel[(len(pieces.row),)](
            p_bound=pieces.bound,
            p_row=pieces.row,
            p_piece_partial=pieces.partial,
            p_filled=filled,
            p_column=column,
            p_value=value,
            p_whole=whole,
            p_other=other,
            p_gate=gate,
            p_grad_gate=grad_gate,
            first_column=first_column,
            COMPACT=filled is not None,
            TWO_ENDS=whole is not None,
            WHOLE_VALUE=whole_value,
            SPARSE=sparse,
            DOTS=grad_gate is not None,
            FACTORS=gate is not None,
            IS_FIRST=first_column == 0,
            BLOCK_D=block_d,
            **_tile(block_d, x.dtype, grad_gate is not None),
            **options,
        )
        if pieces.num_partial:
            kernels.finish_rows_kernel[(len(pieces.split_row),)](
                p_split_row=pieces.split_row,
                p_first=pieces.first,
                p_piece_partial=pieces.partial,
                first_column=first_column,
                BLOCK_D=block_d,
                num_warps=4,
                **options,
            )


def _loops(
    row_sum: Tensor,
    loop_weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    *,
    divide: bool,
) -> tuple[Tensor, Tensor]:
    """1 / S_i, 0 for an empty row, and m_ii A_ii of each self-loop, over S_i or not."""
    inverse, loop = torch.empty_like(row_sum), torch.empty_like(row_sum)
    block = 256
    kernels.loops_kernel[(triton.cdiv(len(row_sum), block),)](
        p_row_sum=row_sum,
        p_loop_weight=loop_weight,
        p_node_id=node_id,
        p_seed=seed,
        p_inverse=inverse,
        p_loop=loop,
        num_rows=len(row_sum),
        dropout=dropout,
        noise_stream=stream,
        LOOP_WEIGHTED=loop_weight is not None,
        NAMED=node_id is not None,
        DROPS=seed is not None,
        DIVIDES=divide,
        BLOCK=block,
        num_warps=4,
    )
    return inverse, loop


def _dropped(
    pieces: Pieces,
    filled: Tensor,
    whole: Tensor | None,
    column: Tensor,
    value: Tensor,
    node_id: Tensor | None,
    seed: Tensor | None,
    dropout: float,
    stream: int,
    *,
    whole_value: bool = True,
) -> Tensor:
    """The values of open edges after dropout; the same tensor without a seed."""
    if seed is None:
        return value
    out = value.new_empty(len(column))
    kernels.drop_edges_kernel[(len(pieces.row),)](
        p_bound=pieces.bound,
        p_row=pieces.row,
        p_filled=filled,
        p_whole=whole,
        p_column=column,
        p_value=value,
        p_node_id=node_id,
        p_seed=seed,
        p_out=out,
        dropout=dropout,
        noise_stream=stream,
        BY_SOURCE=whole is not None,
        WHOLE_VALUE=whole_value,
        NAMED=node_id is not None,
        **GATE_TILE,
    )
    return out


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
    if not out.numel():
        return
    drop = (node_id, seed, dropout, stream)
    with torch.cuda.device_of(x):
        pieces = pieces_of(row_ptr)
        inverse, loop = _loops(row_sum, loop_weight, *drop, divide=True)
        scaled = rows.scaled if len(rows.scaled) else rows.gate
        value = _dropped(pieces, rows.filled, None, rows.src, scaled, *drop)
        _sum_rows(
            pieces,
            rows.filled,
            rows.src,
            value,
            x,
            out,
            None if wide_out.shape != out.shape else wide_out,
            scale=inverse,
            loop=loop,
            sparse=seed is not None,
        )


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
    """Fill the outputs of `fused.aggregate_rows_bwd`.

    Rows of the gradient are divided by S_i first, so that a slot by source needs its
    gate alone, and the dot product with x_j is ∂z_ij.
    """
    if torch.is_anomaly_enabled():
        # Anomaly detection looks for NaN in slots that hold nothing, too.
        grad_gate.zero_()
    if not x.numel():
        grad_row_sum.zero_()
        return
    drop = (node_id, seed, dropout, stream)
    weighted = len(rows.source_scaled) > 0
    has_values = weighted or seed is not None
    with torch.cuda.device_of(x):
        order = order_of(row_ptr, graph_src, len(x))
        inverse, loop = _loops(row_sum, loop_weight, *drop, divide=False)
        value = _dropped(
            order.pieces,
            rows.source_filled,
            rows.source_whole,
            rows.dst,
            rows.source_scaled if weighted else rows.source_gate,
            *drop,
            whole_value=weighted,
        )
        _sum_rows(
            order.pieces,
            rows.source_filled,
            rows.dst,
            value,
            _divided(grad, out, inverse, grad_row_sum if with_gates else None),
            grad_x,
            loop=loop,
            sparse=seed is not None,
            whole=rows.source_whole,
            whole_value=has_values,
            other=x,
            gate=rows.source_gate if has_values else None,
            grad_gate=grad_gate if with_gates else None,
        )


def _divided(
    grad: Tensor, out: Tensor, inverse: Tensor, grad_row_sum: Tensor | None
) -> Tensor:
    """Rows g_i / S_i, padded for `_sum_rows`; fills ∂S_i = - g_i · out_i / S_i."""
    num_rows, width = grad.shape
    stride = _aligned_width(width)
    # The smallest numbers of float16 are not far below those of a gradient.
    dtype = torch.float32 if grad.dtype == torch.float16 else grad.dtype
    divided = grad.new_empty((num_rows, stride), dtype=dtype)
    block_r = 16
    kernels.aggregate_rows_bwd_kernel_rows[(triton.cdiv(num_rows, block_r),)](
        p_grad=grad,
        p_out=out,
        p_inverse=inverse,
        p_divided=divided,
        p_grad_row_sum=grad_row_sum,
        num_rows=num_rows,
        width=width,
        stride=stride,
        SUMS=grad_row_sum is not None,
        BLOCK_R=block_r,
        BLOCK_D=min(triton.next_power_of_2(width), 128),
        num_warps=4,
    )
    return divided


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
    """Fill the outputs of `fused.open_rows_bwd`.

    If each slot by source knows its edge, ∂log α goes there and is summed by target;
    otherwise it is added to the sums of the targets in integers.
    """
    if not len(grad_dst):
        return
    grad_gate, grad_row_sum = grad_gate.contiguous(), grad_row_sum.contiguous()
    has_places = len(rows.source_edge) == len(src)
    grad_place = grad_edge
    if has_places and not len(grad_edge):
        grad_place = grad_dst.new_empty(len(src))
    # Closed and whole gates pass no gradient on; only half-open edges write theirs.
    grad_place.zero_()
    with torch.cuda.device_of(src):
        order = order_of(row_ptr, src, len(grad_dst))
        part, size = grad_src.new_empty(2, len(order.pieces.row))
        slots: dict[str, Any] = {
            "p_bound": order.pieces.bound,
            "p_filled": rows.source_filled,
            "p_dst": rows.dst,
            "p_gate": rows.source_gate,
            "p_grad_gate": grad_gate,
            "p_grad_row_sum": grad_row_sum,
            "TEMPERATURE": gates.temperature,
            "GAMMA": gates.gamma,
            "ZETA": gates.zeta,
            "BLOCK": 128,
            "num_warps": 1,
        }
        kernels.open_rows_bwd_kernel_sources[(len(order.pieces.row),)](
            p_edge=rows.source_edge,
            p_weight=weight,
            p_grad_edge=grad_place,
            p_part=part,
            p_size=size,
            WEIGHTED=weight is not None,
            PLACES=has_places,
            **slots,
        )
        _sum_pieces(order.pieces, part, None, grad_src)
        pieces = pieces_of(row_ptr)
        if has_places:
            part = grad_dst.new_empty(len(pieces.row))
            kernels.open_rows_bwd_kernel_targets[(len(pieces.row),)](
                p_bound=pieces.bound,
                p_grad_edge=grad_place,
                p_part=part,
                BLOCK=256,
                num_warps=1,
            )
            _sum_pieces(pieces, part, None, grad_dst)
            return
        # No sum of a row can leave 64 bits; NaN and infinity make the unit NaN.
        largest = size.amax().double()
        unit = (largest * (pieces.longest / 2**61)).clamp(min=1e-300)
        sums = torch.zeros_like(grad_dst, dtype=torch.int64)
        kernels.open_rows_bwd_kernel_add[(len(order.pieces.row),)](
            p_scale=1 / unit,
            p_sum=sums,
            **slots,
        )
        grad_dst.copy_(sums * torch.where(unit.isfinite(), unit, torch.nan))


def _limit(rate: float) -> tuple[int, float]:
    """The 16-bit limit below which an entry is dropped, and the scale of the others."""
    limit = round(rate * 65536)
    return limit, 65536 / (65536 - limit)


def drop_features(
    x: Tensor,
    node_id: Tensor | None,
    seed: Tensor,
    rate: float,
    stream: int,
    out: Tensor,
) -> None:
    """Fill the output of `fused.drop_features`."""
    if not out.numel():
        return
    limit, scale = _limit(rate)
    num_rows, num_columns = x.shape
    num_blocks = triton.cdiv(num_columns, 8)
    block = 128
    with torch.cuda.device_of(x):
        kernels.drop_features_kernel[(triton.cdiv(num_rows * num_blocks, block),)](
            p_x=x,
            p_node_id=node_id,
            p_seed=seed,
            p_out=out,
            num_rows=num_rows,
            num_columns=num_columns,
            num_blocks=num_blocks,
            limit=limit,
            scale=scale,
            noise_stream=stream,
            NAMED=node_id is not None,
            BLOCK=block,
            num_warps=4,
        )


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
    with torch.cuda.device_of(weight):
        if seed is not None and len(value):
            limit, scale = _limit(rate)
            block = 256
            kernels.drop_entries_kernel[(triton.cdiv(len(value), block),)](
                p_row=entry_rows(row_ptr, column),
                p_column=column,
                p_value=value,
                p_node_id=node_id,
                p_seed=seed,
                p_out=dropped,
                num_entries=len(value),
                limit=limit,
                scale=scale,
                noise_stream=stream,
                NAMED=node_id is not None,
                BLOCK=block,
                num_warps=4,
            )
            value = dropped
        if out.numel():
            _sum_rows(pieces_of(row_ptr), None, column, value, weight, out)


def project_sparse_bwd(
    grad: Tensor, row_ptr: Tensor, column: Tensor, value: Tensor, out: Tensor
) -> None:
    """Fill the output of `fused.project_sparse_bwd`."""
    if not out.numel():
        return
    with torch.cuda.device_of(grad):
        order = order_of(row_ptr, column, len(out))
        by_column = value[order.entry]
        _sum_rows(order.pieces, None, order.row, by_column, grad, out)
