"""EvidenceScorer: gates from the odds that an edge is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdRef

from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.judging import EdgeEvidence
from sgat.ops.cache import Kept
from sgat.scorers.scores import Scores

if TYPE_CHECKING:
    from sgat.data.node_data import NodeData

HEARD = 2.0
"""How far log α of the edges to keep lies above its border, on average, at least."""
MOST_SCALE = 100.0
"""Odds that hardly differ are not spread any further."""

_known = Kept()


# An operator, for a compiler cannot look up what is known.
@torch.library.custom_op("sgat::odds", mutates_args=())
def odds(
    dst: Tensor,
    src: Tensor,
    row_ptr: Tensor,
    features: Sequence[Tensor],
    num_columns: int,
    learned: Sequence[Tensor],
) -> Tensor:
    """Odds of every edge, worked out anew only when evidence or features changed.

    Args:
        dst: Target of each edge, as in `Graph`, [E].
        src: Source of each edge, [E].
        row_ptr: Row pointers of the graph, [N + 1].
        features: A dense matrix, or the three tensors of `SparseFeatures`.
        num_columns: Number of features K.
        learned: The buffers of `EdgeEvidence`.

    Returns:
        The odds, [E]; a copy, for an operator hands out new tensors.
    """
    mark = (*_mark(learned[-1]), *_mark(features[-1]))
    known: tuple[Any, Tensor] | None = _known.get(src)
    if known is None or known[0] != mark:
        graph = Graph(len(row_ptr) - 1, dst, src, row_ptr)
        x: Features = features[0]
        if len(features) > 1:
            x = SparseFeatures(features[0], features[1], features[2], num_columns)
        known = mark, EdgeEvidence.of(learned)(x, graph)
        _known.set(src, known)
    return known[1].clone()


@odds.register_fake
def _(
    dst: Tensor,
    src: Tensor,
    row_ptr: Tensor,
    features: Sequence[Tensor],
    num_columns: int,
    learned: Sequence[Tensor],
) -> Tensor:
    dtype = torch.promote_types(torch.float32, learned[-1].dtype)
    return dst.new_empty(dst.shape[0], dtype=dtype)


def _parts(x: Features) -> list[Tensor]:
    if isinstance(x, SparseFeatures):
        return [x.row_ptr, x.column, x.value.detach()]
    return [x.detach()]


def _mark(tensor: Tensor) -> tuple[WeakIdRef, int, object]:
    """What changes when the content of a tensor does.

    An address alone does not: it is given out again when its tensor is gone. Tensors
    made in inference mode do not count their changes, so each look finds a new one.
    """
    memory = WeakIdRef(tensor.untyped_storage())
    version = object() if tensor.is_inference() else tensor._version
    return memory, tensor.data_ptr(), version


class EvidenceScorer(nn.Module):
    """Gates that close where an edge looks like any random pair of nodes.

        log α_ij = scale · log P(real) / P(noise) + shift + τ

    with τ the threshold of evaluation, so that it keeps the edges that are rather real
    than noise: scale is 1 and shift 0, unless a share of the edges is to be kept. What
    is learned before training (`observe`) stays as it is while the weights are trained.
    The odds of a graph are worked out at the first pass over it.

    Args:
        in_channels: Number of input features K.
        num_classes: Number of classes C.
        rank: Length of the vectors that nodes are compared by.
        threshold: τ of the gates.
    """

    sees_input = True
    scale: Tensor
    shift: Tensor

    def __init__(
        self, in_channels: int, num_classes: int, rank: int = 64, *, threshold: float
    ) -> None:
        super().__init__()
        self.evidence = EdgeEvidence(in_channels, num_classes, rank)
        self.threshold = threshold
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("shift", torch.zeros(()))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Forget what was learned."""
        self.evidence.reset_parameters(generator)
        self.scale.fill_(1)
        self.shift.zero_()

    def observe(
        self, graphs: Sequence[NodeData], seed: int, *, keep: float | None = None
    ) -> None:
        """Learn what noise looks like; see `EdgeEvidence.fit`.

        A share to keep puts the border where the odds may be close together, and the
        kept edges would be all but closed. So the odds are then spread around their
        mean, by as much as the best edges need:

            scale = max(1, HEARD / (mean odds of the best share - the least of them))
            shift = (1 - scale) · mean odds of all

        Args:
            graphs: Where to learn.
            seed: Of all that is drawn.
            keep: Share of the edges that training is to keep; None if it is free.
        """
        self.evidence.fit(graphs, seed=seed)
        self.scale.fill_(1)
        self.shift.zero_()
        if keep is not None and any(data.graph.num_edges for data in graphs):
            parts = [self._odds(data.x, data.graph) for data in graphs]
            found = torch.cat(parts).double()
            best = found.topk(max(1, round(keep * len(found)))).values
            scale = (HEARD / (best.mean() - best.min())).clamp(1, MOST_SCALE)
            self.scale.copy_(scale)
            self.shift.copy_((1 - scale) * found.mean())

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Load what was learned, also by versions that did not spread the odds."""
        state_dict.setdefault(prefix + "scale", torch.ones(()))
        state_dict.setdefault(prefix + "shift", torch.zeros(()))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _odds(self, x: Features, graph: Graph) -> Tensor:
        found: Tensor = odds(
            graph.dst,
            graph.src,
            graph.row_ptr,
            _parts(x),
            x.shape[1],
            list(self.evidence.buffers()),
        )
        return found

    def forward(self, h: Tensor, graph: Graph, x: Features) -> Scores:
        """Score every edge of the graph."""
        zero = h.new_zeros(graph.num_nodes)
        found = self._odds(x, graph) * self.scale + self.shift
        return Scores(zero, zero, found.to(h) + self.threshold)
