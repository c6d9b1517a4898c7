"""Small graphs beside the fourteen of `sgat-lab unseen`, in two groups.

python -m benchmarks.other_graphs CLONES OUT

CLONES as for `benchmarks.held_out`; of it GraphData, heterophilous-graphs and Twitch
are read. OUT gets the NPZ files of `first`, on which candidates may be designed, and
of `second`, which only measures; `third` are block models that were drawn after the
second group had been looked at. Each has splits of its own for three seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn import datasets
from sklearn.neighbors import kneighbors_graph

from benchmarks.held_out import Array, both_ways, pickled, save, upper
from sgat_lab.synthetic.block_models import contextual_block_model

SEEDS = 3
FEWEST = 8
"""Nodes of the smallest class of a part."""
PER_CLASS = 20, 30
"""Nodes of each class that train and validate in a made graph."""
THIRD = (
    (800, 6, 12, 0.5, 1.0, 32, 21),
    (900, 3, 6, 0.4, 0.7, 24, 22),
    (1000, 10, 20, 0.6, 1.0, 64, 23),
)
"""Nodes, classes, degree, share of noise, signal, features, seed of block models."""
Parts = tuple[Array, Array, Any]
Graphs = dict[str, tuple[Parts, tuple[float, float] | None]]


def roles(y: Array, shares: tuple[float, float] | None) -> Array:
    """Roles of the nodes for each seed: by shares, or a number of each class."""
    role = np.full((SEEDS, len(y)), 2, np.int8)
    for seed, row in enumerate(role):
        rng = np.random.default_rng(1000 + seed)
        if shares:
            sizes = (np.cumsum(shares) * len(y)).astype(int)
            groups = [np.split(rng.permutation(len(y)), sizes)]
        else:
            order = [
                rng.permutation(np.flatnonzero(y == c)) for c in range(y.max() + 1)
            ]
            groups = [np.split(nodes, np.cumsum(PER_CLASS)) for nodes in order]
        for train, val, _ in groups:
            row[train], row[val] = 0, 1
    return role


def write(path: Path, parts: Parts, shares: tuple[float, float] | None) -> None:
    """Write a graph; columns that no two nodes share are left out."""
    edges, y, x = parts
    y = np.unique(y, return_inverse=True)[1]
    x = sparse.csr_matrix(x, dtype=np.float32)
    number = np.asarray((x != 0).sum(axis=0)).ravel()
    x = x[:, number >= min(2, number.max())]
    save(path, edges, y, x, role=roles(y, shares))


def taken(matrix: Any, y: Array, x: Any, nodes: Array) -> Parts:
    """The edges between some nodes, their classes and features."""
    return upper(matrix[nodes][:, nodes]), y[nodes], sparse.csr_matrix(x)[nodes]


def around(graph: tuple[Any, Array, Any], number: int, seed: int = 0) -> Parts:
    """The nodes first reached from a random one, without those of small classes."""
    matrix, y, x = graph
    matrix = both_ways(sparse.csr_array(matrix))
    which = connected_components(matrix)[1]
    inside = np.flatnonzero(which == np.bincount(which).argmax())
    start = inside[np.random.default_rng(seed).integers(len(inside))]
    reached = breadth_first_order(matrix, start, return_predecessors=False)
    nodes = np.sort(reached[:number])
    return taken(matrix, y, x, nodes[np.bincount(y[nodes])[y[nodes]] >= FEWEST])


def drawn(graph: tuple[Any, Array, Any], number: int) -> Parts:
    """Some nodes at random."""
    matrix, y, x = graph
    nodes = np.sort(np.random.default_rng(0).choice(len(y), number, False))
    return taken(both_ways(sparse.csr_array(matrix)), y, x, nodes)


def nearest(x: Array, number: int = 5) -> Array:
    """Edges to the nearest rows, all columns alike in spread."""
    spread = np.where(x.std(0) > 0, x.std(0), 1)
    return np.stack(kneighbors_graph((x - x.mean(0)) / spread, number).nonzero())


def points(number: int) -> Parts:
    """Points in a cube joined to their nearest; features are their noisy places."""
    rng = np.random.default_rng(0)
    place = rng.random((number, 3))
    level = np.sin(4 * place[:, 0]) + np.cos(3 * place[:, 1]) + place[:, 2]
    y = np.clip((1.2 * level).round().astype(int), 0, 2)
    noise = 0.15 * rng.standard_normal(place.shape)
    return nearest(place, 6), y, sparse.csr_matrix(place + noise)


def blocks(**options: Any) -> Parts:
    """A block model with features."""
    data = contextual_block_model(**options).data
    x: Any = data.x
    return data.graph.edge_index.numpy(), data.y.numpy(), sparse.csr_matrix(x.numpy())


def table(found: Any, number: int | None = None) -> Parts:
    """A table of scikit-learn, its rows joined to their nearest."""
    rows = np.arange(len(found.target))
    if number is not None:
        rows = np.random.default_rng(0).choice(len(rows), number, False)
    return nearest(found.data[rows]), found.target[rows], found.data[rows]


def main(clones: Path, out: Path) -> None:
    """Write all graphs."""

    def shared(name: str) -> tuple[Any, Array, Any]:
        matrix, y, x = pickled(clones, name)
        y = np.unique(np.asarray(y), return_inverse=True)[1]
        return matrix, y, sparse.identity(len(y), format="csr") if x is None else x

    def plain(path: str, edges: str, y: str) -> tuple[Any, Array, Any]:
        given = np.load(clones / path)
        pairs = given[edges] if len(given[edges]) == 2 else given[edges].T
        ones, size = np.ones(pairs.shape[1]), len(given[y])
        if "x_data" in given:
            parts = given["x_data"], given["x_indices"], given["x_indptr"]
            x = sparse.csr_matrix(parts, shape=tuple(given["x_shape"]))
        else:
            x = sparse.csr_matrix(given["node_features"])
        return sparse.coo_array((ones, pairs), (size, size)).tocsr(), given[y], x

    def twitch(country: str) -> tuple[Any, Array, Any]:
        return plain(f"Twitch/raw/twitch_{country}.npz", "edge_index", "y")

    def hetero(name: str) -> tuple[Any, Array, Any]:
        path = f"heterophilous-graphs/data/{name}.npz"
        return plain(path, "edges", "node_labels")

    few, more, most = (0.1, 0.1), (0.2, 0.2), (0.3, 0.2)
    faint = {"feature_signal": 0.5, "num_features": 16, "noise_rate": 0.5}
    ring = {"feature_signal": 1.5, "num_features": 24, "assortative": False}
    first: Graphs = {
        "coauthor_cs": (around(shared("coauthor_cs"), 500), few),
        "block": (blocks(degree=8, noise_rate=0.4, seed=3), None),
        "faint_block": (
            blocks(num_nodes=800, num_classes=4, degree=12, seed=4, **faint),
            None,
        ),
        "points": (points(1200), None),
        "citeseer_full": (around(shared("citeseer_full"), 800), few),
        "polblogs": (drawn(shared("polblogs"), 600), few),
        "digits": (table(datasets.load_digits(), 900), few),
        "twitch_ptbr": (around(twitch("PTBR"), 600), more),
        "uai": (drawn(shared("uai"), 900), few),
    }
    second: Graphs = {
        "cora_ml": (around(shared("cora_ml"), 700), few),
        "coauthor_cs": (around(shared("coauthor_cs"), 700, seed=7), few),
        "blogcatalog": (drawn(shared("blogcatalog"), 900), few),
        "squirrel": (drawn(hetero("squirrel_filtered"), 900), most),
        "tolokers": (drawn(hetero("tolokers"), 1500), more),
        "twitch_es": (around(twitch("ES"), 600), more),
        "cancer": (table(datasets.load_breast_cancer()), few),
        "wine": (table(datasets.load_wine()), more),
        "ring_block": (blocks(num_nodes=900, degree=10, seed=9, **ring), None),
        "block": (
            blocks(num_classes=8, degree=15, noise_rate=0.5, num_features=48, seed=11),
            None,
        ),
    }
    third: Graphs = {
        f"block_{classes}": (
            blocks(
                **{"num_nodes": nodes, "num_classes": classes, "degree": degree},
                **{"noise_rate": wrong, "feature_signal": signal},
                **{"num_features": width, "seed": seed},
            ),
            None,
        )
        for nodes, classes, degree, wrong, signal, width, seed in THIRD
    }
    groups = {"first": first, "second": second, "third": third}
    for group, graphs in groups.items():
        (out / group).mkdir(parents=True, exist_ok=True)
        for name, (parts, shares) in graphs.items():
            write(out / group / f"{name}.npz", parts, shares)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
