"""The slots of the open edges, which the gate pass fills and the others read.

Open edges are compacted in place: those of node i fill the first slots of the extent
that all edges of i have in the graph. Nothing is counted across rows, so no pass waits
for another and no size leaves the device.

Tested by tests/ops/test_cpu.py and tests/ops/test_gpu.py.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class OpenRows(NamedTuple):
    """The slots of the open edges, by target and by source.

    Slots past the count of their row hold nothing to be read.

    Attributes:
        gate: Gate z of each slot, by target, [E].
        src: Source of each slot, [E].
        scaled: A_ij z_ij of each slot; empty if all weights are 1.
        edge: Slot of each edge, -1 if it is closed, [E]; empty on the GPU.
        filled: Number of open edges of each piece of a row, [N + E // split].
        dst: Target of each slot, by source; this, `edge` and the next four are empty
            if no gradient is wanted.
        source_gate: Gate of each slot by source; through these, and through the row
            sums, gradients of a loss on outputs reach the scores.
        source_scaled: A_ij z_ij of each slot by source; empty if all weights are 1.
        source_edge: Where a slot by source stands among the slots by target (CPU) or
            the edges of the graph (GPU); empty there for scores in float32 unless edges
            have weights or scores of their own, or gradients of vectors are wanted.
        source_filled: Number of open edges of each piece of a row by source; on the
            GPU, of half-open edges.
        source_whole: Number of edges with gate 1 of each piece, which then stand at
            its end, without gate and edge; empty on the CPU.
    """

    gate: Tensor
    src: Tensor
    scaled: Tensor
    edge: Tensor
    filled: Tensor
    dst: Tensor
    source_gate: Tensor
    source_scaled: Tensor
    source_edge: Tensor
    source_filled: Tensor
    source_whole: Tensor


NUM_SLOTS = len(OpenRows._fields)
"""Number of tensors that the slots are."""
