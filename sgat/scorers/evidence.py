"""EvidenceScorer: gates from the odds that an edge is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdRef

from sgat.evidence import EdgeEvidence
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.ops.kept import Kept
from sgat.scorers.scores import Scores

if TYPE_CHECKING:
    from sgat.data.node_data import NodeData

_known = Kept()


class EvidenceScorer(nn.Module):
    """Gates that close where an edge looks like any random pair of nodes.

        log α_ij = log P(real) / P(noise) + τ

    with τ the threshold of evaluation, so that it keeps the edges that are rather real
    than noise. What is learned before training (`observe`) stays as it is while the
    weights are trained. The odds of a graph are worked out at the first pass over it.

    Args:
        in_channels: Number of input features K.
        num_classes: Number of classes C.
        rank: Length of the vectors that nodes are compared by.
        threshold: τ of the gates.
    """

    sees_input = True

    def __init__(
        self, in_channels: int, num_classes: int, rank: int = 64, *, threshold: float
    ) -> None:
        super().__init__()
        self.evidence = EdgeEvidence(in_channels, num_classes, rank)
        self.threshold = threshold

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Forget what was learned."""
        self.evidence.reset_parameters(generator)

    def observe(self, graphs: Sequence[NodeData], seed: int) -> None:
        """Learn what noise looks like; see `EdgeEvidence.fit`."""
        self.evidence.fit(graphs, seed=seed)

    def forward(self, h: Tensor, graph: Graph, x: Features) -> Scores:
        """Score every edge of the graph."""
        zero = h.new_zeros(graph.num_nodes)
        return Scores(zero, zero, self._odds(graph, x).to(h) + self.threshold)

    def _odds(self, graph: Graph, x: Features) -> Tensor:
        """The evidence, worked out anew only when it, or the features, changed."""
        mark = (*_mark(self.evidence.mixtures), *_mark(x))
        known: tuple[Any, Tensor] | None = _known.get(graph.src)
        if known is None or known[0] != mark:
            known = mark, self.evidence(x, graph)
            _known.set(graph.src, known)
        return known[1]


def _mark(x: Features) -> tuple[WeakIdRef, int, int]:
    """What changes when the content of a tensor does.

    An address alone does not: it is given out again when its tensor is gone.
    """
    tensor = x.value if isinstance(x, SparseFeatures) else x
    memory = WeakIdRef(tensor.untyped_storage())
    return memory, tensor.data_ptr(), tensor._version
