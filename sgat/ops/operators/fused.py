"""The operations over compacted open edges, shared by the CPU and GPU kernels.

Each pass is a `torch.library` operator with a fake kernel and its gradient, so that
autograd, `torch.compile` and CUDA graphs see one node per pass (`fused_gates.py`,
`fused_aggregate.py`). `cpu/` and `gpu/` supply the passes themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise
from sgat.ops.noise import Seed
from sgat.ops.operators.aggregate import aggregate_rows
from sgat.ops.operators.gates import open_rows
from sgat.ops.operators.passes import SPLIT, FusedBackend, seed_tensor
from sgat.ops.operators.slots import OpenRows
from sgat.ops.reference import rounded


class OpenEdges(NamedTuple):
    """Open edges in slots; the attributes of `sgat.ops.reference.OpenEdges`.

    `edge` and `gate` are computed when asked for and wait for the device.
    Gradients reach the scores through `penalty`, `row_sum` and `aggregate`, not through
    `gate`.

    Attributes:
        graph: The graph they were drawn from.
        rows: The slots.
        row_sum: S_i = A_ii + Σ_j A_ij z_ij, [N].
        penalty: Expected number of open edges Σ P(z_ij ≠ 0) over all edges, a scalar.
        scores: dst_score, src_score, edge_score, query and key the gates were drawn
            with.
        seed: Key of the gate noise, one int64; None at evaluation.
        gates: Shape of the hard-concrete distribution.
        backend: Whose kernels drew them.
    """

    graph: Graph
    rows: OpenRows
    row_sum: Tensor
    penalty: Tensor
    scores: tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]
    seed: Tensor | None
    gates: HardConcrete
    backend: FusedBackend

    @property
    def num_open(self) -> Tensor:
        """Number of open edges, a scalar on the device."""
        return self.rows.filled.sum()

    @property
    def edge(self) -> Tensor:
        """Positions of the open edges in the graph, ascending, [O]."""
        filled = self._filled
        return self.graph.find(self.rows.src[filled], self.graph.dst[filled])

    @property
    def gate(self) -> Tensor:
        """Gate z_ij in (0, 1] of each open edge, [O]."""
        return self.rows.gate[self._filled]

    @property
    def _filled(self) -> Tensor:
        """Whether each slot holds an open edge, [E]."""
        graph, split = self.graph, SPLIT[self.backend]
        dst = graph.dst.long()
        pieces = ((graph.row_ptr.diff() - 1) // split + 1).clamp(1)
        first = torch.cat([pieces.new_zeros(1), pieces.cumsum(0)])
        position = torch.arange(graph.num_edges, device=graph.device)
        position = position - graph.row_ptr[dst]
        piece = first[dst] + torch.div(position, split, rounding_mode="floor")
        return position % split < self.rows.filled[piece]


def open_edges(
    graph: Graph,
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None = None,
    query: Tensor | None = None,
    key: Tensor | None = None,
    *,
    seed: Seed | None = None,
    gates: HardConcrete | None = None,
    backend: FusedBackend,
) -> OpenEdges:
    """See `sgat.ops.open_edges`."""
    gates = gates or HardConcrete()
    wide = torch.float32
    for score in (dst_score, src_score, edge_score, query, key):
        wide = wide if score is None else torch.promote_types(wide, score.dtype)
    scores = (
        dst_score.to(wide).contiguous(),
        src_score.to(wide).contiguous(),
        _in_type(edge_score, wide),
        _vectors_in_type(query, wide),
        _vectors_in_type(key, wide),
    )
    with_sources = torch.is_grad_enabled()
    with_pairs = with_sources and any(
        vector is not None and vector.requires_grad for vector in scores[3:]
    )
    seed_key = None if seed is None else seed_tensor(seed, graph.device)
    outputs = open_rows(
        *scores,
        graph.row_ptr,
        graph.src,
        _in_type(graph.weight, wide),
        _in_type(graph.loop_weight, wide),
        graph.node_id,
        seed_key,
        gates.temperature,
        gates.gamma,
        gates.zeta,
        with_sources,
        with_pairs,
        backend,
    )
    slots, row_sum, penalty = outputs[:11], outputs[11], outputs[12]
    return OpenEdges(
        graph, OpenRows(*slots), row_sum, penalty, scores, seed_key, gates, backend
    )


def _in_type(values: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if values is None else values.to(dtype).contiguous()


def _vectors_in_type(vector: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Vectors of a narrow type `rounded` before the passes take them for wide ones."""
    if vector is not None and dtype == torch.float64:
        vector = rounded(vector)
    return _in_type(vector, dtype)


def aggregate(
    opened: OpenEdges,
    x: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
) -> Tensor:
    """See `sgat.ops.aggregate`."""
    graph = opened.graph
    if torch.is_grad_enabled() and opened.rows.source_filled.shape[0] == 0:
        # Gates drawn without gradients know the edges by target only.
        opened = open_edges(
            graph,
            *opened.scores,
            seed=opened.seed,
            gates=opened.gates,
            backend=opened.backend,
        )
    drops = dropout > 0 and seed is not None
    key = seed_tensor(seed, graph.device) if drops and seed is not None else None
    out: Tensor
    out, _, _ = aggregate_rows(
        (x.flatten(1) if x.dim() > 1 else x[:, None]).contiguous(),
        list(opened.rows),
        opened.row_sum,
        graph.row_ptr,
        graph.src,
        _in_type(graph.loop_weight, opened.row_sum.dtype),
        graph.node_id,
        key,
        dropout,
        noise.ATTENTION_DROPOUT + layer,
        opened.backend,
    )
    return out.reshape(x.shape)
