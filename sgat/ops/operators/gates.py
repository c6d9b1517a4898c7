"""The gate pass as an operator, with its fake kernel and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.gates import HardConcrete
from sgat.ops.memory_pool import new_empty
from sgat.ops.operators.gates_bwd import differentiate_open_rows, save_open_rows
from sgat.ops.operators.passes import SPLIT, kernels_of
from sgat.ops.operators.slots import OpenRows

OpenRowsOutput = tuple[
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
]
"""The fields of `OpenRows`, the row sums, the penalty and its four slopes."""


@torch.library.custom_op("sgat::open_rows", mutates_args=())
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
    temperature: float,
    gamma: float,
    zeta: float,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> OpenRowsOutput:
    """Gate pass: the fields of `OpenRows`, then S, the penalty and its slopes.

    The vectors are `reference.rounded` by the pass itself, here and in its gradient.

    The slopes are the gradients of the penalty Σ π_ij: Σ_j π_ij (1 - π_ij) by s_i and
    Σ_i π_ij (1 - π_ij) by t_j, [N], that by source empty without sources; the same sums
    over the vectors, Σ_j π_ij (1 - π_ij) k_j by q_i and Σ_i π_ij (1 - π_ij) q_i by k_j,
    [N, R], empty unless `with_pairs`, which needs sources.
    """
    outputs = _empty_open_rows(
        dst_score,
        edge_score,
        query,
        row_ptr,
        src,
        weight,
        with_sources,
        with_pairs,
        backend,
    )
    kernels_of(backend).open_rows(
        dst_score,
        src_score,
        edge_score,
        query,
        key,
        row_ptr,
        src,
        weight,
        loop_weight,
        node_id,
        seed,
        HardConcrete(temperature, gamma, zeta),
        with_sources,
        OpenRows(*outputs[:11]),
        *outputs[11:],
    )
    return outputs


def _empty_open_rows(
    dst_score: Tensor,
    edge_score: Tensor | None,
    query: Tensor | None,
    row_ptr: Tensor,
    src: Tensor,
    weight: Tensor | None,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> OpenRowsOutput:
    score, scored, on_cpu = dst_score, edge_score is not None, backend == "cpu"
    rank = query.shape[1] if query is not None and with_pairs else 0
    pair_shape = (row_ptr.shape[0] - 1 if rank else 0, rank)
    num_nodes, num_edges = row_ptr.shape[0] - 1, src.shape[0]
    num_source = num_edges if with_sources else 0
    # Float64 is worth more digits than sums in integers have.
    is_double = score.dtype == torch.float64
    knows_edge = on_cpu or scored or weight is not None or is_double or rank > 0
    num_pieces = num_nodes + num_edges // SPLIT[backend]
    edge_type = torch.int32 if num_edges < 2**31 else torch.int64
    return (
        new_empty(score, num_edges),
        new_empty(src, num_edges),
        new_empty(score, 0 if weight is None else num_edges),
        new_empty(src, num_source if on_cpu else 0, dtype=edge_type),
        new_empty(src, num_pieces, dtype=torch.int32),
        new_empty(src, num_source),
        new_empty(score, num_source),
        new_empty(score, 0 if weight is None else num_source),
        new_empty(src, num_source if knows_edge else 0, dtype=edge_type),
        new_empty(src, num_pieces if with_sources else 0, dtype=torch.int32),
        new_empty(
            src, 0 if on_cpu or not with_sources else num_pieces, dtype=torch.int32
        ),
        new_empty(score, num_nodes),
        new_empty(score, ()),
        new_empty(score, num_nodes),
        new_empty(score, num_nodes if with_sources else 0),
        new_empty(score, pair_shape),
        new_empty(score, pair_shape),
    )


@open_rows.register_fake
def _(
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
    temperature: float,
    gamma: float,
    zeta: float,
    with_sources: bool,
    with_pairs: bool,
    backend: str,
) -> Any:
    return _empty_open_rows(
        dst_score,
        edge_score,
        query,
        row_ptr,
        src,
        weight,
        with_sources,
        with_pairs,
        backend,
    )


open_rows.register_autograd(differentiate_open_rows, setup_context=save_open_rows)
