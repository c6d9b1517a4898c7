"""The named data sets from their raw files, prepared as graphs."""

import json
import pickle
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from sgat.data.catalogue import TWITCH_COUNTRIES, Benchmark
from sgat.data.fetch import Progress, open_files
from sgat.data.node_data import ROLES, NodeData
from sgat.data.prepare import compact, simple_graph
from sgat.data.splits import Split, by_graph
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph

TWITCHROLES: Mapping[str, tuple[str, ...]] = {
    "train": ("DE", "ENGB", "ES", "FR"),
    "val": ("PTBR",),
    "test": ("RU", "ZHTW"),
}
"""Default roles of the countries: four large ones train, two unseen ones test."""

Array = np.ndarray[Any, Any]
Files = Mapping[str, IO[bytes]]
"""The opened files of a data set by name."""
Named = tuple[list[NodeData], list[Split]]
"""Graphs, without roles unless theirs are fixed, and the published splits of one."""


def read(
    benchmark: Benchmark, root: Path, *, download: bool, progress: Progress | None
) -> Named:
    """Read the checked files of a data set and prepare its graphs."""
    if benchmark.raw is None:
        data = load_karate()
        return [data], [Split.from_masks(data.train, data.val, data.test)]
    opened = open_files(benchmark.raw, root, download=download, progress=progress)
    with opened as files:
        try:
            with warnings.catch_warnings():
                # Files of 2016 make today's NumPy and SciPy warn of renamed modules.
                warnings.simplefilter("ignore")
                return _READERS[benchmark.reader](benchmark, files)
        except OSError:
            raise
        except Exception as error:  # whatever a bad line or archive provokes
            where = root / benchmark.raw.folder / "raw"
            raise ValueError(
                f"The files of {benchmark.name!r} in {where} could not be read:"
                f" {type(error).__name__}: {error}."
            ) from error


def load_karate() -> NodeData:
    """34 members, 78 friendships, no features: nodes 0 and 33 train, the other 32 test.

    Shipped with networkx, so that no file is needed. Friendships count 1 each;
    networkx's interaction counts are left out, as in the paper.
    """
    import networkx as nx

    club = nx.karate_club_graph()
    pairs = torch.tensor(list(club.edges())).T
    classes = ("Mr. Hi", "Officer")
    y = torch.tensor([classes.index(club.nodes[node]["club"]) for node in club])
    train = torch.zeros(len(y), dtype=torch.bool)
    train[[0, 33]] = True
    graph = Graph.from_edges(pairs, len(y), make_undirected=True)
    x, roles = SparseFeatures.identity(len(y)), (train, torch.zeros_like(train), ~train)
    return NodeData(graph, x, y, *roles, classes, name="karate")


def _read_planetoid(benchmark: Benchmark, files: Files) -> Named:
    """Papers, those to test in an order of their own, some of them without features."""
    prefix = f"ind.{benchmark.name}"
    parts = ("y", "allx", "ally", "tx", "ty", "graph")
    # Pickles of Python 2, opened only because their sums are those of the table.
    y, known_x, known_y, test_x, test_y, links = (
        pickle.load(files[f"{prefix}.{part}"], encoding="latin1") for part in parts
    )
    test = np.loadtxt(files[f"{prefix}.test.index"], dtype=np.int64)
    size, known = int(test.max()) + 1, len(known_y)
    x = np.zeros((size, known_x.shape[1]), dtype=np.float32)
    x[:known], x[test] = known_x.toarray(), test_x.toarray()
    label = np.zeros(size, dtype=np.int64)
    label[:known], label[test] = known_y.argmax(axis=1), test_y.argmax(axis=1)
    edges = np.array([(i, j) for i, others in links.items() for j in others]).T
    node = np.arange(size)
    masks = (node < len(y), (node >= len(y)) & (node < len(y) + 500))
    published = [_split(*masks, np.isin(node, test))]
    return _node_data(benchmark, [(edges, x, label)]), published


def _read_amazon(benchmark: Benchmark, files: Files) -> Named:
    """Goods, linked and described by two sparse matrices."""
    (file,) = files.values()
    with np.load(file) as arrays:
        links, words = _csr(arrays, "adj").tocoo(), _csr(arrays, "attr")
        x = (words.toarray() > 0).astype(np.float32)
        edges, label = np.stack([links.row, links.col]), arrays["labels"]
    return _node_data(benchmark, [(edges, x, label)]), []


def _read_webkb(benchmark: Benchmark, files: Files) -> Named:
    """Tables of nodes and edges with a line each, and ten files of masks."""
    content = files["out1_node_feature_label.txt"].read().decode()
    rows = [line.split("\t") for line in content.splitlines()[1:]]
    node = [int(row[0]) for row in rows]
    lists = [np.array(row[1].split(","), dtype=np.int64) for row in rows]
    label = np.zeros(len(rows), dtype=np.int64)
    label[node] = [int(row[2]) for row in rows]
    if benchmark.reader == "actor":
        # The words of a page are listed by number, not marked in a row of all words.
        width = max(int(words.max()) for words in lists) + 1
        x = np.zeros((len(rows), width), dtype=np.float32)
        x[np.repeat(node, [len(words) for words in lists]), np.concatenate(lists)] = 1
    else:
        x = np.zeros((len(rows), len(lists[0])), dtype=np.float32)
        x[node] = lists
    edges = np.loadtxt(files["out1_graph_edges.txt"], dtype=np.int64, skiprows=1).T
    published = []
    for name in sorted(name for name in files if "_split_" in name):
        with np.load(files[name]) as masks:
            published.append(_split(*(masks[f"{r}_mask"] for r in ROLES)))
    return _node_data(benchmark, [(edges, x, label)]), published


def _read_ppi(benchmark: Benchmark, files: Files) -> Named:
    """Graphs of each role side by side; each node has the number of its graph."""
    parts, roles = [], {}
    for role, spelling in zip(ROLES, ("train", "valid", "test"), strict=True):
        links = json.load(files[f"{spelling}_graph.json"])["links"]
        edges = np.array([(link["source"], link["target"]) for link in links]).T
        x, y, number = (
            np.load(files[f"{spelling}_{part}.npy"])
            for part in ("feats", "labels", "graph_id")
        )
        numbers = range(int(number.min()), int(number.max()) + 1)
        roles[role] = [f"{role}-{place}" for place in range(len(numbers))]
        for graph in numbers:
            inside = number == graph
            place = np.cumsum(inside) - 1
            own = place[edges[:, inside[edges].all(axis=0)]]
            parts.append((own, x[inside].astype(np.float32), y[inside]))
    names = [f"ppi-{name}" for members in roles.values() for name in members]
    return by_graph(_node_data(benchmark, parts, names), roles), []


def _read_reddit(benchmark: Benchmark, files: Files) -> Named:
    """Posts with both directions of each link, their roles numbered 1 to 3."""
    import scipy.sparse

    with np.load(files["reddit_data.npz"]) as arrays:
        x, y, kind = (arrays[name] for name in ("feature", "label", "node_types"))
    links = scipy.sparse.load_npz(files["reddit_graph.npz"]).tocoo()
    edges = np.stack([links.row, links.col])
    data = _node_data(benchmark, [(edges, x.astype(np.float32), y)])
    return data, [_split(kind == 1, kind == 2, kind == 3)]


def _read_twitch(benchmark: Benchmark, files: Files) -> Named:
    """Streamers of each country in a file of plain arrays."""
    graphs = []
    for country in TWITCH_COUNTRIES:
        with np.load(files[f"twitch_{country}.npz"]) as arrays:
            x = SparseFeatures.from_scipy(_csr(arrays, "x"))
            edges, y = arrays["edge_index"], arrays["y"]
        names, classes = [f"twitch-{country}"], ("not mature", "mature")
        graphs += _node_data(benchmark, [(edges, x, y)], names, classes)
    return by_graph(graphs, TWITCHROLES), []


_READERS: dict[str, Callable[[Benchmark, Files], Named]] = {
    "planetoid": _read_planetoid,
    "amazon": _read_amazon,
    "webkb": _read_webkb,
    "actor": _read_webkb,
    "ppi": _read_ppi,
    "reddit": _read_reddit,
    "twitch": _read_twitch,
}


def _csr(arrays: Any, name: str) -> Any:
    """A sparse matrix stored as four arrays."""
    from scipy.sparse import csr_array

    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return csr_array((data, indices, indptr), shape=tuple(shape))


def _split(*masks: Array) -> Split:
    train, val, test = (torch.from_numpy(mask.astype(bool)) for mask in masks)
    return Split.from_masks(train, val, test)


def _node_data(
    benchmark: Benchmark,
    parts: list[tuple[Array, Array | SparseFeatures, Array]],
    names: list[str] | None = None,
    classes: tuple[Any, ...] | None = None,
) -> list[NodeData]:
    """Graphs of edges [2, M], features [N, K], labels [N] or [N, C]; no roles yet."""
    features: list[Features] = [x for _, x, _ in parts if isinstance(x, SparseFeatures)]
    if not features:
        features = compact([torch.from_numpy(x) for _, x, _ in parts])
    is_multilabel = parts[0][2].ndim == 2
    if classes is None and is_multilabel:
        classes = tuple(range(parts[0][2].shape[1]))
    elif classes is None:
        classes = tuple(range(max(int(y.max()) for *_, y in parts) + 1))
    graphs, names = [], names or [benchmark.name]
    for name, (edges, _, y), x in zip(names, parts, features, strict=True):
        nobody = torch.zeros(len(y), dtype=torch.bool)
        edge_index = torch.from_numpy(edges.astype(np.int64))
        label = torch.from_numpy(y).to(torch.float32 if is_multilabel else torch.int64)
        graph = simple_graph(edge_index, len(y), undirected=benchmark.undirected)
        roles = (nobody, nobody, nobody)
        graphs.append(NodeData(graph, x, label, *roles, classes, name=name))
    return graphs
