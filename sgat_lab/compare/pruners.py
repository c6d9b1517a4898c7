"""Choice of edges: every method keeps exactly the same share of the links."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.ops import noise
from sgat_lab.sparsifiers import find_sparsifier, keep_best, links
from sgat_lab.trials.task import Task

UNLEARNED = {
    "random": "Random",
    "local-degree": "Local Degree",
    "k-neighbor": "K-Neighbor",
    "jaccard": "Jaccard / cosine",
}
"""Methods that look at edges and features alone, and what they are called."""
ATTENTION = "gat-attention"
SGAT, SGAT_RECOMMENDED = "sgat", "sgat-recommended"
SGATS = {SGAT: "SGAT", SGAT_RECOMMENDED: "SGAT, recommended"}
"""The paper's gates and the recommended ones, and what they are called."""
PRUNERS = {**UNLEARNED, ATTENTION: "GAT attention", **SGATS}
"""Every method that chooses edges, and what it is called."""


def kept_edges(
    method: str,
    graphs: Sequence[NodeData],
    keep: float,
    seed: int,
    scores: Sequence[Tensor] | None = None,
) -> tuple[bytes, ...]:
    """The edges of each graph that a method keeps, packed as bits.

    Of L links of a graph, round(keep · L) stay; see `sgat_lab.sparsifiers`. A link of
    two directions has the mean of their scores, and equal scores are ordered at random.

    Args:
        method: A name in `PRUNERS`.
        graphs: The data; labels are not looked at.
        keep: Share to keep, in (0, 1].
        seed: Of what is drawn.
        scores: Of the edges of each graph, [E] each; for methods that learn.
    """
    packed = []
    for number, data in enumerate(graphs):
        key = noise.derive(seed, number)
        if method in UNLEARNED:
            sparsify = find_sparsifier(method.replace("-", "_"))
            kept = sparsify(data.graph, data.x, keep, key)
        else:
            assert scores is not None, "a method that learns has scores"
            found = links(data.graph)
            of_edge = found.of_edge.numpy(force=True)
            score = scores[number].double().numpy(force=True)
            size = np.bincount(of_edge, minlength=len(found.edge))
            total = np.bincount(of_edge, score, minlength=len(found.edge))
            kept = keep_best(data.graph, found, total / size, keep, key)
        packed.append(np.packbits(kept.numpy(force=True)).tobytes())
    return tuple(packed)


def select(graphs: Sequence[NodeData], kept: Sequence[bytes]) -> list[NodeData]:
    """The graphs with only the edges that `kept_edges` marked.

    Raises:
        ValueError: If the graphs are not those that were marked.
    """
    smaller = []
    for data, bits in zip(graphs, kept, strict=True):
        num_edges = data.graph.num_edges
        if len(bits) != (num_edges + 7) // 8:
            raise ValueError(
                f"The edges of {data.name!r} have changed since the comparison began;"
                " run it again."
            )
        marks = np.unpackbits(np.frombuffer(bits, np.uint8), count=num_edges)
        mask = torch.from_numpy(marks.astype(bool)).to(data.graph.device)
        smaller.append(data.select_edges(mask))
    return smaller


@dataclasses.dataclass(frozen=True)
class PrunedTask(Task):
    """A training on some of the edges of the data.

    Attributes:
        data_sha256: What the data is recognised by; other data is another task.
        kept: The edges that stay, as `kept_edges` packs them; None for all.
    """

    data_sha256: str = ""
    kept: tuple[bytes, ...] | None = None

    @cached_property
    def key(self) -> str:
        """As of `Task`, for these edges of this data."""
        digest = hashlib.sha256(f"{super().key} {self.data_sha256}".encode())
        for bits in self.kept or ():
            digest.update(hashlib.sha256(bits).digest())
        return digest.hexdigest()[:24]

    def prepared(self, graphs: list[NodeData]) -> list[NodeData]:
        """The graphs with the edges that stay."""
        return graphs if self.kept is None else select(graphs, self.kept)
