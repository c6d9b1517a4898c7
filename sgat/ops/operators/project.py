"""Dropout and projection of features as operators, and the operation over them."""

from typing import Any, NamedTuple

from torch import Tensor, is_grad_enabled

from sgat.features import Features, SparseFeatures
from sgat.ops import noise
from sgat.ops.dense_product import product
from sgat.ops.noise import Seed
from sgat.ops.operators.operator import FastBackend, gradients, operator
from sgat.ops.operators.pieces import owned_pieces
from sgat.ops.reference import wide_type


class DropInputs(NamedTuple):
    """Inputs of the dropout m ⊙ x with the mask of `noise.dense_feature_mask`."""

    x: Tensor  # node features, [N, K]
    node_id: Tensor | None  # name of each node in the noise, [N]; None for 0 … N-1
    seed: Tensor  # key of the noise, [1]
    rate: float  # share of entries to drop
    stream: int  # stream of the noise
    backend: str  # whose kernels run


def _empty_drop(inputs: DropInputs) -> Tensor:
    return inputs.x.new_empty(inputs.x.shape)


drop_features = operator("drop_features", DropInputs, _empty_drop)


def _save_drop(ctx: Any, inputs: Any, output: Any) -> None:
    _, node_id, seed, *ctx.options = inputs
    ctx.save_for_backward(node_id, seed)


def _differentiate_drop(ctx: Any, grad: Tensor) -> Any:
    dropped = drop_features(grad.contiguous(), *ctx.saved_tensors, *ctx.options)
    return gradients(DropInputs, x=dropped)


drop_features.register_autograd(_differentiate_drop, setup_context=_save_drop)


class ProjectInputs(NamedTuple):
    """Inputs of the product (m ⊙ x) W for x in compressed rows.

    `columns`, `column_row` and `column_entry` are None if no gradient is wanted.
    """

    weight: Tensor  # weights W, [K, D]
    row_ptr: Tensor  # where the entries of each row begin, [N + 1]
    column: Tensor  # column of each entry, [M]
    value: Tensor  # value of each entry, [M]
    row: Tensor | None  # row of each entry, [M]; None on the CPU and without a seed
    rows: Tensor  # the rows in pieces, see `cut_rows`
    columns: Tensor | None  # the columns in pieces
    column_row: Tensor | None  # row of each entry in the order by column, [M]
    column_entry: Tensor | None  # its position in the order by row, [M]
    node_id: Tensor | None
    seed: Tensor | None  # None drops nothing; the rest is as in `DropInputs`
    rate: float
    stream: int
    backend: str


class Projected(NamedTuple):
    """The product, [N, D], and the values m ⊙ x, [M], empty without a seed."""

    out: Tensor
    dropped: Tensor


def _empty_project(inputs: ProjectInputs) -> Projected:
    num_values = 0 if inputs.seed is None else inputs.value.shape[0]
    shape = (inputs.row_ptr.shape[0] - 1, inputs.weight.shape[1])
    return Projected(inputs.weight.new_empty(shape), inputs.value.new_empty(num_values))


project_sparse = operator("project_sparse", ProjectInputs, _empty_project)


class ProjectGradInputs(NamedTuple):
    """Inputs of the gradient xᵀ g of the weights, summed over each column's entries.

    Fields without a comment are those of `ProjectInputs`.
    """

    grad: Tensor  # gradient g of the product, [N, D]
    value: Tensor  # values after dropout, in the order by row, [M]
    columns: Tensor
    column_row: Tensor
    column_entry: Tensor
    num_columns: int  # number of columns K
    backend: str


def _empty_weight(inputs: ProjectGradInputs) -> Tensor:
    return inputs.grad.new_empty((inputs.num_columns, inputs.grad.shape[1]))


project_sparse_bwd = operator("project_sparse_bwd", ProjectGradInputs, _empty_weight)


def _save_project(ctx: Any, inputs: Any, output: Any) -> None:
    given, made = ProjectInputs(*inputs), Projected(*output)
    ctx.mark_non_differentiable(made.dropped)
    ctx.set_materialize_grads(False)
    ctx.num_columns, ctx.backend = given.weight.shape[0], given.backend
    value = given.value if given.seed is None else made.dropped
    order = (given.columns, given.column_row, given.column_entry)
    ctx.save_for_backward(value, *order)


def _differentiate_project(ctx: Any, grad: Tensor | None, _: None) -> Any:
    if grad is None:
        return gradients(ProjectInputs)
    out = project_sparse_bwd(
        grad.contiguous(), *ctx.saved_tensors, ctx.num_columns, ctx.backend
    )
    return gradients(ProjectInputs, weight=out)


project_sparse.register_autograd(_differentiate_project, setup_context=_save_project)


def project(
    x: Features,
    weight: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
    node_id: Tensor | None = None,
    backend: FastBackend,
) -> Tensor:
    """See `sgat.ops.project`."""
    key = None if seed is None else noise.seed_tensor(seed, x.device)
    stream = noise.FEATURE_DROPOUT + layer
    if isinstance(x, SparseFeatures):
        inputs = sparse_inputs(x, weight, node_id, key, dropout, stream, backend)
        out: Tensor = project_sparse(*inputs)[0]
        return out
    if key is None:
        return product(x, weight)
    given = DropInputs(x.contiguous(), node_id, key, dropout, stream, backend)
    dropped: Tensor = drop_features(*given)
    return product(dropped, weight)


def sparse_inputs(
    x: SparseFeatures,
    weight: Tensor,
    node_id: Tensor | None,
    seed: Tensor | None,
    rate: float,
    stream: int,
    backend: FastBackend,
) -> ProjectInputs:
    """The inputs of `project_sparse`, with what the features own."""
    num_entries = len(x.column)
    rows = owned_pieces(x.derived, "rows", x.row_ptr, num_entries, backend)
    by_column: Any = None, None, None
    if is_grad_enabled() and weight.requires_grad:
        ptr, row, entry = x.by_column
        columns = owned_pieces(x.derived, "columns", ptr, num_entries, backend)
        by_column = columns, row, entry
    value = x.value.to(wide_type(weight.dtype))
    entry_row = x.row if backend == "gpu" and seed is not None else None
    entries = x.row_ptr, x.column, value, entry_row, rows, *by_column
    given: Any = weight.contiguous(), *entries, node_id, seed, rate, stream, backend
    return ProjectInputs(*given)
