"""Embedding: every node as a short vector, near those whose features are alike."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.judging.matrices import compressed, products, slices
from sgat.ops.blocks import array_device, of_tensor

Array = np.ndarray[Any, Any]

RANK = 64
"""Length of the vectors."""
MOST_ROWS = 50_000
"""Nodes with dense features that axes are found from; more would not turn them much."""
DENSE = 0.5
"""Share of entries that are not 0 from which features are no bag of words."""
POWER_STEPS = 4
SMALLEST = 1e-30
"""Entries up to this count as 0 where all of a column, or a row, are as small."""
ENTRIES_AT_ONCE = 1 << 18
"""Entries of sparse features that are worked on together."""


class Embedding(NamedTuple):
    """The way from features to vectors.

        z = unit(x ⊙ scale - offset) - centre,   u = unit(z · axes)

    A bag of words is weighed by how rare its words are (scale = log N / N_k); other
    features are standardised, and those that never change are left out (scale = 0).
    """

    scale: Tensor  # [K]
    offset: Tensor  # [K]
    centre: Tensor  # mean of the unit rows, [K]
    axes: Tensor  # directions of largest variance, 0 where there is none, [K, R]

    def vectors(self, x: Features) -> Tensor:
        """The vector of each node, of length 1 or 0, [N, R] in float32."""
        rows = _UnitRows(x, self.scale, self.offset)
        return F.normalize(rows.times(self.axes) - self.centre @ self.axes, dim=1)


def fit_embedding(x: Features, rank: int, *, seed: int = 0) -> Embedding:
    """Find the embedding of features: where long arrays lie, of sparse ones on the CPU.

    Sums of sparse rows depend on their order on a GPU.
    """
    generator = torch.Generator().manual_seed(seed)
    if not isinstance(x, SparseFeatures) and len(x) > MOST_ROWS:
        x = x[torch.randperm(len(x), generator=generator)[:MOST_ROWS].to(x.device)]
    given = x
    x = x.detach().to(array_device()) if isinstance(x, Tensor) else x.to("cpu")
    scale, offset = _scaling(x)
    rows = _UnitRows(x, scale, offset)
    centre = rows.mean()
    axes = torch.zeros(x.shape[1], rank, device=scale.device)
    found = _main_axes(rows, centre, min(rank, *x.shape), generator)
    axes[:, : found.shape[1]] = found
    parts = (scale, offset, centre, axes)
    return Embedding(*(part.to(given.device) for part in parts))


def vectors(x: Features, *, seed: int = 0) -> Array:
    """The vectors of nodes in the embedding of their own features, [N, RANK].

    Of fewer features than RANK they are as long as there are features.
    """
    return of_tensor(fit_embedding(x, min(RANK, x.shape[1]), seed=seed).vectors(x))


def unit_rows(x: Features) -> Any:
    """The rows that the embedding projects, of length 1 or 0: an array or a matrix.

    They lie where long arrays do.
    """
    device = array_device()
    x = x.detach().to(device) if isinstance(x, Tensor) else x.to(device)
    rows = _UnitRows(x, *_scaling(x)).rows
    if isinstance(rows, Tensor):
        return of_tensor(rows)
    value, column, ptr = map(of_tensor, (rows.value, rows.column, rows.row_ptr))
    return compressed(value, column, ptr, (rows.shape[0], rows.shape[1]))


def _scaling(x: Features) -> tuple[Tensor, Tensor]:
    """Weight and offset of each column."""
    value = x.value if isinstance(x, SparseFeatures) else x
    if bool((value >= 0).all()):
        if isinstance(x, SparseFeatures):
            used = torch.bincount(x.column[value != 0], minlength=x.num_columns)
        else:
            used = (x != 0).sum(dim=0)
        filled = used.float()
        if float(filled.sum()) < DENSE * x.shape[0] * x.shape[1]:
            share = (filled / len(x)).clamp(min=1 / max(len(x), 1))
            return -share.log(), torch.zeros_like(share)
    rows = _dense(x).float()
    # Squares of very large entries are no numbers in single precision.
    low, high = rows.aminmax(dim=0)
    size = torch.maximum(high, -low)
    rows = rows / size
    std = rows.std(dim=0, correction=0)
    # A column that never changes, to rounding, says nothing.
    is_live = (size > SMALLEST) & (std > 1e-6)
    scale = torch.where(is_live, 1 / std / size, 0.0)
    return scale, torch.where(is_live, rows.mean(dim=0) / std, 0.0)


class _UnitRows:
    """Rows unit(x ⊙ scale - offset); sparse features stay so where there is no offset.

    Identity features of many nodes would fill the memory otherwise.
    """

    def __init__(self, x: Features, scale: Tensor, offset: Tensor) -> None:
        self.rows: Features
        if isinstance(x, SparseFeatures) and not bool(offset.any()):
            value = x.value.double() * scale[x.column]
            squares = dataclasses.replace(x, value=value.square())
            total = _times(squares, value.new_ones(x.num_columns, 1)).squeeze(1)
            length = total.sqrt().clamp(min=SMALLEST)
            self.rows = dataclasses.replace(x, value=(value / length[x.row]).float())
        else:
            # A bag of words is not scaled to size, so its squares need more digits.
            kind = torch.float if bool(offset.any()) else torch.double
            rows = _dense(x).to(kind) * scale - offset
            self.rows = F.normalize(rows, dim=1, eps=SMALLEST).float()

    def times(self, weight: Tensor) -> Tensor:
        """Rows times a matrix [K, R], [N, R]."""
        return _times(self.rows, weight)

    def transposed_times(self, y: Tensor) -> Tensor:
        """Σ_i row_i y_i, [K, R], for y of [N, R]."""
        rows = self.rows
        if isinstance(rows, Tensor):
            return rows.T @ y
        total = y.new_zeros(rows.num_columns, y.shape[1])
        for part in slices(len(rows.value), ENTRIES_AT_ONCE):
            products = rows.value[part, None] * y[rows.row[part]]
            total.index_add_(0, rows.column[part], products)
        return total

    def mean(self) -> Tensor:
        """The mean row, [K]."""
        number = len(self.rows)
        ones = self.rows.new_ones if isinstance(self.rows, Tensor) else torch.ones
        return self.transposed_times(ones(number, 1)).squeeze(1) / max(number, 1)


def _times(rows: Features, weight: Tensor) -> Tensor:
    if isinstance(rows, Tensor):
        return rows @ weight
    bags = rows.row_ptr[:-1]
    return F.embedding_bag(
        rows.column, weight, bags, mode="sum", per_sample_weights=rows.value
    )


def _main_axes(
    rows: _UnitRows, centre: Tensor, number: int, generator: torch.Generator
) -> Tensor:
    """Directions of largest variance, by subspace iteration, [K, number]."""

    def centred(basis: Tensor) -> Tensor:
        return rows.times(basis) - centre @ basis

    basis = torch.randn(len(centre), number, generator=generator).to(centre)
    # One thread, in double precision: several round by how many they are.
    with threadpool_limits(1, user_api="blas"):
        for _ in range(POWER_STEPS):
            seen = centred(basis)
            back = rows.transposed_times(seen) - centre[:, None] * seen.sum(dim=0)
            basis = torch.from_numpy(np.linalg.qr(back.double().cpu().numpy())[0])
            basis = basis.to(centre)
        # Turned, so that the directions come one by one, the largest first.
        turn = np.linalg.eigh(products(of_tensor(centred(basis))))[1][:, ::-1]
    return (basis.double() @ torch.from_numpy(turn.copy()).to(basis.device)).float()


def _dense(x: Features) -> Tensor:
    return x.to_dense() if isinstance(x, SparseFeatures) else x
