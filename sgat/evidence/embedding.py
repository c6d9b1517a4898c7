"""Embedding: every node as a short vector, near those whose features are alike."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.features import Features, SparseFeatures

MOST_ROWS = 50_000
"""Nodes that the axes are found from; more would not turn them much."""
DENSE = 0.5
"""Share of entries that are not 0 from which features are no bag of words."""
POWER_STEPS = 4


class Embedding(NamedTuple):
    """How features become vectors.

        z = unit(x ⊙ scale - offset) - centre,   u = unit(z · axes)

    A bag of words is weighed by how rare its words are (scale = log N / N_k); other
    features are standardised, and those that never change are left out (scale = 0).

    Attributes:
        scale: Weight of each column, [K].
        offset: What is taken off each column, [K].
        centre: Mean of the unit rows, [K].
        axes: Directions of largest variance, [K, R]; those that do not exist are 0.
    """

    scale: Tensor
    offset: Tensor
    centre: Tensor
    axes: Tensor

    def vectors(self, x: Features) -> Tensor:
        """The vector of each node, of length 1 or 0, [N, R] in float32."""
        rows = _dense(x).float()
        z = F.normalize(rows * self.scale - self.offset, dim=1) - self.centre
        return F.normalize(z @ self.axes, dim=1)


def fit_embedding(x: Features, rank: int, *, seed: int = 0) -> Embedding:
    """Find the embedding of features; computed on the CPU, the same on every device.

    Args:
        x: Node features, [N, K].
        rank: Length R of the vectors.
        seed: Of the nodes that are looked at, if there are very many, and of the start
            of the search for the axes.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = _dense(x).detach().float().cpu()
    if len(rows) > MOST_ROWS:
        rows = rows[torch.randperm(len(rows), generator=generator)[:MOST_ROWS]]
    filled = (rows != 0).float()
    if bool((rows >= 0).all()) and float(filled.mean()) < DENSE:
        share = filled.mean(dim=0).clamp(min=1 / len(rows))
        scale, offset = -share.log(), torch.zeros_like(share)
    else:
        std = rows.std(dim=0, correction=0)
        # A column that never changes, to rounding, says nothing.
        is_live = std > 1e-6 * rows.abs().amax(dim=0)
        scale = torch.where(is_live, 1 / std, 0.0)
        offset = rows.mean(dim=0) * scale
    z = F.normalize(rows * scale - offset, dim=1)
    centre = z.mean(dim=0)
    axes = z.new_zeros(x.shape[1], rank)
    found = _main_axes(z - centre, min(rank, *z.shape), generator)
    axes[:, : found.shape[1]] = found
    device = x.device
    return Embedding(*(part.to(device) for part in (scale, offset, centre, axes)))


def _main_axes(z: Tensor, number: int, generator: torch.Generator) -> Tensor:
    """Directions of largest variance, by subspace iteration, [K, number]."""
    basis = torch.randn(z.shape[1], number, generator=generator)
    for _ in range(POWER_STEPS):
        basis = torch.linalg.qr(z.T @ (z @ basis)).Q
    # Turned, so that the directions come one by one, the largest first.
    turned: Tensor = basis @ torch.linalg.svd(z @ basis, full_matrices=False).Vh.T
    return turned


def _dense(x: Features) -> Tensor:
    return x.to_dense() if isinstance(x, SparseFeatures) else x
