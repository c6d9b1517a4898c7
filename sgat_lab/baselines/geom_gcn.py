"""Geom-GCN: neighbours grouped by where they are (Pei et al., ICLR 2020).

As in the published code, each kind of neighbour has weights of its own, the node itself
is one more kind, and degrees count all messages of a node; as in the paper, a node
that is a neighbour both in the graph and in the latent space counts as both.
"""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import torch
from scipy.sparse import coo_array
from torch import Tensor, nn

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, PerGraph, Projection
from sgat_lab.baselines.method import Method
from sgat_lab.embeddings.disc import Disc
from sgat_lab.embeddings.named import EMBEDDINGS
from sgat_lab.embeddings.neighbours import Array, Integers
from sgat_lab.embeddings.plane import Plane

KINDS = 9
"""Four directions in the graph, four among nodes nearby, and the node itself."""


def matrices(graph: Graph, embedding: str) -> list[Tensor]:
    """One matrix (deg_i deg_j)^-½ per kind of neighbour, [N, N] in compressed rows."""
    places = EMBEDDINGS[embedding](graph)
    return kinds_of(graph, places, places.near_pairs(graph.num_edges))


def kinds_of(graph: Graph, places: Plane | Disc, near: Integers) -> list[Tensor]:
    """The matrices of the four directions in the graph, nearby, and the node's own.

    Args:
        graph: The edges.
        places: Where the nodes are.
        near: Pairs j, i: i receives messages from j, a node nearby, [2, M].
    """
    size = graph.num_nodes
    edges = graph.edge_index.numpy(force=True)
    loop = np.arange(size)
    receiver = np.concatenate([edges[1], near[1], loop])
    scale = np.bincount(receiver, minlength=size) ** -0.5
    found = []
    for src, dst in (edges, near):
        kind = places.direction(src, dst)
        found += [(src[kind == number], dst[kind == number]) for number in range(4)]
    found.append((loop, loop))
    return [_rows(scale[j] * scale[i], i, j, graph) for j, i in found]


def _rows(value: Array, row: Integers, column: Integers, graph: Graph) -> Tensor:
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = coo_array((value, (row, column)), shape).tocsr()
    row_ptr, column, value = matrix.indptr, matrix.indices, matrix.data
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(row_ptr.astype(np.int64)),
            torch.from_numpy(column.astype(np.int64)),
            torch.from_numpy(value).float(),
            shape,
        ).to(graph.device)


class _Projections(Projection):
    """The products of all kinds side by side."""

    def reset_parameters(self) -> None:
        """Glorot's uniform weights for each kind."""
        rows, columns = self.weight.shape
        bound = math.sqrt(6 / (rows + columns // KINDS))
        nn.init.uniform_(self.weight, -bound, bound)


class GeomGCN(Baseline):
    """Layers that sum each kind of neighbour apart, then join or average the sums.

        e_k,i = Σ_j∈N_k(i) (deg_i deg_j)^-½ W_k x_j
        x'_i = act(‖_k e_k,i)        in the last layer: mean_k e_k,i

    N_k are the neighbours in the graph, and the nodes within a radius in the space of
    one of `sgat_lab.embeddings`, in each of four directions, and the node itself. Edge
    weights are not used. Arguments that are not listed are as of `GCN`.

    Args:
        hidden_channels: Width of each of the nine parts of a hidden layer.
        embedding: "isomap", "poincare" or "struc2vec".
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        activation: str = "relu",
        dropout: float = 0.5,
        embedding: str = "isomap",
    ) -> None:
        super().__init__()
        if embedding not in EMBEDDINGS:
            names = ", ".join(EMBEDDINGS)
            raise ValueError(f"`embedding` must be one of {names}, got {embedding!r}.")
        self.activation, self.dropout = activation, dropout
        self.embedding = embedding
        self.matrices = PerGraph(partial(matrices, embedding=embedding))
        widths = [hidden_channels] * (layers - 1) + [out_channels]
        inputs = [in_channels, *(KINDS * width for width in widths[:-1])]
        self.projections = nn.ModuleList(
            _Projections(before, KINDS * after, dropout=dropout)
            for before, after in zip(inputs, widths, strict=True)
        )

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges, and from nodes that are near."""
        hidden: Features = x
        kinds = self.matrices(graph)
        for layer, projection in enumerate(self.projections):
            parts = projection(hidden, graph, seed, layer).chunk(KINDS, dim=1)
            sums = [m @ part for m, part in zip(kinds, parts, strict=True)]
            if layer < len(self.projections) - 1:
                hidden = ACTIVATIONS[self.activation](torch.cat(sums, dim=1))
        return Output(torch.stack(sums).mean(dim=0), hidden)


METHOD = Method(GeomGCN, defaults={"embedding": "isomap"})
