"""Open edges in slots, and the operations over them, for the CPU and the GPU alike."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise
from sgat.ops.noise import Seed
from sgat.ops.operators.aggregate import AggregateInputs, aggregate_rows
from sgat.ops.operators.gates import NUM_SLOTS, GateInputs, OpenRows, open_rows
from sgat.ops.operators.operator import FastBackend
from sgat.ops.operators.pieces import owned_pieces, unpacked
from sgat.ops.reference import rounded

NodeAndEdgeScores = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]
"""dst_score, src_score, edge_score, query and key of `sgat.ops.open_edges`."""


class SlottedEdges(NamedTuple):
    """Open edges in slots; the attributes of `sgat.ops.reference.OpenEdges`.

    `edge` and `gate` are computed when asked for and wait for the device. Gradients
    reach the scores through `penalty`, `row_sum` and `aggregate`, not through `gate`.
    """

    graph: Graph
    rows: OpenRows
    row_sum: Tensor
    penalty: Tensor
    scores: NodeAndEdgeScores  # those that the gates were drawn with
    seed: Tensor | None  # key of the gate noise, one int64; None at evaluation
    gates: HardConcrete
    backend: FastBackend  # whose kernels drew them

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
    def open_src(self) -> Tensor:
        """Source of each open edge, [O]."""
        return self.rows.src[self._filled]

    @property
    def gate(self) -> Tensor:
        """Gate z_ij in (0, 1] of each open edge, [O]."""
        return self.rows.gate[self._filled]

    @property
    def _filled(self) -> Tensor:
        """Whether each slot holds an open edge, [E]."""
        graph, size = self.graph, self.graph.num_edges
        packed = _pieces(graph, "targets", self.backend)
        bound = unpacked(packed, graph.num_nodes).bound
        filled = self.rows.filled[: len(bound) - 1].long()
        ends = torch.repeat_interleave(
            bound[:-1] + filled, bound.diff(), output_size=size
        )
        return torch.arange(size, device=graph.device) < ends


def open_edges(
    graph: Graph,
    given: NodeAndEdgeScores,
    *,
    seed: Seed | None = None,
    gates: HardConcrete | None = None,
    backend: FastBackend,
) -> SlottedEdges:
    """See `sgat.ops.open_edges`."""
    gates = gates or HardConcrete()
    wide = torch.float32
    for score in given:
        wide = wide if score is None else torch.promote_types(wide, score.dtype)
    dst_score, src_score, edge_score, query, key = given
    scores = (
        dst_score.to(wide).contiguous(),
        src_score.to(wide).contiguous(),
        _in_type(edge_score, wide),
        _vectors_in_type(query, wide),
        _vectors_in_type(key, wide),
    )
    seed_key = None if seed is None else noise.seed_tensor(seed, graph.device)
    inputs = gate_inputs(graph, scores, seed_key, gates, backend)
    outputs = open_rows(*inputs)
    rows, (row_sum, penalty, *_) = outputs[:NUM_SLOTS], outputs[NUM_SLOTS:]
    return SlottedEdges(
        graph, OpenRows(*rows), row_sum, penalty, scores, seed_key, gates, backend
    )


def gate_inputs(
    graph: Graph,
    scores: NodeAndEdgeScores,
    seed: Tensor | None,
    gates: HardConcrete,
    backend: FastBackend,
) -> GateInputs:
    """The inputs of the gate pass over a graph, with what the graph owns."""
    wide = scores[0].dtype
    with_sources = torch.is_grad_enabled()
    sources = source_dst = source_edge = None
    if with_sources:
        sources = _pieces(graph, "sources", backend)
        _, source_dst, source_edge = graph.by_source
    return GateInputs(
        *scores,
        src=graph.src,
        weight=_in_type(graph.weight, wide),
        loop_weight=_in_type(graph.loop_weight, wide),
        node_id=graph.node_id,
        seed=seed,
        targets=_pieces(graph, "targets", backend),
        sources=sources,
        source_dst=source_dst,
        source_edge=source_edge,
        temperature=gates.temperature,
        gamma=gates.gamma,
        zeta=gates.zeta,
        with_slopes=with_sources and any(map(_learns, scores)),
        with_pairs=with_sources and any(map(_learns, scores[3:])),
        backend=backend,
    )


def _pieces(
    graph: Graph, by: Literal["targets", "sources"], backend: FastBackend
) -> Tensor:
    """The edges by target or by source in pieces, which the graph owns."""
    ptr = graph.row_ptr if by == "targets" else graph.by_source.ptr
    return owned_pieces(graph.derived, by, ptr, graph.num_edges, backend)


def _learns(score: Tensor | None) -> bool:
    return score is not None and score.requires_grad


def _in_type(values: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if values is None else values.to(dtype).contiguous()


def _vectors_in_type(vector: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Vectors of a narrow type `rounded` before the passes take them for wide ones."""
    if vector is not None and dtype == torch.float64:
        vector = rounded(vector)
    return _in_type(vector, dtype)


def aggregate(
    opened: SlottedEdges, x: Tensor, *, dropout: float, seed: Seed | None, layer: int
) -> Tensor:
    """See `sgat.ops.aggregate`."""
    graph = opened.graph
    if torch.is_grad_enabled() and opened.rows.source_filled.shape[0] == 0:
        # Gates drawn without gradients know the edges by target only.
        opened = open_edges(
            graph,
            opened.scores,
            seed=opened.seed,
            gates=opened.gates,
            backend=opened.backend,
        )
    key = None if seed is None else noise.seed_tensor(seed, graph.device)
    rows = (x.flatten(1) if x.dim() > 1 else x[:, None]).contiguous()
    stream = noise.ATTENTION_DROPOUT + layer
    inputs = aggregate_inputs(opened, rows, key, dropout, stream)
    out: Tensor = aggregate_rows(*inputs)[0]
    return out.reshape(x.shape)


def aggregate_inputs(
    opened: SlottedEdges, x: Tensor, seed: Tensor | None, dropout: float, stream: int
) -> AggregateInputs:
    """The inputs of the sums over open edges, with what their graph owns."""
    graph, backend = opened.graph, opened.backend
    return AggregateInputs(
        x=x,
        rows=list(opened.rows),
        row_sum=opened.row_sum,
        targets=_pieces(graph, "targets", backend),
        sources=_pieces(graph, "sources", backend) if torch.is_grad_enabled() else None,
        loop_weight=_in_type(graph.loop_weight, opened.row_sum.dtype),
        node_id=graph.node_id,
        seed=seed,
        dropout=dropout,
        stream=stream,
        backend=backend,
    )
