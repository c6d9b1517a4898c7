"""Competing methods: one per file, the same contract as `sgat.models.SGAT`.

A method is trained by the trainer of SGAT and judged by the same records; its name goes
into `MethodConfig.method`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.training import loop
from sgat.training.result import Result

try:
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
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "torch_geometric":
        raise
    raise ModuleNotFoundError(
        "The methods of the lab need PyTorch Geometric (`torch_geometric`); install"
        " it with `pip install 'sgat[lab]'`.",
        name=error.name,
    ) from None
from sgat_lab.baselines.method import Method
from sgat_lab.binary_gates.training import BinaryTraining
from sgat_lab.config import MethodConfig

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


def prepare(
    graphs: Sequence[NodeData], model: MethodConfig, seed: int
) -> list[NodeData]:
    """The data as the method changes it before training; most leave it as it is."""
    change = None if model.method == "sgat" else find_method(model.method).prepare
    return list(graphs) if change is None else change(graphs, model, seed)


def fit(graphs: Sequence[NodeData], model: MethodConfig, train: TrainConfig) -> Result:
    """Train SGAT or another method on prepared data, with the same trainer."""
    if model.method == "sgat" and model.gate_gradient != "hard_concrete":
        return BinaryTraining(graphs, model, train).run()
    if model.method == "sgat":
        return loop.fit(graphs, model, train)
    method = find_method(model.method)
    if method.fit is not None:
        return method.fit(graphs, model, train)
    return loop.fit(graphs, model, train, build=partial(method.build, model))
