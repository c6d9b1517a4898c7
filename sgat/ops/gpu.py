"""Gates and aggregation on the GPU: Triton launchers of the passes in `fused.py`.

Rows are cut into pieces of at most `SPLIT` edges and one program handles a piece, so a
hub costs no more time than its edges do. No result depends on the order in which
programs run. Calls never wait for the device but for the first with a graph.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
import triton
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops import gpu_kernels as kernels
from sgat.ops.fused_slots import OpenRows
from sgat.ops.gpu_pieces import Pieces, order_of, pieces_of, sum_pieces
from sgat.ops.gpu_records import Records
from sgat.ops.gpu_sum_rows import aligned_width, finish_rows_kernel, sum_rows

GATE_BLOCK = 64
"""Edges of a block of the gate pass; its programs have one warp."""

PAIR_BLOCKS = {1: 64, 2: 64, 4: 32, 8: 32, 16: 32}
"""The same for records of so many lanes.

Records take registers, and fewer edges leave room for more programs at a time. Chosen
by timing 4 and 8 lanes (docs/kernels.md); the others follow their neighbours.
"""

SUM_BLOCKS = {8: 64, 16: 64, 32: 32, 64: 32}
"""Edges of a block where tiles of so many columns are summed in the backward."""


class Vectors(NamedTuple):
    """Vectors of the nodes for the backward, in bfloat16, or in float64 if they are so.

    Padded, so that they can be read 16 bytes at a time.

    Attributes:
        row: Those of the targets, [N, S].
        column: Those of the sources, [N, S].
        rank: How many of the S columns count.
    """

    row: Tensor
    column: Tensor
    rank: int

    @classmethod
    def padded(cls, query: Tensor | None, key: Tensor | None) -> Vectors | None:
        """The vectors of a call; None without."""
        if query is None or key is None:
            return None
        rank = query.shape[1]
        padding = -rank % 8
        if query.dtype != torch.float64:
            query, key = query.to(torch.bfloat16), key.to(torch.bfloat16)
        if padding:
            query, key = F.pad(query, (0, padding)), F.pad(key, (0, padding))
        return cls(query, key, rank)

    @property
    def shape(self) -> dict[str, int]:
        """The numbers of columns as the kernels want them."""
        stride = self.row.shape[1]
        width = triton.next_power_of_2(stride)
        return {"RANK": self.rank, "STRIDE": stride, "BLOCK_R": width}


NO_VECTORS = {"RANK": 0, "STRIDE": 0, "BLOCK_R": 1}
NO_RECORDS = {"RANK": 0, "LANES": 1, "WORDS": 4, "HALVES": 1}
"""What the kernels want where gates see no pairs."""


def _open_direction(
    pieces: Pieces,
    column: Tensor,
    entry: Tensor | None,
    row_score: Tensor,
    column_score: Tensor,
    records: Records | None,
    vector_slope: Tensor,
    edge_score: Tensor | None,
    weight: Tensor | None,
    node_id: Tensor | None,
    seed: Tensor | None,
    gates: HardConcrete,
    outputs: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None],
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the gate pass in one direction; return the sums of each piece.

    Fills `vector_slope` if it is not empty.
    """
    open_column, gate, scaled, open_edge, filled, whole = outputs
    num_pieces = len(pieces.row)
    total, probability, slope = row_score.new_empty(3, num_pieces)
    # The counts have room for every possible cut; the rest stays 0.
    filled[num_pieces:].zero_()
    if whole is not None:
        whole[num_pieces:].zero_()
    has_slopes = vector_slope.numel() > 0
    partial = _partial_vectors(pieces, vector_slope)
    by_source = entry is not None
    shape, block = NO_RECORDS, GATE_BLOCK
    if records is not None:
        shape = records.shape
        block = PAIR_BLOCKS[shape["LANES"]]
    kernels.open_rows_kernel[(num_pieces,)](
        p_bound=pieces.bound,
        p_row=pieces.row,
        p_column=column,
        p_entry=entry,
        p_row_score=row_score,
        p_column_score=column_score,
        p_edge_score=edge_score,
        p_row_record=None if records is None else records.row,
        p_column_record=None if records is None else records.column,
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
        p_piece_partial=pieces.partial,
        p_vector_slope=vector_slope,
        p_vector_partial=partial,
        TEMPERATURE=gates.temperature,
        GAMMA=gates.gamma,
        ZETA=gates.zeta,
        THRESHOLD=gates.threshold,
        BY_SOURCE=by_source,
        DRAWS=seed is not None,
        WEIGHTED=weight is not None,
        SCORED=edge_score is not None,
        NAMED=node_id is not None,
        PLACES=by_source and len(open_edge) > 0,
        SLOPES=has_slopes,
        # Edges of a block held by one thread of the warp, one lane of each.
        FOLD=block * shape["LANES"] // 32,
        BLOCK=block,
        num_warps=1,
        **shape,
    )
    if has_slopes:
        _add_partial(pieces, partial, vector_slope)
    return total, probability, slope


def _partial_vectors(pieces: Pieces, out: Tensor) -> Tensor:
    """Room for the vectors of pieces of split rows."""
    return out.new_empty((pieces.num_partial, out.shape[1]))


def _add_partial(pieces: Pieces, partial: Tensor, out: Tensor) -> None:
    """Add the vectors of pieces of split rows in their order."""
    if not pieces.num_partial:
        return
    rank = out.shape[1]
    finish_rows_kernel[(len(pieces.split_row),)](
        p_split_row=pieces.split_row,
        p_first=pieces.first,
        p_piece_partial=pieces.partial,
        p_x=None,
        p_scale=None,
        p_loop=None,
        p_out=out,
        p_wide_out=None,
        p_partial=partial,
        width=rank,
        stride=rank,
        first_column=0,
        SCALES=False,
        LOOPS=False,
        WIDE_OUT=False,
        BLOCK_D=triton.next_power_of_2(rank),
        num_warps=1,
    )


def open_rows(
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None,
    query: Tensor | None,
    key: Tensor | None,
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
    query_slope: Tensor,
    key_slope: Tensor,
) -> None:
    """Fill the outputs of `fused_gates.open_rows`."""
    if not len(row_sum):
        penalty.zero_()
        return
    shared = (edge_score, weight, node_id, seed, gates)
    with torch.cuda.device_of(src):
        pieces = pieces_of(row_ptr)
        records = Records.packed(dst_score, src_score, query, key)
        total, probability, slope = _open_direction(
            pieces,
            src,
            None,
            dst_score,
            src_score,
            records,
            query_slope,
            *shared,
            (rows.src, rows.gate, rows.scaled, rows.edge, rows.filled, None),
        )
        loop = torch.ones_like(row_sum) if loop_weight is None else loop_weight
        sum_pieces(pieces, total, loop, row_sum)
        sum_pieces(pieces, slope, None, dst_slope)
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
            None if records is None else records.transposed(),
            key_slope,
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
        sum_pieces(order.pieces, slope, None, src_slope)


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
        BLOCK=GATE_BLOCK,
        num_warps=1,
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
    """Fill the outputs of `fused_aggregate.aggregate_rows`."""
    if not out.numel():
        return
    drop = (node_id, seed, dropout, stream)
    with torch.cuda.device_of(x):
        pieces = pieces_of(row_ptr)
        inverse, loop = _loops(row_sum, loop_weight, *drop, divide=True)
        scaled = rows.scaled if len(rows.scaled) else rows.gate
        value = _dropped(pieces, rows.filled, None, rows.src, scaled, *drop)
        sum_rows(
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
    """Fill the outputs of `fused_aggregate.aggregate_rows_bwd`.

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
        sum_rows(
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
    """Rows g_i / S_i, padded for `sum_rows`; fills ∂S_i = - g_i · out_i / S_i."""
    num_rows, width = grad.shape
    stride = aligned_width(width)
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
    query: Tensor | None,
    key: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    rows: OpenRows,
    gates: HardConcrete,
    grad_dst: Tensor,
    grad_src: Tensor,
    grad_edge: Tensor,
    grad_query: Tensor,
    grad_key: Tensor,
) -> None:
    """Fill the outputs of `fused_gates_bwd.open_rows_bwd`.

    If each slot by source knows its edge, ∂log α goes there and is summed by target, as
    vectors need it; otherwise it is added to the sums of the targets in integers.
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
        vectors = Vectors.padded(query, key)
        shape = NO_VECTORS if vectors is None else vectors.shape
        partial = _partial_vectors(order.pieces, grad_key)
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
            "BLOCK": 128 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
            "num_warps": 1,
        }
        kernels.open_rows_bwd_kernel_sources[(len(order.pieces.row),)](
            p_edge=rows.source_edge,
            p_weight=weight,
            p_grad_edge=grad_place,
            p_part=part,
            p_size=size,
            p_row=order.pieces.row,
            p_query=None if vectors is None else vectors.row,
            p_piece_partial=order.pieces.partial,
            p_grad_key=grad_key,
            p_vector_partial=partial,
            WEIGHTED=weight is not None,
            PLACES=has_places,
            **shape,
            **slots,
        )
        sum_pieces(order.pieces, part, None, grad_src)
        pieces = pieces_of(row_ptr)
        if vectors is not None:
            _add_partial(order.pieces, partial, grad_key)
        if has_places:
            part = grad_dst.new_empty(len(pieces.row))
            partial = _partial_vectors(pieces, grad_query)
            kernels.open_rows_bwd_kernel_targets[(len(pieces.row),)](
                p_bound=pieces.bound,
                p_grad_edge=grad_place,
                p_part=part,
                p_row=pieces.row,
                p_column=src,
                p_key=None if vectors is None else vectors.column,
                p_piece_partial=pieces.partial,
                p_grad_query=grad_query,
                p_vector_partial=partial,
                BLOCK=256 if vectors is None else SUM_BLOCKS[shape["BLOCK_R"]],
                num_warps=1,
                **shape,
            )
            if vectors is not None:
                _add_partial(pieces, partial, grad_query)
            sum_pieces(pieces, part, None, grad_dst)
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
