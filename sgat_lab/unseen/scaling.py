"""Scalings of node features: as they are, rows that sum to 1, standardised columns."""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.features import Features, SparseFeatures, normalise_rows

SCALINGS = ("as-is", "rows", "standard")


def dense(x: Features) -> Tensor:
    """The full matrix, [N, K] float32."""
    return (x.to_dense() if isinstance(x, SparseFeatures) else x).float()


def standardised(x: Tensor) -> Tensor:
    """Columns of mean 0 and deviation 1; one that is the same everywhere is 0."""
    deviation = x.std(dim=0, correction=0)
    scale = torch.where(deviation > 1e-8, 1 / deviation.clamp(min=1e-8), 0.0)
    return (x - x.mean(dim=0)) * scale


class ScaledFeatures:
    """The features of a graph on a device in every scaling, each made once.

    All nodes count, no label does.
    """

    def __init__(self, x: Features, device: torch.device | str = "cpu") -> None:
        self._made = {"as-is": dense(x.to(device))}

    def scaled(self, how: str) -> Tensor:
        """The features in one of `SCALINGS`, [N, K]."""
        if how not in self._made:
            plain = self._made["as-is"]
            found = normalise_rows(plain) if how == "rows" else standardised(plain)
            assert isinstance(found, Tensor)
            self._made[how] = found
        return self._made[how]
