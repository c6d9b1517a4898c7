"""Baseline: a NodeClassifier of PyG's layers, with its noise ruled by one seed."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from sgat import ops
from sgat.conv import as_graph, noise_seed
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.node_classifier import NodeClassifier, Output
from sgat.ops import Seed

T = TypeVar("T")


@contextlib.contextmanager
def seeded(seed: Seed, device: torch.device) -> Iterator[None]:
    """Run with torch's global generators seeded, and put them back as they were.

    PyG's layers draw their dropout from these. Waits for the device if the seed is
    there.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(int(seed))
        yield


class Baseline(NodeClassifier):
    """The part that competing methods share; `run` of each defines its pass."""

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """One pass; the seed is None in evaluation mode.

        Torch's generators are seeded too, for layers that draw from those.
        """
        raise NotImplementedError

    def compute(
        self,
        x: Features,
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
    ) -> Output:
        """See `NodeClassifier.compute`."""
        graph = as_graph(edge_index, x.shape[0], edge_weight)
        seed = noise_seed(seed, self.training)
        if seed is None:
            return self.run(x, graph, None)
        with seeded(seed, graph.device):
            return self.run(x, graph, seed)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights of all layers anew, each as its own class does."""
        seed = torch.randint(2**62, (1,), generator=generator)
        with seeded(seed, torch.device("cpu")):
            for child in self.children():
                _reset(child)


def _reset(module: nn.Module) -> None:
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for child in module.children():
        _reset(child)


class Projection(nn.Module):
    """Dropout and a product with the weights, for features dense or sparse.

    PyG's layers take dense features alone, so the first product is made here and the
    layer's own is left out (see `unprojected`).

    Args:
        in_channels: Width K of the input.
        out_channels: Width D of the output.
        dropout: Share of entries to drop.
        bias: Add a learned vector.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None

    def reset_parameters(self) -> None:
        """Glorot's uniform weights, as PyG's layers have them, and no bias."""
        bound = math.sqrt(6 / sum(self.weight.shape))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self, x: Features, graph: Graph, seed: Seed | None, layer: int = 0
    ) -> Tensor:
        """(m ⊙ x) W, [N, D]."""
        out = ops.project(
            x,
            self.weight,
            dropout=self.dropout,
            seed=seed,
            layer=layer,
            node_id=graph.node_id,
        )
        return out if self.bias is None else out + self.bias


class _NoProjection(nn.Identity):
    def reset_parameters(self) -> None:
        """There is nothing to draw."""


def unprojected(conv: nn.Module) -> nn.Module:
    """A layer of PyG without its own product with the weights."""
    conv.lin = _NoProjection()
    return conv


class PerGraph(Generic[T]):
    """A value that a model computes once for each graph and keeps while both live.

    Copies of the model share it.

    Args:
        compute: The value for a graph.
    """

    def __init__(self, compute: Callable[[Graph], T]) -> None:
        self.compute = compute
        self._known: weakref.WeakKeyDictionary[Graph, T] = weakref.WeakKeyDictionary()

    def __call__(self, graph: Graph) -> T:
        """The value for a graph."""
        if graph not in self._known:
            self._known[graph] = self.compute(graph)
        return self._known[graph]

    def __deepcopy__(self, memo: dict[int, Any]) -> PerGraph[T]:
        """The same: values depend on graphs, not on weights."""
        return self


def dense(x: Features) -> Tensor:
    """The features as one matrix, [N, K]."""
    return x.to_dense() if isinstance(x, SparseFeatures) else x
