"""Made graphs in place of benchmarks whose files are not at hand; never the benchmark.

Their names end in "-shaped", and tables say plainly that a column is one of them.
"""

from __future__ import annotations

from collections.abc import Callable

from sgat.data.node_data import NodeData
from sgat_lab.synthetic.ppi_shaped import ppi_shaped
from sgat_lab.synthetic.reddit_shaped import reddit_shaped


def _ppi(seed: int) -> list[NodeData]:
    return [part.data for part in ppi_shaped(scale=0.25, seed=seed)]


def _reddit(seed: int) -> list[NodeData]:
    return [reddit_shaped(scale=0.01, seed=seed).data]


STAND_INS: dict[str, Callable[[int], list[NodeData]]] = {
    "ppi-shaped": _ppi,
    "reddit-shaped": _reddit,
}
"""PPI's 24 graphs at a quarter of their size; Reddit at a hundredth."""
