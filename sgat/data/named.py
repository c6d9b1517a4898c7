"""Read the named benchmarks through PyG and prepare their graphs."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sgat.data.catalogue import Benchmark
from sgat.data.checksums import TWITCH_COUNTRIES
from sgat.data.fetch import Progress, pyg_class, quiet, stage
from sgat.data.node_data import NodeData
from sgat.data.prepare import compact, simple_graph
from sgat.data.splits import Split, by_graph
from sgat.features import Features, SparseFeatures

TWITCH_ROLES: Mapping[str, tuple[str, ...]] = {
    "train": ("DE", "ENGB", "ES", "FR"),
    "val": ("PTBR",),
    "test": ("RU", "ZHTW"),
}
"""Default roles of the countries: four large ones train, two unseen ones test."""


@dataclasses.dataclass(frozen=True)
class Loaded:
    """What the files of a benchmark hold, before a split is chosen.

    Attributes:
        graphs: The data; graphs with a fixed role have it, others have none yet.
        published: The splits that come with a single graph; empty without.
    """

    graphs: list[NodeData]
    published: list[Split]


def read(
    benchmark: Benchmark,
    root: Path,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> Loaded:
    """Read the checked files of a benchmark and prepare its graphs.

    PyG's `processed` files are made in a temporary folder and removed again; none is
    ever taken from `root`.

    Raises:
        ValueError: If a file is missing, altered or malformed.
    """
    if benchmark.source is None:
        from sgat.data.karate import load_karate

        data = load_karate()
        return Loaded([data], [Split.from_masks(data.train, data.val, data.test)])
    with tempfile.TemporaryDirectory(prefix="sgat-") as folder:
        scratch = Path(folder)
        raw = stage(
            benchmark.source, root, scratch, download=download, progress=progress
        )
        reader = _READERS.get(benchmark.name, _read_one)
        try:
            with warnings.catch_warnings(), quiet():
                # Files of 2016 make today's NumPy and SciPy talk of renamed modules.
                warnings.simplefilter("ignore")
                return reader(benchmark, scratch, raw)
        except OSError:
            raise
        except Exception as error:  # PyG's parsers raise whatever a bad line provokes
            where = root / benchmark.source.folder / "raw"
            raise ValueError(
                f"The files of {benchmark.name!r} in {where} could not be read:"
                f" {type(error).__name__}: {error}."
            ) from error


def _read_one(benchmark: Benchmark, scratch: Path, raw: Path) -> Loaded:
    """A single graph through its PyG class, with the splits it brings along."""
    stored = _pyg(benchmark, scratch)[0]
    published = []
    if "train_mask" in stored:
        columns = [
            mask.unsqueeze(1) if mask.dim() == 1 else mask
            for mask in (stored.train_mask, stored.val_mask, stored.test_mask)
        ]
        published = [
            Split.from_masks(*(mask[:, number] for mask in columns))
            for number in range(columns[0].shape[1])
        ]
    return Loaded(_prepared(benchmark, [benchmark.name], [stored]), published)


def _read_ppi(benchmark: Benchmark, scratch: Path, raw: Path) -> Loaded:
    stored, roles = [], {}
    for role in ("train", "val", "test"):
        part = list(_pyg(benchmark, scratch, split=role))
        roles[role] = [f"{role}-{number}" for number in range(len(part))]
        stored += part
    names = [f"ppi-{name}" for members in roles.values() for name in members]
    return Loaded(by_graph(_prepared(benchmark, names, stored), roles), [])


def _read_twitch(benchmark: Benchmark, scratch: Path, raw: Path) -> Loaded:
    """Plain arrays; PyG's own Twitch class is for other files with other features."""
    from scipy.sparse import csr_array

    graphs = []
    for country in TWITCH_COUNTRIES:
        with np.load(raw / f"twitch_{country}.npz", allow_pickle=False) as file:
            x = csr_array(
                (file["x_data"], file["x_indices"], file["x_indptr"]),
                shape=tuple(file["x_shape"]),
            )
            edge_index = torch.from_numpy(file["edge_index"].astype(np.int64))
            y = torch.from_numpy(file["y"].astype(np.int64))
        graphs.append(
            _node_data(
                benchmark,
                f"twitch-{country}",
                edge_index,
                SparseFeatures.from_scipy(x),
                y,
                ("not mature", "mature"),
            )
        )
    return Loaded(by_graph(graphs, TWITCH_ROLES), [])


def _pyg(benchmark: Benchmark, scratch: Path, **more: str) -> Any:
    source = benchmark.source
    assert source is not None and source.reader is not None
    return pyg_class(source.reader)(str(scratch), **source.arguments, **more)


def _prepared(
    benchmark: Benchmark, names: list[str], stored: list[Any]
) -> list[NodeData]:
    y = stored[0].y
    multilabel = y.dim() == 2
    count = y.shape[1] if multilabel else max(int(data.y.max()) for data in stored) + 1
    features = compact([data.x for data in stored])
    return [
        _node_data(benchmark, name, data.edge_index, x, data.y, tuple(range(count)))
        for name, data, x in zip(names, stored, features, strict=True)
    ]


def _node_data(
    benchmark: Benchmark,
    name: str,
    edge_index: torch.Tensor,
    x: Features,
    y: torch.Tensor,
    classes: tuple[Any, ...],
) -> NodeData:
    nobody = torch.zeros(len(y), dtype=torch.bool)
    return NodeData(
        graph=simple_graph(edge_index, len(y), undirected=benchmark.undirected),
        x=x,
        y=y,
        train=nobody,
        val=nobody,
        test=nobody,
        classes=classes,
        name=name,
    )


_READERS: dict[str, Callable[[Benchmark, Path, Path], Loaded]] = {
    "ppi": _read_ppi,
    "twitch": _read_twitch,
}
