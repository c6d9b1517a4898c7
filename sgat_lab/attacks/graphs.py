"""Graphs in plain NPZ files: more benchmark graphs, and graphs under metattack.

    More/NAME.npz        edges, y, CSR features, and role [splits, N] if it has splits
    Attacked/NAME.npz    edges_clean, edges_metattack_RATE, train, val, test

A path `DIR/NAME.npz` or `DIR/attacked-NAME.npz` stands for such a file elsewhere. Each
undirected edge is there once. Features stay as they are stored; there may be none.
"""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from sgat.data import load, names
from sgat.data.arrays import from_arrays
from sgat.data.fetch import data_root
from sgat.data.node_data import NodeData
from sgat.data.splits import random_per_class
from sgat.features import SparseFeatures
from sgat_lab.attacks import noise

ATTACKED = "attacked-"
"""Prefix of the name of a graph in `Attacked`."""
METATTACK = "metattack"
CLEAN = "clean"
KINDS = (CLEAN, *noise.INJECTED, METATTACK)
"""What graphs are judged with unless told otherwise."""
ALL_KINDS = (CLEAN, *noise.KINDS, METATTACK)
FILE = ".npz"
RATES = (0.1, 0.5, 1.0)
"""Edges to add, as a share of those there are."""
ATTACK_RATES = (0.05, 0.1, 0.15, 0.2, 0.25)
"""Changes of metattack, as a share of the edges there were."""
PER_CLASS = 20, 30
"""Nodes of each class to train and to validate, where a file has no split."""


class NoisyGraph(NamedTuple):
    """A graph, and which of its edges are wrong.

    Attributes:
        data: The graph.
        wrong: Edges that were added, [E] bool.
    """

    data: NodeData
    wrong: Tensor


def _path(name: str, root: Path) -> Path:
    """The file of a graph, by a path or by its name."""
    if name.endswith(FILE):
        return Path(name)
    if is_attacked(name):
        return root / "Attacked" / f"{name.removeprefix(ATTACKED)}{FILE}"
    return root / "More" / f"{name}{FILE}"


def is_attacked(name: str) -> bool:
    """Whether a graph, by its name or path, comes with the edges of an attack."""
    return Path(name).name.startswith(ATTACKED)


def shown_name(name: str) -> str:
    """The name of a graph, without the folder and the end of a path."""
    return Path(name).stem if name.endswith(FILE) else name


def _arrays(path: Path, root: Path) -> Any:
    if not path.is_file():
        more = sorted(file.stem for file in (root / "More").glob("*.npz"))
        attacked = sorted(file.stem for file in (root / "Attacked").glob("*.npz"))
        known = [*names(), *more, *(ATTACKED + name for name in attacked)]
        raise ValueError(
            f"There is no graph {path.stem!r}: {path} does not exist; choose one of"
            f" {', '.join(known)}."
        )
    try:
        return np.load(path)
    except (ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no NPZ file of plain arrays.") from error


def _data(arrays: Any, edges: Any, name: str, **roles: Any) -> NodeData:
    parts = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    x = sparse.csr_matrix(parts, shape=tuple(arrays["x_shape"]))
    both = np.concatenate([edges, edges[::-1]], axis=1)
    y = arrays["y"].astype(np.int64)
    made = from_arrays(x, both, y, name=name, **roles)
    # Without columns there are no features, and not one for each node.
    kept = made.x if x.shape[1] else SparseFeatures.from_scipy(x)
    return dataclasses.replace(made, x=kept, has_directions=False)


def _drawn_split(y: Any, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """20 nodes of each class to train, 30 of each to validate, the others to test."""
    label = torch.from_numpy(y.astype(np.int64))
    draw = {"num_val": 0, "num_test": 0, "seed": seed}
    both = random_per_class(label, per_class=sum(PER_CLASS), **draw).masks()[0]
    of_both = torch.where(both, label, -1)
    train = random_per_class(of_both, per_class=PER_CLASS[0], **draw).masks()[0]
    return train, both & ~train, ~both


def read_more(name: str, *, seed: int = 0, root: str | None = None) -> NodeData:
    """A file of `More`, with its split of number `seed`, or one that is drawn.

    Raises:
        ValueError: If there is no such file.
    """
    folder = data_root(root)
    arrays = _arrays(_path(name, folder), folder)
    if "role" in arrays:
        role = torch.from_numpy(arrays["role"][seed % len(arrays["role"])])
        masks = tuple(role == number for number in range(3))
    else:
        masks = _drawn_split(arrays["y"], seed)
    roles = dict(zip(("train", "val", "test"), masks, strict=True))
    return _data(arrays, arrays["edges"], shown_name(name), **roles)


def read_attacked(name: str, rate: float = 0.0, root: str | None = None) -> NoisyGraph:
    """The largest component of a graph under metattack, with Pro-GNN's split.

    Args:
        name: That of a file of `Attacked`, or a path.
        rate: One of `ATTACK_RATES`, or 0 for the clean graph.
        root: Folder of the data sets.

    Raises:
        ValueError: If there is no such file, or no such rate in it.
    """
    folder = data_root(root)
    name = name if is_attacked(name) else ATTACKED + name
    arrays = _arrays(_path(name, folder), folder)
    which = f"edges_metattack_{rate:g}" if rate else "edges_clean"
    if which not in arrays:
        raise ValueError(
            f"`rates` must be in {arrays.zip.filename}, got {rate:g}; it has"
            f" {', '.join(f'{known:g}' for known in ATTACK_RATES)}."
        )
    roles = {role: arrays[role].astype(np.int64) for role in ("train", "val", "test")}
    data = _data(arrays, arrays[which], shown_name(name), **roles)
    clean = np.sort(arrays["edges_clean"].astype(np.int64), axis=0)
    known = torch.from_numpy(clean[0] * data.num_nodes + clean[1])
    src, dst = data.graph.src, data.graph.dst
    key = torch.minimum(src, dst) * data.num_nodes + torch.maximum(src, dst)
    return NoisyGraph(data, ~torch.isin(key, known))


def has_kind(name: str, kind: str) -> bool:
    """Whether a graph has this kind of wrong edges: metattack is in files alone."""
    return kind == CLEAN or (METATTACK in kind.split("+")) == is_attacked(name)


def noisy_graph(
    name: str, kind: str, rate: float, *, seed: int = 0, root: str | None = None
) -> NoisyGraph:
    """A graph by its name, with wrong edges of a kind.

    Args:
        name: A named data set of one graph, a file of `More`, one of `Attacked` with
            "attacked-" before its name, or a path to such a file.
        kind: One of `ALL_KINDS`, or several joined by +, each at the full rate.
        rate: Number of edges to add, as a share of those there are.
        seed: Of the split and of the edges.
        root: Folder of the data sets.

    Raises:
        ValueError: If there is no such graph.
    """
    kinds = [part for part in kind.split("+") if part not in (CLEAN, METATTACK)]
    if is_attacked(name):
        data, wrong = read_attacked(name, 0.0 if kind == CLEAN else rate, root)
    elif name in names():
        data, *others = load(name, seed=seed, root=root)
        if others:
            raise ValueError(f"{name!r} has several graphs; choose a single one.")
        wrong = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    else:
        data = read_more(name, seed=seed, root=root)
        wrong = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    right = data.graph.keys[~wrong]
    if kinds:
        data = noise.add(data, "+".join(kinds), rate, seed)
    return NoisyGraph(data, ~torch.isin(data.graph.keys, right))
