"""The operations of the method, on whichever backend fits the tensors.

This is the one place where a backend is chosen. All backends offer the functions of
`sgat.ops.reference` with the same signatures, and draw the same noise for the same
seed.
"""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from sgat.features import Features
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import noise, reference
from sgat.ops.noise import Seed
from sgat.ops.reference import OpenEdges

__all__ = [
    "Backend",
    "OpenEdges",
    "Seed",
    "aggregate",
    "log_alphas",
    "noise",
    "open_edges",
    "project",
]

Backend = Literal["auto", "reference"]
"""Name of a backend; "auto" takes the fastest that can run."""


def _backend(name: Backend) -> Any:
    if name not in ("auto", "reference"):
        raise ValueError(f"Unknown backend {name!r}; choose one of auto, reference.")
    return reference


def open_edges(
    graph: Graph,
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None = None,
    *,
    seed: Seed | None = None,
    gates: HardConcrete | None = None,
    backend: Backend = "auto",
) -> OpenEdges:
    """Draw the gate of every edge and return the edges that are open.

        log α_ij = s_i + t_j + c_ij
        z_ij = hard concrete of log α_ij with the noise of (seed, i, j)
        S_i  = A_ii + Σ_j A_ij z_ij

    An edge with z_ij = 0 is left out: it adds nothing to any output, and nothing to any
    gradient of a loss on outputs, because the clamp of the gate is flat there. The
    penalty and its gradient still run over every edge.

    Args:
        graph: The edges.
        dst_score: Score s of each node as a target, the bias included, [N].
        src_score: Score t of each node as a source, [N].
        edge_score: Further score c of each edge, in the order of the graph, [E].
        seed: Key of the noise; None gives the gates of evaluation.
        gates: Shape of the hard-concrete distribution.
        backend: Which implementation to use.

    Returns:
        The open edges; with no edges, or all closed, only the self-loops are left.
    """
    opened: OpenEdges = _backend(backend).open_edges(
        graph, dst_score, src_score, edge_score, seed=seed, gates=gates
    )
    return opened


def aggregate(
    opened: OpenEdges,
    x: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
    backend: Backend = "auto",
) -> Tensor:
    """Average the open neighbours of each node and the node itself.

        out_i = Σ_j m_ij a_ij x_j,   a_ij = A_ij z_ij / S_i

    The sum runs over the open edges j → i and the self-loop of i.

    Args:
        opened: The open edges.
        x: Node features, [N, ...].
        dropout: Share of coefficients to drop; m_ij is 0 or 1 / (1 - dropout). Only
            with a seed.
        seed: Key of the dropout noise; None drops nothing.
        layer: Number of the layer, so that layers drop different coefficients.
        backend: Which implementation to use.

    Returns:
        Aggregated features, [N, ...] in the type of x; sums run in float32 at least. A
        node without open edges gets its own features.
    """
    out: Tensor = _backend(backend).aggregate(
        opened, x, dropout=dropout, seed=seed, layer=layer
    )
    return out


def project(
    x: Features,
    weight: Tensor,
    *,
    dropout: float = 0.0,
    seed: Seed | None = None,
    layer: int = 0,
    node_id: Tensor | None = None,
    backend: Backend = "auto",
) -> Tensor:
    """Drop input features and multiply by the weights: (m ⊙ x) W.

    Args:
        x: Node features, dense or sparse, [N, K].
        weight: Weights, [K, D].
        dropout: Share of entries to drop; m is 0 or 1 / (1 - dropout). Only with a
            seed.
        seed: Key of the dropout noise; None drops nothing.
        layer: Number of the layer, so that layers drop different entries.
        node_id: Names of the nodes in the noise (see `Graph.noise_id`), [N]; None for 0
            … N-1.
        backend: Which implementation to use.

    Returns:
        Projected features, [N, D].
    """
    out: Tensor = _backend(backend).project(
        x, weight, dropout=dropout, seed=seed, layer=layer, node_id=node_id
    )
    return out


def log_alphas(
    graph: Graph, dst_score: Tensor, src_score: Tensor, edge_score: Tensor | None = None
) -> Tensor:
    """Gate locations log α_ij = s_i + t_j + c_ij of every edge, [E]."""
    return reference.log_alphas(graph, dst_score, src_score, edge_score)
