"""SparseFeatures: a node feature matrix of which only the non-zero entries are kept.

FeatureScaling divides features, sparse or dense, by rows or by columns.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sgat.graph.compressed_rows import by_column, entry_rows, once, pointers, to_scipy

LARGEST_FEATURE = 1e15
"""Size of a feature beyond which sums of squares are no numbers in float32."""


class ColumnOrder(NamedTuple):
    """The entries of `SparseFeatures` once more, sorted by column and then by row."""

    ptr: Tensor  # entries of column k stand at positions ptr[k] to ptr[k + 1], [K + 1]
    row: Tensor  # row of each entry in this order, [M]
    entry: Tensor  # position of each entry in the order by row, [M]


@dataclasses.dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Node features in compressed rows, for bags of words and identity features.

    Attributes:
        row_ptr: Entries of node i stand at positions row_ptr[i] to row_ptr[i + 1], [N +
            1] int64.
        column: Column of each entry, ascending within a row, [M] int64.
        value: Value of each entry, [M].
        num_columns: Width K of the matrix.
        derived: Results worked out from where the entries stand, by name; they go with
            the matrix (see `sgat.graph.compressed_rows.once`).
    """

    row_ptr: Tensor
    column: Tensor
    value: Tensor
    num_columns: int
    derived: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_dense(cls, x: Tensor) -> SparseFeatures:
        """Keep the non-zero entries of a dense matrix, [N, K]."""
        row, column = x.nonzero(as_tuple=True)
        return cls(pointers(row, len(x)), column, x[row, column], x.shape[1])

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseFeatures:
        """Take over any SciPy sparse matrix or array."""
        check_sparse(matrix, "X")
        rows = matrix.tocsr(copy=True)
        check_sparse(rows, "X")
        rows.sum_duplicates()
        return cls(
            torch.from_numpy(rows.indptr.astype(np.int64)),
            torch.from_numpy(rows.indices.astype(np.int64)),
            torch.from_numpy(rows.data).to(torch.get_default_dtype()),
            rows.shape[1],
        )

    @classmethod
    def identity(cls, num_nodes: int) -> SparseFeatures:
        """One feature per node that is 1 for this node alone."""
        row_ptr, column = torch.arange(num_nodes + 1), torch.arange(num_nodes)
        return cls(row_ptr, column, torch.ones(num_nodes), num_nodes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return len(self.row_ptr) - 1, self.num_columns

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        """Device of the values."""
        return self.value.device

    @property
    def row(self) -> Tensor:
        """Row of each entry, [M] int64."""
        return once(self.derived, "row", lambda: entry_rows(self.row_ptr, self.column))

    @property
    def by_column(self) -> ColumnOrder:
        """The entries sorted by column, for passes over each column."""
        given = self.row_ptr, self.column, self.num_columns
        return once(self.derived, "by column", lambda: ColumnOrder(*by_column(*given)))

    def to(self, device: torch.device | str) -> SparseFeatures:
        """The same matrix on another device; itself if it is there."""
        given = (self.row_ptr, self.column, self.value)
        row_ptr, column, value = (part.to(device) for part in given)
        if row_ptr is self.row_ptr and column is self.column and value is self.value:
            return self
        return SparseFeatures(row_ptr, column, value, self.num_columns)

    def to_scipy(self, dtype: Any = None) -> Any:
        """The same matrix as a SciPy array, with values of this type, [N, K]."""
        value = self.value.numpy(force=True)
        if dtype is not None:
            value = value.astype(dtype)
        return to_scipy(self.row_ptr, self.column, value, self.shape)

    def to_dense(self) -> Tensor:
        """The full matrix, [N, K]."""
        dense = self.value.new_zeros(self.shape)
        dense[self.row, self.column] = self.value
        return dense

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __repr__(self) -> str:
        """One line: shape and fill."""
        rows, columns = self.shape
        fill = len(self.value) / max(rows * columns, 1)
        return f"SparseFeatures({rows} x {columns}, {fill:.1%} filled)"


Features = Tensor | SparseFeatures
"""Node features [N, K], dense or sparse."""


def concatenate(parts: list[Features]) -> Features:
    """Put the rows of several matrices below each other, all dense or all sparse."""
    if all(isinstance(part, Tensor) for part in parts):
        return torch.cat([part for part in parts if isinstance(part, Tensor)])
    sparse = [part for part in parts if isinstance(part, SparseFeatures)]
    if len(sparse) < len(parts):
        raise ValueError("Features of one batch must be all dense or all sparse.")
    offset, row_ptr = 0, [sparse[0].row_ptr[:1]]
    for part in sparse:
        row_ptr.append(part.row_ptr[1:] + offset)
        offset += len(part.value)
    return SparseFeatures(
        torch.cat(row_ptr),
        torch.cat([part.column for part in sparse]),
        torch.cat([part.value for part in sparse]),
        sparse[0].num_columns,
    )


def rows(x: Features, start: int, stop: int) -> Features:
    """The rows from `start` up to `stop`; all of them are the matrix itself."""
    if (start, stop) == (0, x.shape[0]):
        return x
    if isinstance(x, Tensor):
        return x[start:stop]
    ptr = x.row_ptr[start : stop + 1]
    entries = slice(int(ptr[0]), int(ptr[-1]))
    return SparseFeatures(
        ptr - ptr[0], x.column[entries], x.value[entries], x.num_columns
    )


def normalise_rows(x: Features) -> Features:
    """Divide each row by its sum of absolute values; rows of zeros stay zero."""
    if isinstance(x, SparseFeatures):
        total = _sums(x.value.abs(), x.row_ptr)
        return _with_value(x, x.value / total.clamp(min=1e-12)[x.row])
    return x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-12)


def _sums(value: Tensor, ptr: Tensor) -> Tensor:
    """Sums between pointers, in the same order at every call, [len(ptr) - 1]."""
    return torch.segment_reduce(value, "sum", offsets=ptr, initial=0, unsafe=True)


def _with_value(x: SparseFeatures, value: Tensor) -> SparseFeatures:
    """Other values at the same places, and all that is known of the places."""
    changed = dataclasses.replace(x, value=value)
    changed.derived.update(x.derived)
    return changed


class FeatureScaling(nn.Module):
    """Features as a model is to see them.

        none:      x_ik
        rows:      x_ik / Σ_k |x_ik|                  a row of zeros stays 0
        standard:  (x_ik - mean_k) / spread_k         mean and spread of what `fit` saw
                   x_ik / √(mean of x_ik²)            if it saw sparse features

    The spread is the standard deviation; that of a column of equal numbers counts as 1.
    Sparse features stay sparse, unless `fit` saw dense ones.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, num_columns: int, how: str = "none") -> None:
        super().__init__()
        if how not in ("none", "rows", "standard"):
            raise ValueError(f"`scaling` must be none, rows or standard, got {how!r}.")
        self.how = how
        if how == "standard":
            self.register_buffer("mean", torch.zeros(num_columns))
            self.register_buffer("spread", torch.ones(num_columns))

    def reset_parameters(self) -> None:
        """Forget what `fit` saw."""
        if self.how == "standard":
            self.mean.zero_()
            self.spread.fill_(1)

    @torch.no_grad()
    def fit(self, parts: list[Features]) -> None:
        """Take mean and spread from the features of some graphs, [N, K] each."""
        if self.how != "standard":
            return
        self.reset_parameters()
        x = parts[0] if len(parts) == 1 else concatenate(parts)
        if isinstance(x, SparseFeatures):
            square = x.value.double().square()[x.by_column.entry]
            spread = (_sums(square, x.by_column.ptr) / max(len(x), 1)).sqrt()
        else:
            variance, mean = torch.var_mean(x.double(), dim=0, correction=0)
            spread = variance.sqrt()
            self.mean.copy_(mean)
        # Equal numbers may differ from their mean by rounding.
        varies = spread > 1e-7 * self.mean.abs()
        self.spread.copy_(torch.where(varies, spread, 1))

    def forward(self, x: Features) -> Features:
        """The features, scaled; the same ones if there is nothing to do."""
        if self.how != "standard":
            return normalise_rows(x) if self.how == "rows" else x
        if isinstance(x, SparseFeatures):
            if not bool(self.mean.any()):
                return _with_value(x, x.value / self.spread.to(x.value)[x.column])
            x = x.to_dense()
        return (x - self.mean.to(x)) / self.spread.to(x)

    def extra_repr(self) -> str:
        """The kind."""
        return self.how


def check_sparse(matrix: Any, name: str) -> None:
    """Refuse a sparse matrix of SciPy or torch whose index arrays do not fit its shape.

    To use one that was made so by hand is to read and write anywhere in memory.
    """
    how: Any = {"check_invariants": True}
    try:
        if isinstance(matrix, Tensor) and matrix.layout == torch.sparse_coo:
            entries = matrix._indices(), matrix._values(), matrix.shape
            torch.sparse_coo_tensor(*entries, **how)
        elif isinstance(matrix, Tensor):
            by_row = matrix.layout in (torch.sparse_csr, torch.sparse_bsr)
            ptr = matrix.crow_indices() if by_row else matrix.ccol_indices()
            place = matrix.col_indices() if by_row else matrix.row_indices()
            how |= {"size": matrix.shape, "layout": matrix.layout}
            torch.sparse_compressed_tensor(ptr, place, matrix.values(), **how)
        elif hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        elif getattr(matrix, "format", None) == "coo":
            for place, size in zip(matrix.coords, matrix.shape, strict=True):
                is_out = (place < 0) | (place >= size)
                if len(place) != len(matrix.data) or is_out.any():
                    raise ValueError(f"there are places outside 0 to {size - 1}")
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"`{name}` must be a sparse matrix whose places are within its shape, got"
            f" others ({reason}); make it anew from its entries."
        ) from error
