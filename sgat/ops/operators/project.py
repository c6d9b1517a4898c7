"""Dropout and projection of features, shared by the CPU and GPU kernels.

The operators are built as those of `fused_gates.py` are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sgat.features import Features, SparseFeatures, product
from sgat.ops import noise
from sgat.ops.memory_pool import new_empty
from sgat.ops.noise import Seed
from sgat.ops.operators.passes import FusedBackend, kernels_of, seed_tensor, wide_type


@torch.library.custom_op("sgat::drop_features", mutates_args=())
def drop_features(
    x: Tensor,
    node_id: Tensor | None,
    seed: Tensor,
    rate: float,
    stream: int,
    backend: str,
) -> Tensor:
    """Dropout m ⊙ x with the mask of `noise.dense_feature_mask`, [N, K]."""
    out = new_empty(x, x.shape)
    kernels_of(backend).drop_features(x.contiguous(), node_id, seed, rate, stream, out)
    return out


@drop_features.register_fake
def _(
    x: Tensor,
    node_id: Tensor | None,
    seed: Tensor,
    rate: float,
    stream: int,
    backend: str,
) -> Tensor:
    return new_empty(x, x.shape)


def _save_drop(ctx: Any, inputs: Any, output: Any) -> None:
    _, node_id, seed, *ctx.options = inputs
    ctx.save_for_backward(seed, *([] if node_id is None else [node_id]))


def _drop_bwd(ctx: Any, grad: Tensor) -> Any:
    seed, *node_id = ctx.saved_tensors
    dropped = drop_features(grad, node_id[0] if node_id else None, seed, *ctx.options)
    return dropped, None, None, None, None, None


drop_features.register_autograd(_drop_bwd, setup_context=_save_drop)


@torch.library.custom_op("sgat::project_sparse", mutates_args=())
def project_sparse(
    weight: Tensor,
    row_ptr: Tensor,
    column: Tensor,
    value: Tensor,
    node_id: Tensor | None,
    seed: Tensor | None,
    rate: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor]:
    """(m ⊙ x) W for x in compressed rows, [N, D], and the values m ⊙ x, [M].

    The values are empty without a seed: they are those given.
    """
    outputs = _empty_project(weight, row_ptr, value, seed)
    kernels_of(backend).project_sparse(
        weight, row_ptr, column, value, node_id, seed, rate, stream, *outputs
    )
    return outputs


def _empty_project(
    weight: Tensor, row_ptr: Tensor, value: Tensor, seed: Tensor | None
) -> tuple[Tensor, Tensor]:
    num_values = 0 if seed is None else value.shape[0]
    return (
        new_empty(weight, (row_ptr.shape[0] - 1, weight.shape[1])),
        new_empty(value, num_values),
    )


@project_sparse.register_fake
def _(
    weight: Tensor,
    row_ptr: Tensor,
    column: Tensor,
    value: Tensor,
    node_id: Tensor | None,
    seed: Tensor | None,
    rate: float,
    stream: int,
    backend: str,
) -> tuple[Tensor, Tensor]:
    return _empty_project(weight, row_ptr, value, seed)


@torch.library.custom_op("sgat::project_sparse_bwd", mutates_args=())
def project_sparse_bwd(
    grad: Tensor,
    row_ptr: Tensor,
    column: Tensor,
    value: Tensor,
    num_columns: int,
    backend: str,
) -> Tensor:
    """Gradient xᵀ g of the weights, summed over the entries of each column, [K, D]."""
    out = new_empty(grad, (num_columns, grad.shape[1]))
    kernels_of(backend).project_sparse_bwd(grad, row_ptr, column, value, out)
    return out


@project_sparse_bwd.register_fake
def _(
    grad: Tensor,
    row_ptr: Tensor,
    column: Tensor,
    value: Tensor,
    num_columns: int,
    backend: str,
) -> Tensor:
    return new_empty(grad, (num_columns, grad.shape[1]))


def _save_project(ctx: Any, inputs: Any, output: Any) -> None:
    weight, row_ptr, column, value, _, seed, _, _, backend = inputs
    dropped = output[1]
    ctx.mark_non_differentiable(dropped)
    ctx.set_materialize_grads(False)
    ctx.num_columns, ctx.backend = weight.shape[0], backend
    ctx.save_for_backward(row_ptr, column, value if seed is None else dropped)


def _project_bwd(ctx: Any, grad: Tensor | None, _: None) -> Any:
    if grad is None:
        return (None,) * 9
    out = project_sparse_bwd(
        grad.contiguous(), *ctx.saved_tensors, ctx.num_columns, ctx.backend
    )
    return out, *[None] * 8


project_sparse.register_autograd(_project_bwd, setup_context=_save_project)


def project(
    x: Features,
    weight: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
    node_id: Tensor | None = None,
    backend: FusedBackend,
) -> Tensor:
    """See `sgat.ops.project`."""
    drops = dropout > 0 and seed is not None
    key = seed_tensor(seed, x.device) if drops and seed is not None else None
    stream = noise.FEATURE_DROPOUT + layer
    if isinstance(x, SparseFeatures):
        out: Tensor = project_sparse(
            weight.contiguous(),
            x.row_ptr,
            x.column,
            x.value.to(wide_type(weight.dtype)),
            node_id,
            key,
            dropout,
            stream,
            backend,
        )[0]
        return out
    if key is None:
        return product(x, weight)
    dropped: Tensor = drop_features(x, node_id, key, dropout, stream, backend)
    return product(dropped, weight)
