"""A GCN on a graph that was made smaller beforehand, without learning."""

from __future__ import annotations

from collections.abc import Sequence

from sgat.data.node_data import NodeData
from sgat.ops import noise
from sgat_lab.baselines.gcn import GCN
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig
from sgat_lab.sparsifiers import find_sparsifier


def prepare(
    graphs: Sequence[NodeData], config: MethodConfig, seed: int
) -> list[NodeData]:
    """Keep the share of edges the option `keep` says, as `how` chooses them.

    Labels are not looked at.
    """
    options = METHOD.options(config)
    sparsify = find_sparsifier(options["how"])
    smaller = []
    for number, data in enumerate(graphs):
        key = noise.derive(seed, number)
        kept = sparsify(data.graph, data.x, options["keep"], key)
        smaller.append(data.select_edges(kept))
    return smaller


METHOD = Method(GCN, prepare=prepare, defaults={"how": "random", "keep": 0.5})
