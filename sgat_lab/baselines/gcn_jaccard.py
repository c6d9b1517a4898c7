"""GCN-Jaccard: a GCN without edges between unlike features (Wu et al., IJCAI 2019).

The paper cuts where the similarity is 0; the default threshold does so, too, for pairs
of sets with fewer than a hundred features between them. `sparsified` with
`how = "jaccard"` keeps a given share of the edges instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sgat.data.node_data import NodeData
from sgat_lab.baselines.gcn import GCN
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig
from sgat_lab.sparsifiers import similarity


def prepare(
    graphs: Sequence[NodeData], config: MethodConfig, seed: int
) -> list[NodeData]:
    """Remove edges whose ends have features of a similarity up to the threshold.

    Similarity is that of `sgat_lab.sparsifiers.jaccard`; the seed is not used.
    """
    threshold = METHOD.options(config)["threshold"]
    smaller = []
    for data in graphs:
        src, dst = data.graph.edge_index.numpy(force=True)
        found = torch.from_numpy(similarity(data.x, src, dst) > threshold)
        kept = found.to(data.graph.device)
        smaller.append(data.select_edges(kept))
    return smaller


METHOD = Method(GCN, prepare=prepare, defaults={"threshold": 0.01})
