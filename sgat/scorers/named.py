"""Scorers by name, as a config chooses them."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from sgat.scorers.additive import AdditiveScorer
from sgat.scorers.bilinear import BilinearScorer
from sgat.scorers.cosine import CosineScorer
from sgat.scorers.gatv2 import GATv2Scorer
from sgat.scorers.structure import StructureScorer


def _additive(channels: int, rank: int, init_gain: float) -> nn.Module:
    return AdditiveScorer(channels, init_gain=init_gain)


def _cosine(channels: int, rank: int, init_gain: float) -> nn.Module:
    return CosineScorer(channels, rank, init_gain=init_gain)


def _bilinear(channels: int, rank: int, init_gain: float) -> nn.Module:
    return BilinearScorer(channels, rank, init_gain=init_gain)


def _gatv2(channels: int, rank: int, init_gain: float) -> nn.Module:
    return GATv2Scorer(channels, rank, init_gain=init_gain)


def _structure(channels: int, rank: int, init_gain: float) -> nn.Module:
    return StructureScorer(channels, init_gain=init_gain)


SCORERS: dict[str, Callable[[int, int, float], nn.Module]] = {
    "additive": _additive,
    "cosine": _cosine,
    "bilinear": _bilinear,
    "gatv2": _gatv2,
    "structure": _structure,
}
"""Makers of scorers; those in `ModelConfig.scorer`."""


def make_scorer(
    name: str, channels: int, rank: int, *, init_gain: float = 1.0
) -> nn.Module:
    """The scorer of this name.

    Args:
        name: A key of `SCORERS`.
        channels: Width D of the projected features.
        rank: Length of the vectors of "cosine" and "bilinear", width of the hidden
            layer of "gatv2".
        init_gain: Scale of the initial weights.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in SCORERS:
        raise ValueError(
            f"Unknown scorer {name!r}; choose one of {', '.join(SCORERS)}."
        )
    return SCORERS[name](channels, rank, init_gain)
