"""Graphs and attacks that nobody had looked at on 2026-11-20, for `sgat-lab attacks`.

python -m benchmarks.fresh CLONES OUT

CLONES as for `benchmarks.held_out`; the data sets themselves come from $SGAT_DATA. OUT
gets pages of Facebook, a part of coauthor_phy, two Twitch graphs, Pubmed under
metattack, and four graphs under nettack, an attack on single nodes: of these, the rate
is a hundredth of the number of edges that were changed at each of its targets.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from benchmarks.held_out import ATTACKED, RATES, both_ways, pickled, save, upper
from sgat.data import load
from sgat.data.fetch import data_root
from sgat.features import SparseFeatures

PHY, START = 6000, 5
"""Nodes of coauthor_phy: those first reached from this one."""
DIGEST = "1c930d99910763bc5f0c1aa90e8baa945f5ad6027663fe5332d0f08fde33cd7d"
"""SHA-256 of the file of coauthor_phy."""
NETTACK = ("cora", "citeseer", "pubmed", "polblogs")
CHANGES = range(1, 6)
"""Edges that nettack changed at a target."""
TWITCH = ("FR", "RU")
Parts = tuple[Any, Any, Any]


def facebook(clones: Path) -> Parts:
    """Edges, classes and features of the pages of Facebook."""
    folder = clones / "GraphData/datasets/musae/facebook"
    given = json.loads((folder / "features.json").read_text())
    rows = np.repeat(
        [int(node) for node in given], [len(own) for own in given.values()]
    )
    columns = np.concatenate([*given.values()]).astype(int)
    edges = np.loadtxt(folder / "edges.csv", int, delimiter=",", skiprows=1).T
    y = np.empty(len(given), dtype=object)
    with (folder / "target.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            y[int(row["id"])] = row["page_type"]
    return (
        edges,
        y.astype(str),
        sparse.csr_matrix((np.ones(len(rows)), (rows, columns))),
    )


def phy(clones: Path) -> Parts:
    """A part of coauthor_phy around one node."""
    matrix, y, x = pickled(clones, "coauthor_phy", DIGEST)
    matrix = both_ways(sparse.csr_array(matrix))
    nodes = breadth_first_order(matrix, START, directed=False)[0][:PHY]
    return upper(matrix[nodes][:, nodes]), y[nodes], sparse.csr_matrix(x)[nodes]


def twitch(name: str) -> Parts:
    """A Twitch graph of the data sets."""
    given = np.load(data_root() / f"Twitch/raw/twitch_{name}.npz")
    parts = given["x_data"], given["x_indices"], given["x_indptr"]
    x = sparse.csr_matrix(parts, shape=tuple(given["x_shape"]))
    return given["edge_index"], given["y"], x


def clean(clones: Path, name: str) -> Parts:
    """Matrix, classes and features of a graph before it was attacked."""
    if name == "pubmed":
        data = load(name)[0]
        src, dst = data.graph.src.numpy(), data.graph.dst.numpy()
        size = (len(data.y),) * 2
        matrix = sparse.csr_array((np.ones(len(src)), (src, dst)), shape=size)
        x = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
        return both_ways(matrix), data.y.numpy(), sparse.csr_matrix(x.numpy())
    if name in ATTACKED:
        matrix, y, x = pickled(clones, name)
        matrix = both_ways(sparse.csr_array(matrix))
        part = connected_components(matrix)[1]
        kept = np.flatnonzero(part == np.bincount(part).argmax())
        return matrix[kept][:, kept], y[kept], None if x is None else x[kept]
    given = np.load(data_root() / f"Attacked/{name}.npz")
    edges, y = given["edges_clean"], given["y"]
    parts = given["x_data"], given["x_indices"], given["x_indptr"]
    x = sparse.csr_matrix(parts, shape=tuple(given["x_shape"]))
    matrix = sparse.csr_array((np.ones(edges.shape[1]), edges), shape=(len(y),) * 2)
    return both_ways(matrix), y, x


def attacked(clones: Path, out: Path, name: str, files: dict[float, str]) -> None:
    """A graph as it is and attacked, by the rate, with Pro-GNN's split or one drawn."""
    title = name.removesuffix("_nettack")
    matrix, y, x = clean(clones, title)
    more = {"edges_clean": upper(matrix)}
    for rate, file in files.items():
        changed = sparse.load_npz(clones / "Pro-GNN" / file)
        more[f"edges_metattack_{rate:g}"] = upper(both_ways(sparse.csr_array(changed)))
    path = clones / f"Pro-GNN/splits/{title}_prognn_splits.json"
    if path.exists():
        split = json.loads(path.read_text())
        roles = [split[f"idx_{role}"] for role in ("train", "val", "test")]
    else:
        order = np.random.default_rng(0).permutation(len(y))
        roles = np.split(order, [len(y) // 10, len(y) // 5])
    more |= {"train": roles[0], "val": roles[1], "test": roles[2]}
    more = {name: np.asarray(part) for name, part in more.items()}
    save(out / f"attacked-{name}.npz", more["edges_clean"], y, x, **more)


def main(clones: Path, out: Path) -> None:
    """Write all graphs."""
    out.mkdir(parents=True, exist_ok=True)
    save(out / "facebook.npz", *facebook(clones))
    save(out / "phy.npz", *phy(clones))
    for name in TWITCH:
        save(out / f"twitch_{name.lower()}.npz", *twitch(name))
    meta = {rate: f"meta/pubmed_meta_adj_{rate:g}.npz" for rate in RATES}
    attacked(clones, out, "pubmed", meta)
    for name in NETTACK:
        files = {n / 100: f"nettack/{name}_nettack_adj_{n}.0.npz" for n in CHANGES}
        attacked(clones, out, f"{name}_nettack", files)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
