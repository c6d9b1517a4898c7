"""The gate pass on the GPU, by target and by source.

Tested by tests/ops/test_gpu.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.ops.gpu.gates_kernel import open_rows_kernel
from sgat.ops.gpu.pieces import sum_pieces
from sgat.ops.gpu.records import Records
from sgat.ops.gpu.vectors import add_partial, partial_vectors
from sgat.ops.operators.gates import GateInputs, GateSums
from sgat.ops.operators.pieces import RowPieces, unpacked
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
    inputs: GateInputs,
    cut: RowPieces,
    column: Tensor,
    entry: Tensor | None,
    scores: tuple[Tensor, Tensor],
    records: Records | None,
    vector_slope: Tensor,
    outputs: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None],
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the gate pass in one direction; return the sums of each piece.

    Fills `vector_slope` if it is not empty. Spare pieces get counts and sums of 0.
    """
    open_column, gate, scaled, open_edge, filled, whole = outputs
    (row_score, column_score), gates = scores, inputs.gates
    num_pieces = len(cut.row)
    # The counts have room for every possible cut; the rest stays 0.
    filled[num_pieces:].zero_()
    if whole is not None:
        whole[num_pieces:].zero_()
    total, probability, slope = row_score.new_empty(3, num_pieces)
    has_slopes = vector_slope.numel() > 0
    partial = partial_vectors(cut, vector_slope)
    shape, block = NO_RECORDS, GATE_BLOCK
    if records is not None:
        shape = records.shape
        block = PAIR_BLOCKS[shape["LANES"]]
    open_rows_kernel[(num_pieces,)](
        p_bound=cut.bound,
        p_row=cut.row,
        p_column=column,
        p_entry=entry,
        p_row_score=row_score,
        p_column_score=column_score,
        p_edge_score=inputs.edge_score,
        p_row_record=None if records is None else records.row,
        p_column_record=None if records is None else records.column,
        p_weight=inputs.weight,
        p_node_id=inputs.node_id,
        p_seed=inputs.seed,
        p_open_column=open_column,
        p_gate=gate,
        p_scaled=scaled,
        p_open_edge=open_edge,
        p_filled=filled,
        p_whole=whole,
        p_total=total,
        p_probability=probability,
        p_slope=slope,
        p_piece_partial=cut.partial,
        p_vector_slope=vector_slope,
        p_vector_partial=partial,
        TEMPERATURE=gates.temperature,
        GAMMA=gates.gamma,
        ZETA=gates.zeta,
        THRESHOLD=gates.threshold,
        PLACES=entry is not None and len(open_edge) > 0,
        SLOPES=has_slopes,
        # Edges of a block held by one thread of the warp, one lane of each.
        FOLD=block * shape["LANES"] // 32,
        BLOCK=block,
        num_warps=1,
        **shape,
    )
    if has_slopes:
        add_partial(cut, partial, vector_slope)
    return total, probability, slope


def open_rows(inputs: GateInputs, rows: OpenRows, sums: GateSums) -> None:
    """Fill the outputs of the operator of this name."""
    dst_score, src_score = inputs.dst_score, inputs.src_score
    num_nodes = len(dst_score)
    if not num_nodes:
        sums.penalty.zero_()
        return
    with torch.cuda.device_of(inputs.src):
        targets = unpacked(inputs.targets, num_nodes)
        records = Records.packed(dst_score, src_score, inputs.query, inputs.key)
        total, probability, slope = _open_direction(
            inputs,
            targets,
            inputs.src,
            None,
            (dst_score, src_score),
            records,
            sums.query_slope,
            (rows.src, rows.gate, rows.scaled, rows.edge, rows.filled, None),
        )
        loop = inputs.loop_weight
        loop = torch.ones_like(sums.row_sum) if loop is None else loop
        sum_pieces(targets, total, loop, sums.row_sum)
        sum_pieces(targets, slope, None, sums.dst_slope)
        sums.penalty.copy_(probability.sum())
        if inputs.sources is None or inputs.source_dst is None:
            return
        sources = unpacked(inputs.sources, num_nodes)
        _, _, slope = _open_direction(
            inputs,
            sources,
            inputs.source_dst,
            inputs.source_edge,
            (src_score, dst_score),
            None if records is None else records.transposed(),
            sums.key_slope,
            (
                rows.dst,
                rows.source_gate,
                rows.source_scaled,
                rows.source_edge,
                rows.source_filled,
                rows.source_whole,
            ),
        )
        sum_pieces(sources, slope, None, sums.src_slope)
