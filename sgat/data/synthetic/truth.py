"""SyntheticData: a made graph and the truth about its edges."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticData:
    """A made graph, and for every edge whether it is signal or noise.

    Attributes:
        data: The graph with features, labels and roles.
        is_signal: Whether each edge says something about the labels, in the order of
            `data.graph`, [E] bool. Both directions of a pair share the answer.
    """

    data: NodeData
    is_signal: Tensor

    def to(self, device: torch.device | str) -> SyntheticData:
        """The same data on another device."""
        return SyntheticData(self.data.to(device), self.is_signal.to(device))

    def __repr__(self) -> str:
        """One line: the data and the number of signal edges."""
        return f"SyntheticData({self.data!r}, {int(self.is_signal.sum())} signal edges)"


def generator_for(
    seed: int, stream: int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """The random numbers of one concern: streams of a seed do not share numbers.

    Leaving out one concern (say, the features) then changes none of the others.

    Raises:
        ValueError: If `seed` is negative.
    """
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0, got {seed}.")
    mixed = np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(1)
    return torch.Generator(device).manual_seed(int(mixed[0]))


def class_means(
    num_classes: int, num_features: int, signal: float, seed: int
) -> Tensor:
    """The means that `class_features` draws around, on the CPU, [C, K]."""
    mean = torch.randn(num_classes, num_features, generator=generator_for(seed, 10))
    return signal * torch.nn.functional.normalize(mean, dim=1)


def class_features(
    y: Tensor, num_classes: int, num_features: int, signal: float, seed: int
) -> Tensor:
    """Gaussian features around a random mean of length `signal` per class.

        x_i = signal · μ_{y_i} + ε_i,   ‖μ_c‖ = 1,   ε_i ~ N(0, I)

    Two class means are about signal · √2 standard deviations apart whatever the width.
    The means come from the CPU, so that they are the same on every device.

    Args:
        y: Class of each node, [N].
        num_classes: Number of classes C.
        num_features: Width K.
        signal: Length of the class means; 0 gives pure noise.
        seed: Seed of the data.

    Returns:
        Features, [N, K], on the device of `y`.
    """
    mean = class_means(num_classes, num_features, signal, seed).to(y.device)
    x = torch.randn(
        len(y),
        num_features,
        generator=generator_for(seed, 11, y.device),
        device=y.device,
    )
    # In slices, because mean[y] of a large graph is as large as x.
    for start in range(0, len(y), 65536):
        x[start : start + 65536] += mean[y[start : start + 65536]]
    return x
