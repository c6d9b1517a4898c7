"""Competing methods: one per file, the same contract as `sgat.models.SGAT`.

A method is trained by the trainer of SGAT and judged by the same records; its name goes
into `ModelConfig.method`.
"""

from __future__ import annotations

from sgat_lab.baselines import (
    bayesian_dropedge,
    dropedge,
    gat,
    gat_topk,
    gcn,
    gcn_jaccard,
    geom_gcn,
    graphsage,
    lagcn,
    mlp,
    neuralsparse,
    ptdnet,
    residual_gat,
    sparsified,
    supergat,
)
from sgat_lab.baselines.method import Method

METHODS: dict[str, Method] = {
    "mlp": mlp.METHOD,
    "gcn": gcn.METHOD,
    "gat": gat.METHOD,
    "graphsage": graphsage.METHOD,
    "dropedge": dropedge.METHOD,
    "bayesian_dropedge": bayesian_dropedge.METHOD,
    "gat_topk": gat_topk.METHOD,
    "residual_gat": residual_gat.METHOD,
    "supergat": supergat.METHOD,
    "sparsified": sparsified.METHOD,
    "neuralsparse": neuralsparse.METHOD,
    "ptdnet": ptdnet.METHOD,
    "lagcn": lagcn.METHOD,
    "geom_gcn": geom_gcn.METHOD,
    "gcn_jaccard": gcn_jaccard.METHOD,
}
"""Every method but SGAT itself, by name."""


def find_method(name: str) -> Method:
    """A method by its name.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in METHODS:
        raise ValueError(
            f"Unknown method {name!r}; choose sgat or one of {', '.join(METHODS)}."
        )
    return METHODS[name]
