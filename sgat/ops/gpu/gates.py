"""The gate pass on the GPU, by target and by source."""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops.gpu.gates_kernel import open_rows_kernel
from sgat.ops.gpu.pieces import Pieces, order_of, pieces_of, sum_pieces
from sgat.ops.gpu.records import Records
from sgat.ops.gpu.vectors import add_partial, partial_vectors
from sgat.ops.operators.slots import OpenRows

GATE_BLOCK = 64
"""Edges of a block of the gate pass; its programs have one warp."""

PAIR_BLOCKS = {1: 64, 2: 64, 4: 32, 8: 32, 16: 32}
"""The same for records of so many lanes.

Records take registers, and fewer edges leave room for more programs at a time. Chosen
by timing 4 and 8 lanes (docs/kernels.md); the others follow their neighbours.
"""

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
    partial = partial_vectors(pieces, vector_slope)
    by_source = entry is not None
    shape, block = NO_RECORDS, GATE_BLOCK
    if records is not None:
        shape = records.shape
        block = PAIR_BLOCKS[shape["LANES"]]
    open_rows_kernel[(num_pieces,)](
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
        add_partial(pieces, partial, vector_slope)
    return total, probability, slope


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
