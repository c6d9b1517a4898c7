"""Geom-GCN: neighbours told apart by where they are (Pei et al., ICLR 2020).

As in the published code, each kind of neighbour has weights of its own, the node itself
is one more kind, and degrees count everything a node hears; as in the paper, a node
that is a neighbour both in the graph and in the plane is heard as both.
"""

from __future__ import annotations

import math
import warnings
import weakref

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.spatial import cKDTree
from torch import Tensor, nn

from sgat.baselines.baseline import Baseline, Projection
from sgat.baselines.method import Method
from sgat.config import ModelConfig
from sgat.data.node_data import NodeData
from sgat.features import Features
from sgat.graph import Graph
from sgat.isomap import Array, Integers, isomap
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed

KINDS = 9
"""Four directions in the graph, four in the plane, and the node itself."""
MOST_PAIRS = 50_000_000
"""Neighbours in the plane beyond which there is no memory for them."""


def direction(places: Array, src: Integers, dst: Integers) -> Integers:
    """Where src lies as seen from dst: 0 lower left, 1 lower right, 2 and 3 upper."""
    step = places[src] - places[dst] >= 0
    found: Integers = step[:, 0] + 2 * step[:, 1]
    return found


def near_pairs(places: Array, component: Integers, number: int) -> Integers:
    """Ordered pairs of nodes of one component that are close in the plane, [2, M].

    The radius is the smallest that gives at least `number` pairs: the average node has
    as many neighbours in the plane as in the graph. It has more where many nodes share
    a place, and fewer where components are too small for so many pairs.

    Raises:
        ValueError: If so many nodes share a place that there are too many pairs.
    """
    size = len(places)
    widest = 4 * float(np.abs(places).max(initial=0)) + 1
    # Components are layers too far apart to be near each other.
    tree = cKDTree(np.column_stack([places, 2 * widest * component]))

    def count(radius: float) -> int:
        return int(tree.count_neighbors(tree, radius)) - size

    low, high = 0.0, 0.0 if count(0.0) >= number else widest
    while high - low > 1e-9 * widest:
        middle = (low + high) / 2
        low, high = (low, middle) if count(middle) >= number else (middle, high)
    if count(high) > MOST_PAIRS:
        raise ValueError(
            f"Geom-GCN finds {count(high)} pairs of nodes in one place of the plane,"
            f" more than {MOST_PAIRS}; take a graph with smaller hubs."
        )
    pairs = tree.query_pairs(high, output_type="ndarray").T
    return np.concatenate([pairs, pairs[::-1]], axis=1)


_matrices: weakref.WeakKeyDictionary[Graph, list[Tensor]] = weakref.WeakKeyDictionary()
_places: dict[str, tuple[Array, Integers]] = {}


def placed(graph: Graph) -> tuple[Array, Integers]:
    """Places and components of the nodes; those of the last few graphs are kept."""
    known = _places.get(graph.fingerprint)
    if known is None:
        known = isomap(graph)
        while len(_places) >= 8:
            _places.pop(next(iter(_places)))
        _places[graph.fingerprint] = known
    return known


def matrices(graph: Graph) -> list[Tensor]:
    """One matrix (deg_i deg_j)^-½ per kind of neighbour, [N, N] in compressed rows.

    Kept while the graph lives.
    """
    known = _matrices.get(graph)
    if known is None:
        places, component = placed(graph)
        near = near_pairs(places, component, graph.num_edges)
        known = _matrices[graph] = kinds_of(graph, places, near)
    return known


def kinds_of(graph: Graph, places: Array, near: Integers) -> list[Tensor]:
    """The matrices of the four directions in the graph, in the plane, and the node's.

    Args:
        graph: The edges.
        places: Where the nodes are, [N, 2].
        near: Pairs j, i of which i hears j as a neighbour in the plane, [2, M].
    """
    size = graph.num_nodes
    edges = graph.edge_index.numpy(force=True)
    loop = np.arange(size)
    heard = np.concatenate([edges[1], near[1], loop])
    scale = np.bincount(heard, minlength=size) ** -0.5
    found = []
    for src, dst in (edges, near):
        kind = direction(places, src, dst)
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

    N_k are the neighbours in the graph, and those within a radius in the plane of
    `sgat.isomap`, in each of four directions, and the node itself. Edge weights are not
    used.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width of each of the nine parts of a hidden layer.
        out_channels: Number of classes C.
        layers: Number of layers, 1 or more.
        activation: "relu" or "elu".
        dropout: Share of features to drop before every layer.
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
    ) -> None:
        super().__init__()
        self.activation, self.dropout = activation, dropout
        widths = [hidden_channels] * (layers - 1) + [out_channels]
        inputs = [in_channels, *(KINDS * width for width in widths[:-1])]
        self.projections = nn.ModuleList(
            _Projections(before, KINDS * after, dropout=dropout)
            for before, after in zip(inputs, widths, strict=True)
        )

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from all edges, and from nodes that are near."""
        hidden: Features = x
        for layer, projection in enumerate(self.projections):
            parts = projection(hidden, graph, seed, layer).chunk(KINDS, dim=1)
            sums = [m @ part for m, part in zip(matrices(graph), parts, strict=True)]
            if layer < len(self.projections) - 1:
                hidden = ACTIVATIONS[self.activation](torch.cat(sums, dim=1))
        return Output(torch.stack(sums).mean(dim=0), hidden)


def build(config: ModelConfig, data: NodeData) -> GeomGCN:
    """A Geom-GCN of the sizes in the config.

    Raises:
        ValueError: If another embedding than Isomap is asked for.
    """
    embedding = METHOD.options(config)["embedding"]
    if embedding != "isomap":
        raise ValueError(
            f"The option 'embedding' of 'geom_gcn' must be 'isomap', got {embedding!r};"
            " Poincaré and struc2vec embeddings are not built in."
        )
    return GeomGCN(
        data.num_features,
        config.hidden,
        data.num_classes,
        layers=config.layers,
        activation=config.activation,
        dropout=config.dropout,
    )


METHOD = Method(build, defaults={"embedding": "isomap"})
