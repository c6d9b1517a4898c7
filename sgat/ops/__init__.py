"""The operations of the method, on whichever backend fits the tensors.

This is the one place where a backend is chosen. All backends offer the functions of
`sgat.ops.reference`, and draw the same noise for the same seed.
"""

import dataclasses
import functools
import importlib.util
import logging
import os
from typing import Any, Literal, cast

import torch
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.ops import noise, reference
from sgat.ops.noise import Seed
from sgat.ops.operators import project as fast_project
from sgat.ops.operators import slotted_edges as fast
from sgat.ops.reference import OpenEdges, check_pair, log_alphas, rounded
from sgat.ops.sharded import ShardedEdges
from sgat.ops.sharded import aggregate as aggregate_sharded
from sgat.ops.sharded import open_edges as open_sharded

logger = logging.getLogger(__name__)

__all__ = [
    "Backend",
    "OpenEdges",
    "Seed",
    "aggregate",
    "all_open",
    "log_alphas",
    "noise",
    "open_edges",
    "project",
    "prune",
    "rounded",
]

Backend = Literal["auto", "reference", "cpu", "gpu"]
"""Name of a backend; "auto" takes the fastest that can run."""

BACKENDS = ("auto", "reference", "cpu", "gpu")
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
SURELY_OPEN = 128.0
"""A log α at which the gate is exactly 1 in any type, with any noise."""
HAS_TRITON = importlib.util.find_spec("triton") is not None


def choose_backend(
    backend: Backend,
    *tensors: Tensor | None,
    constant: tuple[Tensor | None, ...] = (),
    gates: Gates | None = None,
) -> Literal["reference", "cpu", "gpu"]:
    """The backend that runs an operation: the one place where it is decided.

    "auto" takes `cpu` for tensors on a CPU and `gpu` for tensors on a CUDA device with
    Triton, except where only `reference` can run: on other devices, for types other
    than float16, bfloat16, float32 and float64, for gradients by `constant` (edge
    weights, values of sparse features), and for other gates. A CUDA device without
    Triton also gets `reference`, and a warning in the log. The first of the tensors
    decides the device; a forced backend that cannot run is an error.
    """
    if backend not in BACKENDS:
        raise ValueError(
            f"Unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}."
        )
    if backend == "reference":
        return "reference"
    present = [tensor for tensor in tensors if tensor is not None]
    device = present[0].device.type
    obstacle = _obstacle(present, constant, gates)
    if backend == "auto":
        if obstacle or device not in ("cpu", "cuda"):
            return "reference"
        if device == "cuda" and not HAS_TRITON:
            logger.warning("Triton is not installed; running the slow reference.")
            return "reference"
        return "cpu" if device == "cpu" else "gpu"
    if backend == "cpu" and device != "cpu":
        obstacle = f"tensors on the CPU, and these are on {device}"
    # Triton's interpreter takes tensors on a CPU.
    is_fit = device == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    if backend == "gpu" and not HAS_TRITON:
        obstacle = "Triton, which is not installed"
    elif backend == "gpu" and not is_fit:
        obstacle = f"tensors on a CUDA device, and these are on {device}"
    if obstacle:
        raise ValueError(f"Backend {backend!r} needs {obstacle}.")
    return backend


def _obstacle(
    present: list[Tensor], constant: tuple[Tensor | None, ...], gates: Gates | None
) -> str:
    """What keeps the fast backends from running, or an empty string."""
    if not isinstance(gates, HardConcrete | None):
        return "hard-concrete gates; others run on backend='reference' or 'auto'"
    if torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in constant
    ):
        return (
            "edge weights and sparse values that require no gradient;"
            " backend='reference' differentiates by them"
        )
    for tensor in present:
        if tensor.dtype not in FLOATS:
            return f"floating-point features and scores, got {tensor.dtype}"
    return ""


def _key_of(dropout: float, seed: Seed | None) -> Seed | None:
    """The seed of a dropout; None where nothing is dropped."""
    if not 0 <= dropout < 1:
        raise ValueError(f"`dropout` must be in [0, 1), got {dropout}.")
    return seed if dropout else None


def _check_shape(name: str, value: Tensor, length: int) -> None:
    if value.shape != (length,):
        raise ValueError(
            f"`{name}` must have shape [{length}], got {list(value.shape)}."
        )


def open_edges(
    graph: Graph,
    dst_score: Tensor,
    src_score: Tensor,
    edge_score: Tensor | None = None,
    query: Tensor | None = None,
    key: Tensor | None = None,
    *,
    seed: Seed | None = None,
    gates: Gates | None = None,
    backend: Backend = "auto",
) -> OpenEdges:
    """Draw the gate of every edge and return the edges that are open.

        log α_ij = s_i + t_j + q_i · k_j + c_ij      s_i + t_j is eq. 14
        z_ij = hard concrete of log α_ij             below eq. 12; eq. 13 without a seed
        S_i  = A_ii + Σ_j A_ij z_ij                  the denominator of eq. 8

    The noise is that of (seed, i, j).

    An edge with z_ij = 0 is left out: it adds nothing to any output, and nothing to any
    gradient of a loss on outputs, because the clamp of the gate is flat there. The
    penalty and its gradient still run over every edge. With no edges, or all closed,
    only the self-loops are left.

    Vectors count in the numbers of bfloat16, so that the GPU finds the vector and the
    score of a node in one piece; products and sums run in float32. Gradients pass as if
    nothing were rounded. With vectors in float64 all is in float64.

    Args:
        graph: The edges.
        dst_score: Score s of each node as a target, the bias included, [N].
        src_score: Score t of each node as a source, [N].
        edge_score: Further score c of each edge, in the order of the graph, [E].
        query: Vector q of each node as a target, [N, R] with R up to 64; None for 0.
        key: Vector k of each node as a source, [N, R]; given if and only if `query` is.
        seed: Key of the noise; None gives the gates of evaluation.
        gates: Distribution of the gates; None for the hard concrete of the paper.
        backend: Which implementation to use.
    """
    _check_shape("dst_score", dst_score, graph.num_nodes)
    _check_shape("src_score", src_score, graph.num_nodes)
    if edge_score is not None:
        _check_shape("edge_score", edge_score, graph.num_edges)
    check_pair(query, key, graph.num_nodes)
    scores = (dst_score, src_score, edge_score, query, key)
    if graph.halo is not None:
        how: Any = {"seed": seed, "gates": gates, "backend": backend}
        draw = functools.partial(open_edges, **how)
        return cast(OpenEdges, open_sharded(graph, graph.halo, scores, draw))
    constant = (graph.weight, graph.loop_weight)
    chosen = choose_backend(backend, *scores, constant=constant, gates=gates)
    if chosen == "reference":
        return reference.open_edges(graph, *scores, seed=seed, gates=gates)
    assert isinstance(gates, HardConcrete | None)
    opened: Any = fast.open_edges(graph, scores, seed=seed, gates=gates, backend=chosen)
    return cast(OpenEdges, opened)


def all_open(
    graph: Graph, *, dtype: torch.dtype = torch.float32, backend: Backend = "auto"
) -> OpenEdges:
    """Every edge of a graph as it is, with gate 1, for sums by its weights alone.

    No gradient reaches a gate, and `penalty` is the number of edges. `dtype` is the
    type of the coefficients.
    """
    half = torch.full(
        (graph.num_nodes,), SURELY_OPEN / 2, dtype=dtype, device=graph.device
    )
    return open_edges(graph, half, half, backend=backend)


@torch.no_grad()
def prune(opened: OpenEdges) -> OpenEdges:
    """Give the open edges a graph of their own, whose weights hold their gates.

        A'_ij = A_ij z_ij,   z'_ij = 1,   so   S'_i = S_i   and   a'_ij = a_ij

    Sums over it equal those over `opened`, to rounding. The closed edges take no memory
    any more; no gradient reaches the scores. The smaller graph, in `graph`, has the
    nodes, self-loops and sums of squares of the old one. Waits for the device.
    """
    kept = opened.graph.select(opened.edge)
    gate = opened.gate.detach()
    weight = gate if kept.weight is None else gate * kept.weight.to(gate)
    weight, square_sum = weight.detach(), opened.graph.square_sums
    kept = dataclasses.replace(kept, weight=weight, square_sum=square_sum)
    return all_open(kept, dtype=opened.row_sum.dtype, backend=_drawn_by(opened))


def _drawn_by(opened: OpenEdges) -> Literal["reference", "cpu", "gpu"]:
    return opened.backend if isinstance(opened, fast.SlottedEdges) else "reference"


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

        out_i = Σ_j m_ij a_ij x_j,   a_ij = A_ij z_ij / S_i          (eq. 7 and 8)

    The sum runs over the open edges j → i and the self-loop of i; a node without open
    edges gets its own features. x and the result, of the same type, are [N, ...]; sums
    run in float32 at least. With a seed m_ij is 0 for a share `dropout` of coefficients
    and 1 / (1 - dropout) for others; each `layer` drops different ones. `backend` must
    be the one that drew `opened`, or "auto".
    """
    seed = _key_of(dropout, seed)
    if len(x) != opened.graph.num_nodes:
        raise ValueError(
            f"`x` must have one row for each of the {opened.graph.num_nodes} nodes,"
            f" got {len(x)}."
        )
    if isinstance(opened, ShardedEdges):
        how: Any = {"dropout": dropout, "seed": seed, "layer": layer}
        return aggregate_sharded(opened, x, functools.partial(aggregate, **how))
    drawn_by = _drawn_by(opened)
    if backend not in ("auto", drawn_by):
        raise ValueError(
            f"`opened` was drawn by the backend {drawn_by!r}, so `backend` must be"
            f" {drawn_by!r} or 'auto', got {backend!r}."
        )
    if isinstance(opened, fast.SlottedEdges):
        choose_backend(opened.backend, x)
        return fast.aggregate(opened, x, dropout=dropout, seed=seed, layer=layer)
    return reference.aggregate(opened, x, dropout=dropout, seed=seed, layer=layer)


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
    """Drop input features and multiply by the weights: (m ⊙ x) W, [N, D].

    x is dense or sparse, [N, K], and W is [K, D]. With a seed m is 0 for a share
    `dropout` of entries and 1 / (1 - dropout) for others; each `layer` drops different
    ones. `node_id` names the nodes in the noise, as `Graph.noise_id` does.
    """
    if x.shape[1] != weight.shape[0]:
        raise ValueError(
            f"`weight` must have one row for each of the {x.shape[1]} columns of `x`,"
            f" got {weight.shape[0]}."
        )
    if node_id is not None:
        _check_shape("node_id", node_id, len(x))
    seed = _key_of(dropout, seed)
    value = x.value if isinstance(x, SparseFeatures) else None
    features = x if value is None else value
    assert isinstance(features, Tensor)
    chosen = choose_backend(backend, weight, features, constant=(value,))
    options: Any = {"dropout": dropout, "seed": seed}
    options |= {"layer": layer, "node_id": node_id}
    if chosen == "reference":
        return reference.project(x, weight, **options)
    return fast_project.project(x, weight, **options, backend=chosen)
