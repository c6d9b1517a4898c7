"""Plain PyTorch that reads like the equations and defines "correct", on any device.

Autograd differentiates it; `docs/method.md` derives the gradients of fast backends.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.ops import noise
from sgat.ops.noise import Seed


class OpenEdges(NamedTuple):
    """The edges that take part in a pass, with their gates."""

    graph: Graph  # the graph they were drawn from
    edge: Tensor  # positions of the open edges in the graph, ascending, [O]
    gate: Tensor  # gate z_ij in (0, 1] of each open edge, [O]
    row_sum: Tensor  # S_i = A_ii + Σ_j A_ij z_ij, [N]
    penalty: Tensor  # expected number of open edges Σ P(z_ij ≠ 0), a scalar
    log_alpha: Tensor | None = None  # of every edge, open or not, [E], if it is known

    @property
    def num_open(self) -> Tensor:
        """Number of open edges, a scalar."""
        return (self.gate > 0).sum()

    @property
    def open_src(self) -> Tensor:
        """Source of each open edge, [O]."""
        return self.graph.src[self.edge]


EDGES_AT_ONCE = 1 << 20
"""Edges whose two vectors are held in memory together."""
MAX_RANK = 64
"""Longest query and key of a node that the kernels hold at once."""


def check_pair(query: Tensor | None, key: Tensor | None, num_nodes: int) -> None:
    """Refuse vectors of other shapes than [N, R], or one without the other."""
    if query is None and key is None:
        return
    if query is None or key is None:
        raise ValueError(
            "`query` and `key` must be given together, got only"
            f" `{'key' if query is None else 'query'}`."
        )
    for name, value in (("query", query), ("key", key)):
        if value.dim() != 2 or len(value) != num_nodes:
            raise ValueError(
                f"`{name}` must have shape [{num_nodes}, R], got {list(value.shape)}."
            )
    if query.shape != key.shape or not 1 <= query.shape[1] <= MAX_RANK:
        raise ValueError(
            f"`query` and `key` must have the same 1 to {MAX_RANK} columns,"
            f" got {query.shape[1]} and {key.shape[1]}."
        )


def log_alphas(
    graph: Graph,
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None = None,
    query: Tensor | None = None,
    key: Tensor | None = None,
) -> Tensor:
    """Gate locations log α_ij = s_i + t_j + q_i · k_j + c_ij of every edge, [E]."""
    check_pair(query, key, graph.num_nodes)
    if graph.halo is not None:
        src_score = graph.halo.scores(src_score)
        key = None if key is None else graph.halo.scores(key)
    log_alpha = _rows(dst_score, graph.dst) + _rows(src_score, graph.src)
    if query is not None and key is not None:
        log_alpha = log_alpha + pair_scores(graph.dst, graph.src, query, key)
    return log_alpha if edge_score is None else log_alpha + edge_score


def rounded(vector: Tensor) -> Tensor:
    """Vectors in the numbers of bfloat16, in their own type; float64 as it is.

    The gradient passes as if nothing were rounded.
    """
    if vector.dtype == torch.float64:
        return vector
    value = vector.detach().to(torch.bfloat16).to(vector.dtype)
    # The difference is exact, and so is the sum.
    return vector + (value - vector.detach()) if vector.requires_grad else value


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type in which numbers of a type are summed: float32 at least."""
    return torch.promote_types(dtype, torch.float32)


def pair_scores(dst: Tensor, src: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """q_i · k_j of every edge, both `rounded`, [E], a part of the edges at a time."""
    query, key = rounded(query), rounded(key)
    parts = [
        (_rows(query, i) * _rows(key, j)).sum(dim=1)
        for i, j in zip(dst.split(EDGES_AT_ONCE), src.split(EDGES_AT_ONCE), strict=True)
    ]
    return torch.cat(parts)


def _rows(values: Tensor, index: Tensor) -> Tensor:
    """values[index], whose gradient is summed in the same order at every call."""
    return values.index_select(0, index)


def open_edges(
    graph: Graph, *scores: Any, seed: Seed | None = None, gates: Gates | None = None
) -> OpenEdges:
    """See `sgat.ops.open_edges`; the scores are those of `log_alphas`."""
    gates = gates or HardConcrete()
    log_alpha = log_alphas(graph, *scores)
    if seed is None:
        gate = gates.value(log_alpha)
    else:
        gate = gates.sample(
            log_alpha, noise.edge_uniform(seed, graph, noise.GATES).to(log_alpha)
        )
    penalty = gates.probability_open(log_alpha).sum()
    with_closed = seed is not None and gates.reaches_closed
    return with_gates(graph, gate, penalty, log_alpha, with_closed=with_closed)


def with_gates(
    graph: Graph,
    gate: Tensor,
    penalty: Tensor,
    log_alpha: Tensor | None = None,
    *,
    with_closed: bool = False,
) -> OpenEdges:
    """The open edges for given gates z_ij in [0, 1] of all edges, [E].

    `with_closed` leaves closed edges in, for a gradient by their gates.
    """
    if with_closed or torch.compiler.is_compiling():
        # A compiled graph has fixed shapes. Closed edges that stay in add zeros to all
        # sums.
        edge = torch.arange(graph.num_edges, device=graph.device)
    else:
        edge = (gate > 0).nonzero().squeeze(1)
        gate = gate[edge]
    weight = gate if graph.weight is None else gate * graph.weight[edge].to(gate)
    row_sum = torch.index_add(graph.loop_weights.to(gate), 0, graph.dst[edge], weight)
    return OpenEdges(graph, edge, gate, row_sum, penalty, log_alpha)


def coefficients(opened: OpenEdges) -> tuple[Tensor, Tensor]:
    """Attention a_ij = A_ij z_ij / S_i (eq. 8) of open edges, [O], and of loops, [N].

    They are 0 where a row is empty (S_i = 0, possible only with a loop of weight 0).
    """
    graph, edge, gate, row_sum = opened[:4]
    inverse = torch.where(row_sum > 0, 1 / torch.where(row_sum > 0, row_sum, 1), 0)
    weight = gate if graph.weight is None else gate * graph.weight[edge].to(gate)
    heard = weight * _rows(inverse, graph.dst[edge])
    return heard, graph.loop_weights.to(gate) * inverse


def aggregate(
    opened: OpenEdges,
    x: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
) -> Tensor:
    """See `sgat.ops.aggregate`."""
    graph, edge = opened.graph, opened.edge
    coefficient, loop = coefficients(opened)
    if seed is not None:
        stream = noise.ATTENTION_DROPOUT + layer
        node = graph.noise_id
        kept = noise.edge_uniform(seed, graph, stream, edge) >= dropout
        loop_kept = noise.uniform(seed, node, node, stream) >= dropout
        coefficient = coefficient * kept / (1 - dropout)
        loop = loop * loop_kept / (1 - dropout)
    rows = x.flatten(1) if x.dim() > 1 else x[:, None]
    wide = rows.to(wide_type(rows.dtype))
    messages = coefficient.to(wide)[:, None] * _rows(wide, graph.src[edge])  # [O, D]
    out = torch.index_add(loop.to(wide)[:, None] * wide, 0, graph.dst[edge], messages)
    return out.to(x.dtype).reshape(x.shape)


def project(
    x: Features,
    weight: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
    node_id: Tensor | None = None,
) -> Tensor:
    """See `sgat.ops.project`."""
    mask = None
    if seed is not None:
        node = torch.arange(len(x), device=x.device) if node_id is None else node_id
        stream = noise.FEATURE_DROPOUT + layer
        if isinstance(x, SparseFeatures):
            mask = noise.feature_mask(seed, node[x.row], x.column, stream, rate=dropout)
        else:
            mask = noise.dense_feature_mask(
                seed, node, x.shape[1], stream, rate=dropout
            )
    if isinstance(x, SparseFeatures):
        value = x.value if mask is None else x.value * mask
        return F.embedding_bag(
            x.column,
            weight,
            x.row_ptr[:-1],
            mode="sum",
            per_sample_weights=value.to(weight),
        )
    return (x if mask is None else x * mask.to(x)) @ weight
